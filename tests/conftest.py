"""Fixtures: a home of its own for every test, memories in it, children and servers on it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from memsweep.app import App, Memory, make_app
from memsweep.settings import load_settings
from tests.support.engines import Home
from tests.support.nursery import Nursery

settings.register_profile(
    "memsweep",
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    derandomize="CI" in os.environ,  # a gate judges the change, everywhere else new examples are looked for
)
settings.load_profile("memsweep")


@pytest.fixture(autouse=True)
def _no_settings_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.startswith(("MEMSWEEP_", "OPENAI_")):
            monkeypatch.delenv(name)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home that does not exist yet."""
    return tmp_path / "home"


@pytest.fixture
def engine_kind() -> str:
    """Which engine the apps have; `on_every_engine` runs a test on each."""
    return "sqlite"


@pytest.fixture
def make(home: Path, engine_kind: str) -> Iterator[Callable[..., App]]:
    """Apps on the home, with settings as environment variables: `make(MEMSWEEP_WORKSPACE="x")`."""
    made: list[App] = []
    place = Home(engine_kind, home)

    def make_one(**variables: str) -> App:
        made.append(make_app(load_settings({**place.variables, **variables})))
        return made[-1]

    yield make_one
    for app in made:
        app.close()
    place.close()


@pytest.fixture
def app(make: Callable[..., App]) -> App:
    return make()


@pytest.fixture
def memory(app: App) -> Memory:
    """The default workspace; the first write creates it."""
    return app.memory()


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    """A process that forks children to order."""
    nursery = Nursery()
    yield nursery
    nursery.close()
