"""Killed before and after the statements of a collection: the store is as before or as after, and whole."""

from __future__ import annotations

import sys

import pytest

from tests.gc.killed_at_each_step import OPERATIONS
from tests.support.commands import run
from tests.support.counts import ARGUMENTS


@pytest.mark.soak
@pytest.mark.parametrize("operation", OPERATIONS)
def test_killed_at_any_statement_it_is_done_or_not_begun(operation: str) -> None:
    ran = run([sys.executable, "-m", "tests.gc.killed_at_each_step", operation, *ARGUMENTS], home=None)
    assert ran.status == 0, ran.err
    assert ran.json["problems"] == []
    assert ran.json["points"] >= 15
    assert ran.json["before"] > 0
    assert ran.json["done"] > 0, "the last point is after the commit"
