"""Apps and repositories of a test."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memsweep.app import App, make_app
from memsweep.settings import load_settings
from tests.code.trees import git
from tests.support.engines import Home


def repository(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q")
    git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    return folder


@pytest.fixture
def at(home: Path, engine_kind: str) -> Iterator[Callable[..., App]]:
    """Apps on one home, each in a folder, with settings as environment variables."""
    made: list[App] = []
    place = Home(engine_kind, home)

    def make_one(folder: Path, **variables: str) -> App:
        made.append(make_app(load_settings({**place.variables, **variables}), project=str(folder)))
        return made[-1]

    yield make_one
    for app in made:
        app.close()
    place.close()
