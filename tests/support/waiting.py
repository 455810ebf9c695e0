"""Wait on a condition, never for a time."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
PATIENCE = 180.0  # how long a condition may take on a busy machine before the test gives up


def wait_for(condition: Callable[[], T], what: str = "what has to come", patience: float = PATIENCE) -> T:
    deadline = time.monotonic() + patience
    while not (found := condition()):
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.005)
    return found
