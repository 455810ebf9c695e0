"""Purging one workspace frees nothing of others, unless that is asked for by name."""

from collections.abc import Callable
from pathlib import Path

import pytest

from memsweep.app import App
from memsweep.errors import NotFound
from tests.support.client import connected, say_yes
from tests.support.commands import Ran
from tests.support.engines import on_every_engine


@pytest.fixture
def receipts(make: Callable[..., App]) -> list[str]:
    """Two deleted workspaces beside the one that is used."""
    app = make()
    app.memory().remember("used")
    for name in ("first", "second"):
        app.memory(name).remember(f"a memory of {name}")
    return [str(app.delete_workspace(name, confirm=True).receipt_id) for name in ("first", "second")]


@on_every_engine
def test_deleted_workspaces_are_counted_and_freed_only_when_asked(
    make: Callable[..., App], receipts: list[str], engine_kind: str
) -> None:
    app = make()
    app.memory().sweep.purge(0, confirm=True)
    assert app.deleted_workspaces(0) == 2
    assert app.deleted_workspaces(1) == 0
    app.undo(receipts[0])
    assert app.memory("first").stats().total_memories == 1
    assert app.purge_workspaces(1) == 0
    assert app.purge_workspaces(0) == 1
    assert app.deleted_workspaces(0) == 0
    with pytest.raises(NotFound, match="may have been undone or purged"):
        app.undo(receipts[1])


def test_the_command_says_what_it_kept(receipts: list[str], home: Path, run: Callable[..., Ran]) -> None:
    kept = run("purge", "--older-than-days", "0", "--yes")
    assert "2 deleted workspaces of that age were kept; pass --deleted-workspaces to purge them too." in kept.out
    asked = run("purge", "--older-than-days", "0", "--deleted-workspaces", "--yes", "--json").json
    assert (asked["purged_workspaces"], asked["kept_workspaces"]) == (2, 0)
    assert asked["message"].endswith("2 workspaces.")
    assert len(list((home / "workspaces").glob("*.db"))) == 1


@pytest.mark.slow
def test_the_tool_says_what_it_kept(receipts: list[str], home: Path) -> None:
    with connected(home, "auto", "--profile", "full", asked=say_yes) as server:
        kept = server.call("purge_trash", older_than_days=0, confirm=True)
        assert (kept["purged_workspaces"], kept["kept_workspaces"]) == (0, 2)
        asked = server.call("purge_trash", older_than_days=0, confirm=True, deleted_workspaces=True)
        assert (asked["purged_workspaces"], asked["kept_workspaces"]) == (2, 0)
