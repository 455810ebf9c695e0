"""A context window in a real store; tokens are estimated where their exact number does not matter."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from memsweep.app import App, Memory
from memsweep.context.service import ContextWindow

ESTIMATED = {"MEMSWEEP_CONTEXT_ENCODING": "length/4", "MEMSWEEP_CONTEXT_LAST_N": "0"}


@pytest.fixture
def app(make: Callable[..., App]) -> App:
    return make(**ESTIMATED)


@pytest.fixture
def memory(app: App) -> Memory:
    return app.memory()


@pytest.fixture
def window(memory: Memory) -> ContextWindow:
    return memory.window("session")
