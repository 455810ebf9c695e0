"""The audit log of a workspace says who deleted it and who brought it back."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memsweep.app import App
from memsweep.errors import AlreadyExists, StoreError
from memsweep.model.audit import AuditQuery
from tests.store.test_older_files import Opened, old  # noqa: F401
from tests.support import store_files
from tests.support.commands import Ran
from tests.support.engines import Home, on_every_engine

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def events(app: App, name: str) -> list[tuple[str, str, str]]:
    """What the log says of the workspace itself, the oldest first."""
    about = [event for event in app.memory(name).sweep.audit() if event.subject == name]
    return [(event.action, event.actor, event.reason) for event in reversed(about)]


@on_every_engine
def test_deleting_and_restoring_a_workspace_is_audited_with_actor_and_time(
    make: Callable[..., App], engine_kind: str
) -> None:
    app = make()
    app.memory("one").remember("a memory")
    app._actor = "Ada 🦊"
    app.clock = lambda: NOON
    receipt = str(app.delete_workspace("one", confirm=True).receipt_id)
    app._actor = "Grace"
    app.clock = lambda: NOON + timedelta(hours=1)
    app.undo(receipt)
    assert events(app, "one") == [("delete_workspace", "Ada 🦊", receipt), ("restore_workspace", "Grace", receipt)]
    assert [event.at for event in app.memory("one").sweep.audit(subject="one")] == [NOON + timedelta(hours=1), NOON]
    again = str(app.delete_workspace("one", confirm=True).receipt_id)
    make().undo(again)
    assert [reason for _, _, reason in events(app, "one")] == [receipt, receipt, again, again]


@on_every_engine
def test_a_workspace_that_a_restore_replaced_says_so_when_it_is_back(
    make: Callable[..., App], engine_kind: str, tmp_path: Path
) -> None:
    app = make()
    app.memory("one").remember("as it was")
    backup = app.memory("one").care.backup(tmp_path / "one.backup")
    receipt = str(app.restore(backup.path, "one", replace=True).receipt_id)
    assert events(app, "one") == [], "what is there now was never deleted"
    assert app.memory("one").sweep.audit()[0].action == "restore"
    app.delete_workspace("one", confirm=True)
    app.undo(receipt)
    assert [(action, reason) for action, _, reason in events(app, "one")] == [
        ("delete_workspace", receipt),
        ("restore_workspace", receipt),
    ]


@on_every_engine
def test_what_is_refused_is_not_audited(make: Callable[..., App], engine_kind: str) -> None:
    app = make()
    app.memory("one").remember("a memory")
    receipt = str(app.delete_workspace("one", confirm=True).receipt_id)
    app.create_workspace("one")
    with pytest.raises(AlreadyExists):
        app.undo(receipt)
    assert events(app, "one") == []
    app.delete_workspace("one", confirm=True)
    app.undo(receipt)
    assert [action for action, *_ in events(app, "one")] == ["delete_workspace", "restore_workspace"]


def test_one_deleted_by_an_older_version_says_that_it_came_back(old: Opened) -> None:  # noqa: F811
    app, written = old
    app.undo(written["thrown"]["receipt"])
    assert [action for action, *_ in events(app, "thrown")] == ["restore_workspace"]


def test_the_command_line_and_its_user_are_in_the_log(app: App, run: Callable[..., Ran]) -> None:
    app.memory("one").remember("a memory")
    receipt = run("workspace", "delete", "one", "--yes", "--json").json["receipt_id"]
    assert run("undo", receipt).status == 0
    shown = run("audit", "-w", "one").out
    assert f"delete_workspace  one  {receipt}" in shown
    assert f"restore_workspace  one  {receipt}" in shown
    assert all(actor.startswith("cli:") for _, actor, _ in events(app, "one"))


@pytest.mark.slow
def test_a_file_that_is_out_of_reach_gets_its_event_later(app: App, home: Path, make: Callable[..., App]) -> None:
    app.memory("one").remember("a memory")
    file = store_files.file_of(home, "one")
    moved = file.with_name("away")
    file.rename(moved)
    file.mkdir()
    with pytest.raises(StoreError):
        app.memory("one").stats()
    receipt = str(app.delete_workspace("one", confirm=True).receipt_id)
    file.rmdir()
    moved.rename(file)
    app.close()
    later = make()
    later.undo(receipt)
    assert [action for action, *_ in events(later, "one")] == ["delete_workspace", "restore_workspace"]
    assert store_files.query(home / "registry.db", "select * from pending_event") == []


def test_an_event_whose_writer_died_before_it_let_go_is_written_once(
    app: App, home: Path, make: Callable[..., App]
) -> None:
    app.memory("one").remember("a memory")
    receipt = str(app.delete_workspace("one", confirm=True).receipt_id)
    app.clock = lambda: NOON
    app.undo(receipt)
    app.close()
    file = store_files.file_of(home, "one").name
    event = (
        '{"at": %d, "actor": "library", "action": "restore_workspace", "subject": "one", "reason": "%s"}'  # noqa: UP031
        % (NOON.timestamp() * 1_000_000, receipt)
    )
    with store_files.open_file(home / "registry.db") as db:
        db.execute("insert into intent values (?, 'mark', '0123456789abcdef')", (file,))
        for waiting in (event, "{}", '{"at": "now"}', event.replace(receipt, "other")):
            db.execute("insert into pending_event (file, event) values (?, ?)", (file, waiting))
    again = make()
    assert [reason for _, _, reason in events(again, "one")] == [receipt, receipt, "other"]
    assert store_files.query(home / "registry.db", "select * from pending_event") == []


def test_on_falkor_an_event_that_was_not_passed_on_is_written_by_the_next_process(tmp_path: Path) -> None:
    home = Home("falkor", tmp_path)
    engine: Any = home.engine()
    engine.create("one", "", NOON)
    engine.delete("one", NOON, "receipt", actor="Ada")
    engine._pass_on_events = lambda *given: None  # dies here
    engine.undelete("receipt", NOON, actor="Grace")
    for _ in range(2):
        later = home.engine()
        found = [(event.action, event.actor) for _, event in later.open("one").collector.audit(10, AuditQuery())]
        assert found == [("restore_workspace", "Grace"), ("delete_workspace", "Ada")]
        assert "events" not in later._entry("one")  # type: ignore[attr-defined]
    home.close()
