"""A context window in a real store; tokens are estimated where their exact number does not matter."""

import inspect
from collections.abc import Callable

import pytest

from memsweep.app import App, Memory
from memsweep.context.service import ContextWindow

ESTIMATED = {"MEMSWEEP_CONTEXT_ENCODING": "length/4", "MEMSWEEP_CONTEXT_LAST_N": "0"}


@pytest.fixture(autouse=True)
def _only_where_there_is_a_file(request: pytest.FixtureRequest, engine_kind: str) -> None:
    if engine_kind != "sqlite" and "home" in inspect.signature(request.function).parameters:
        pytest.skip("looks into the file of SQLite")


@pytest.fixture
def app(make: Callable[..., App]) -> App:
    return make(**ESTIMATED)


@pytest.fixture
def memory(app: App) -> Memory:
    return app.memory()


@pytest.fixture
def window(memory: Memory) -> ContextWindow:
    return memory.context("session")
