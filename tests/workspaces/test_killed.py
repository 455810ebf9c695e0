"""Killed while a workspace is made, deleted, restored or purged: it is done or not begun, and nothing is left."""

from __future__ import annotations

import sys

import pytest

from tests.support.commands import run
from tests.support.counts import ARGUMENTS
from tests.workspaces.killed_at_each_step import OPERATIONS


@pytest.mark.soak
@pytest.mark.parametrize("operation", OPERATIONS)
def test_killed_at_any_step_the_next_command_leaves_a_clean_home(operation: str) -> None:
    ran = run([sys.executable, "-m", "tests.workspaces.killed_at_each_step", operation, *ARGUMENTS], home=None)
    assert ran.status == 0, ran.err
    assert ran.json["problems"] == []
    assert ran.json["points"] >= 5
    assert ran.json["before"] > 0
    assert ran.json["done"] > 0, "the last point is after the end"
