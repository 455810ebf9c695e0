"""A call that came with a token reaches the workspaces of the token, and no other, whatever it does."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from memsweep.app import App
from memsweep.errors import NotAllowed, NotFound, UnknownWorkspace
from memsweep.model.token import Token
from memsweep.model.workspace import Workspace
from memsweep.operation import granted_by
from memsweep.server.app import tool_rows
from memsweep.store import workspaces
from memsweep.store.things.registry import WorkspaceRow
from tests.support.engines import on_every_engine

pytestmark = on_every_engine


@pytest.fixture
def token(app: App) -> Token:
    app.memory("mine").remember("The harbour opens at dawn.")
    app.memory("other").remember("The vault code is kept in the harbour office.")
    app.memory("personal").remember("I like the harbour at night.")
    return app.tokens.create("t", ["mine", "new"])[0]


def test_an_empty_workspace_is_the_first_of_the_token(app: App, token: Token) -> None:
    with granted_by(token):
        assert app.workspace_id == "mine"
        found = app.memory().search("harbour", mode="deep")
        assert [hit.passage.text for hit in found.hits] == ["The harbour opens at dawn."]
        app.memory("new").remember("The first write makes it.")
        assert [each.id for each in app.workspaces()] == ["mine", "new"]
        assert app.actor == "library (t)"
    assert "personal" in [each.id for each in app.workspaces()]


REACHING: list[Callable[[App], Any]] = [
    lambda app: app.memory("other").search("vault"),
    lambda app: app.memory("other").remember("x"),
    lambda app: app.memory("other").stats(),
    lambda app: app.memory("other").sweep.plan("all"),
    lambda app: app.memory("nowhere").remember("x"),
    lambda app: app.memory("mine").remember("x", scope="personal"),
    lambda app: app.create_workspace("another"),
    lambda app: app.delete_workspace("other", confirm=True),
    lambda app: app.purge_workspaces(0),
    lambda app: app.tokens.all(),
    lambda app: app.tokens.create("more"),
    lambda app: app.engine.keeper.examine(),
    lambda app: app.engine.assign("mine", "p"),
]


@pytest.mark.parametrize("reach", REACHING)
def test_what_lies_beyond_the_token_is_refused(app: App, token: Token, reach: Callable[[App], Any]) -> None:
    with granted_by(token), pytest.raises(NotAllowed, match=r"token 't' is (not for workspace|only for 'mine', 'new')"):
        reach(app)


def test_nothing_beyond_the_token_is_named(app: App, token: Token) -> None:
    gone = app.delete_workspace("other", confirm=True)
    app.delete_workspace("mine", confirm=True)
    with granted_by(token):
        for reach in (lambda: app.memory("new").stats(), lambda: app.delete_workspace("new", confirm=True)):
            with pytest.raises(UnknownWorkspace) as refused:
                reach()
            assert "personal" not in str(refused.value)
        assert [each.id for each in app.workspaces(deleted=True)] == ["mine"]
        assert app.deleted_workspaces(0) == 1
        with pytest.raises(NotFound):
            app.undo(gone.receipt_id or "")
        (own,) = app.workspaces(deleted=True)
        app.undo(own.receipt_id or "")
        assert [each.id for each in app.workspaces()] == ["mine"]


def test_a_purge_of_all_is_refused_before_anything_is_freed(app: App, token: Token) -> None:
    """Trash of the token's own workspace, and what an interrupted copy of somebody else has left."""
    mine = app.memory("mine")
    mine.delete(mine.memories().memories[0].id, confirm=True)
    copied = app.settings.home / "copies" / "half"
    copied.mkdir(parents=True)
    (tool,) = (row for row in tool_rows(app, "full") if row.function.__name__ == "purge_trash")
    assert tool.asks is not None
    with granted_by(token):
        with pytest.raises(NotAllowed, match="only for 'mine', 'new'"):  # before a person is asked
            tool.asks(older_than_days=0, confirm=True, workspace_id="", deleted_workspaces=True)
        with pytest.raises(NotAllowed, match="cannot purge deleted workspaces"):
            app.purge_workspaces(0)
    assert copied.exists()
    assert mine.sweep.trash()[1] == 1


def test_a_token_for_all_is_not_bound(app: App) -> None:
    app.memory("other").remember("x")
    token, _ = app.tokens.create("all")
    with granted_by(token):
        assert app.memory("other").stats().total_memories == 1
        assert app.workspace_id == "default"


def test_exports_of_a_bound_token_are_its_own(app: App, token: Token) -> None:
    shared = app.export_folder()
    with granted_by(token):
        assert app.export_folder().parent == shared
        assert app.export_folder() != shared


def test_what_every_operation_of_the_engine_is_made_of_is_bounded(app: App, token: Token) -> None:
    other = Workspace("other", "", datetime(2026, 1, 1, tzinfo=UTC))
    row = workspaces.row_of(other, "place")
    with granted_by(token):
        assert app.engine.rows(WorkspaceRow, *workspaces.named("other")) == []
        for reach in (lambda: app.engine.change((None, row)), lambda: app.engine.making(other, other.created_at)):
            with pytest.raises(NotAllowed):
                reach()
