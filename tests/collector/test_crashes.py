"""Killed before and after the statements of a collection: the store is as before or as after, and whole."""

import pytest

from tests.collector.killed_at_each_step import OPERATIONS
from tests.support.counts import THOROUGH
from tests.support.fork_server import ForkServer


@pytest.mark.soak
@pytest.mark.parametrize("operation", OPERATIONS)
def test_killed_at_any_statement_it_is_done_or_not_begun(operation: str, fork_server: ForkServer) -> None:
    told = fork_server.program("tests.collector.killed_at_each_step", operation, THOROUGH)
    assert told["problems"] == []
    assert told["points"] >= 9
    assert told["before"] > 0
    assert told["done"] > 0, "the last point is after the commit"
