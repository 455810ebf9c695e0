"""Deleted workspaces are listed with their receipts at every door."""

import re
import shlex
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memsweep.app import App
from memsweep.errors import UnknownWorkspace
from memsweep.model.times import iso
from tests.store.test_older_files import Opened, old  # noqa: F401
from tests.support.client import connected, say_yes
from tests.support.commands import Ran
from tests.support.engines import on_every_engine

Run = Callable[..., Ran]
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def delete(app: App, name: str, description: str = "", at: datetime = NOON) -> str:
    app.create_workspace(name, description)
    app.memory(name).remember(f"a memory of {name}")
    app.clock = lambda: at
    return str(app.delete_workspace(name, confirm=True).receipt_id)


@on_every_engine
def test_deleted_workspaces_are_listed_the_last_one_first(make: Callable[..., App], engine_kind: str) -> None:
    app = make()
    assert app.workspaces(deleted=True) == []
    first = delete(app, "first", "of tea 🍵")
    second = delete(app, "second", at=NOON + timedelta(hours=1))
    app.create_workspace("kept")
    found = app.workspaces(deleted=True)
    assert [(each.id, each.receipt_id) for each in found] == [("second", second), ("first", first)]
    assert (found[1].description, found[1].deleted_at) == ("of tea 🍵", NOON)
    assert [each.id for each in app.workspaces()] == ["kept"]
    app.undo(first)
    assert [each.id for each in app.workspaces(deleted=True)] == ["second"]
    app.purge_workspaces(0)
    assert app.workspaces(deleted=True) == []


@on_every_engine
def test_what_a_restore_replaced_is_listed_and_unfinished_work_is_not(
    make: Callable[..., App], engine_kind: str, tmp_path: Path
) -> None:
    app = make()
    app.memory("one").remember("as it was")
    backup = app.memory("one").care.backup(tmp_path / "one.backup")
    restored = app.restore(backup.path, "one", replace=True)
    (replaced,) = app.trash("one").deleted
    assert (replaced.id, replaced.receipt_id) == ("one", restored.receipt_id)
    assert "one" in app.trash("one").in_use


@on_every_engine
def test_a_deleted_workspace_is_not_just_unknown(make: Callable[..., App], engine_kind: str) -> None:
    app = make()
    receipt = delete(app, "gone")
    with pytest.raises(UnknownWorkspace, match=f"It was deleted; undo_prune with {receipt} brings it back"):
        app.memory("gone").stats()
    assert [each.id for each in app.trash("gone").deleted] == ["gone"]
    assert [each.id for each in app.trash().deleted] == ["gone"], "the configured one is not made yet"
    with pytest.raises(UnknownWorkspace):
        app.trash("mistyped")


def test_one_deleted_by_an_older_version_is_listed(old: Opened) -> None:  # noqa: F811
    app, written = old
    (thrown,) = app.workspaces(deleted=True)
    assert (thrown.id, thrown.receipt_id) == ("thrown", written["thrown"]["receipt"])
    assert thrown.deleted_at is not None


@pytest.mark.parametrize(
    "command", [("trash",), ("trash", "-w", "other"), ("workspace", "list", "--deleted")], ids=" ".join
)
def test_the_command_line_shows_a_way_back_that_can_be_pasted(app: App, run: Run, command: tuple[str, ...]) -> None:
    app.memory("other").remember("used")
    receipt = delete(app, "thrown", "of [bold]tea[/bold]")
    shown = run(*command)
    assert shown.status == 0, shown.err
    for said in ("thrown", "of [bold]tea[/bold]", receipt, "2026-03-01T12:00", "kept until 2026-03-31"):
        assert said in shown.out
    (hint,) = re.findall(r"To bring it back: (memsweep .+)", shown.out)
    assert run(*shlex.split(hint)[1:]).status == 0
    assert app.memory("thrown").stats().total_memories == 1
    assert "thrown" not in run(*command).out


def test_the_command_line_says_when_the_name_is_in_use(app: App, run: Run) -> None:
    receipt = delete(app, "thrown")
    app.create_workspace("thrown")
    shown = run("workspace", "list", "--deleted")
    assert (
        f"Another workspace has its name; once that is deleted, `memsweep undo {receipt}` brings it back." in shown.out
    )
    (as_json,) = run("workspace", "list", "--deleted", "--json").json["workspaces"]
    assert as_json["message"].endswith(f"`memsweep undo {receipt}` brings it back.")


def test_without_deleted_workspaces_the_command_says_so(app: App, run: Run) -> None:
    app.memory().remember("used")
    assert run("workspace", "list", "--deleted").out == "No workspace is in the trash.\n"
    assert run("trash").out == "The trash is empty.\n"


@pytest.mark.slow
def test_the_tools_show_the_receipt_and_how_to_use_it(app: App, home: Path) -> None:
    receipt = delete(app, "thrown", "of tea")
    expected = {
        "workspace_id": "thrown",
        "description": "of tea",
        "deleted_at": iso(NOON),
        "kept_until": iso(NOON + timedelta(days=30)),
        "receipt_id": receipt,
        "message": f"undo_prune with {receipt} brings it back.",
    }
    with connected(home, "auto", "--profile", "full", asked=say_yes) as server:
        for listed in (
            server.call("list_workspaces", deleted=True)["workspaces"],
            server.call("list_trash", workspace_id="thrown")["deleted_workspaces"],
        ):
            (found,) = listed
            assert expected.items() <= found.items()
        server.call("undo_prune", receipt_id=receipt)
        assert server.call("list_workspaces", deleted=True)["workspaces"] == []
        assert [each["workspace_id"] for each in server.call("list_workspaces")["workspaces"]] == ["thrown"]
