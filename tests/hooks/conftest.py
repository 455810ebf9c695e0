"""Hooks that run in the process of the tests."""

import re

import pytest

from memsweep.hooks import door


@pytest.fixture(autouse=True)
def _time_for_every_event(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine, the watchdog of a hook would end the process of the tests."""
    for event in door.SECONDS:
        monkeypatch.setitem(door.SECONDS, event, 600.0)


def unframed(told: str) -> str:
    """What a hook tells without what makes its frame another one each time."""
    return re.sub(r"(</?memsweep-memory)-\w+", r"\1", told)
