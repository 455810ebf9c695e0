"""Killed while a workspace is made, deleted, restored or freed on FalkorDB: done or not begun, and no key is left."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memsweep.errors import NotFound
from memsweep.model.memory import Workspace
from memsweep.store.falkor.transaction import GraphHandle
from tests.support.counts import THOROUGH
from tests.support.engines import Home
from tests.support.falkor import Server
from tests.support.fork_server import ForkServer
from tests.support.killing import check


@pytest.mark.soak
@pytest.mark.parametrize("operation", ["create", "delete", "undelete", "purge", "replacing restore"])
def test_a_client_of_falkor_killed_at_any_command_leaves_known_keys_only(
    operation: str, server: Server, fork_server: ForkServer
) -> None:
    check(fork_server.program("tests.falkor.killed_homes", server.port, operation, THOROUGH))


def test_a_purge_that_was_cut_short_is_finished_and_cannot_be_undone(tmp_path: Path) -> None:
    home = Home("falkor", tmp_path)
    engine: Any = home.engine()
    now = datetime.now(UTC)
    engine.create("one", "", now)
    engine.delete("one", now, "receipt", actor="test")
    ((name, graph, _),) = engine.deleted()
    engine._note(Workspace(name, "", now), GraphHandle(engine.link, graph), now, receipt="receipt", freeing=True)
    engine.drop_graph(graph)  # and no further
    with pytest.raises(NotFound):
        engine.undelete("receipt", now, actor="test")
    assert engine.purge_deleted(now + timedelta(1)) == 0
    assert engine.deleted() == []
    assert list(engine.link.keys("*")) == []
    home.close()


def test_a_create_that_was_cut_short_is_cleared_away_by_the_next_listing(tmp_path: Path) -> None:
    home = Home("falkor", tmp_path)
    engine: Any = home.engine()
    now = datetime.now(UTC)
    graph = engine.new_graph(Workspace("half", "", now), now)  # and no further
    assert engine.workspaces() == []
    assert engine.has_graph(graph.name), "its maker may be at work on it"
    engine.link.write("UNLINK", f"{graph.name}:making")  # as when its time has run out
    assert engine.workspaces() == []
    assert list(engine.link.keys("*")) == []
    home.close()
