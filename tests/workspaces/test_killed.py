"""Killed while a workspace is made, deleted, restored or purged: it is done or not begun, and nothing is left."""

import pytest

from tests.support.counts import THOROUGH
from tests.support.fork_server import ForkServer
from tests.support.killing import check
from tests.workspaces.killed_at_each_step import OPERATIONS


@pytest.mark.soak
@pytest.mark.parametrize("operation", OPERATIONS)
def test_killed_at_any_step_the_next_command_leaves_a_clean_home(operation: str, fork_server: ForkServer) -> None:
    check(fork_server.program("tests.workspaces.killed_at_each_step", operation, THOROUGH), least=5)
