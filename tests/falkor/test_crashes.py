"""Killed before and after the commands of a collection on FalkorDB: all of it is done or nothing, and it is whole."""

import pytest

from tests.falkor.killed_at_each_command import ALL_OPERATIONS
from tests.support.counts import THOROUGH
from tests.support.falkor import Server
from tests.support.fork_server import ForkServer
from tests.support.killing import check


@pytest.mark.soak
@pytest.mark.parametrize("operation", ALL_OPERATIONS)
def test_a_client_of_falkor_killed_at_any_command_has_done_all_of_it_or_nothing(
    operation: str, server: Server, fork_server: ForkServer
) -> None:
    check(fork_server.program("tests.falkor.killed_at_each_command", server.port, operation, THOROUGH))
