"""Killed before and after the statements of a collection: the store is as before or as after, and whole."""

import pytest

from tests.collector.killed_at_each_step import OPERATIONS
from tests.support.counts import THOROUGH
from tests.support.fork_server import ForkServer
from tests.support.killing import check


@pytest.mark.soak
@pytest.mark.parametrize("operation", OPERATIONS)
def test_killed_at_any_statement_it_is_done_or_not_begun(operation: str, fork_server: ForkServer) -> None:
    check(fork_server.program("tests.collector.killed_at_each_step", operation, THOROUGH), least=9)
