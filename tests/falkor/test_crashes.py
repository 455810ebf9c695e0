"""Killed before and after the commands of a collection on FalkorDB: all of it is done or nothing, and it is whole."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from tests.support import falkor
from tests.support.commands import run
from tests.support.counts import ARGUMENTS
from tests.support.falkor import Server

pytestmark = pytest.mark.skipif(not falkor.can_run(), reason="falkordblite needs Python 3.12")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("server"))
    yield server
    server.stop()


def operations() -> list[str]:
    if not falkor.can_run():
        return []
    from tests.falkor.killed_at_each_command import ALL_OPERATIONS

    return list(ALL_OPERATIONS)


@pytest.mark.soak
@pytest.mark.parametrize("operation", operations())
def test_a_client_of_falkor_killed_at_any_command_has_done_all_of_it_or_nothing(operation: str, server: Server) -> None:
    ran = run(
        [sys.executable, "-m", "tests.falkor.killed_at_each_command", str(server.port), operation, *ARGUMENTS],
        home=None,
    )
    assert ran.status == 0, ran.err
    assert ran.json["problems"] == []
    assert ran.json["before"] > 0
    assert ran.json["done"] > 0, "the last point is after the commit"
