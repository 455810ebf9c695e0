"""All workspaces of a home: rows of a registry, and the places that they lead to.

An engine reads and changes the rows, and makes, opens and frees the places; the rest is the same for all of them.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from memsweep.errors import AlreadyExists, NotAllowed, UnknownWorkspace
from memsweep.model.columns import declared, decoder, part
from memsweep.model.times import from_micros, to_micros
from memsweep.model.workspace import Workspace
from memsweep.store.refusals import unknown_receipt, unknown_workspace, workspace_exists, workspace_made_again
from memsweep.store.things.registry import WORKSPACE, WorkspaceRow

if TYPE_CHECKING:
    from memsweep.model.audit import AuditEvent
    from memsweep.model.columns import Side
    from memsweep.model.token import Token
    from memsweep.store.protocol import HomeKeeper, Store
    from memsweep.store.rows import Where
    from memsweep.store.tokens import Tokens

R = TypeVar("R")
Change = tuple[Any, Any]
"""A row of the registry as it is, and as it becomes; None before it is there."""


class WorkspacePlace(NamedTuple):
    """The place of a workspace."""

    name: str
    file: str


class WorkspaceOwner(NamedTuple):
    """The project that a workspace was made for."""

    name: str
    project: str


part(WorkspacePlace, WORKSPACE)
part(WorkspaceOwner, WORKSPACE)
_LIVE: Where = ("deleted_at", "null", None)
_DELETED: Where = ("deleted_at", "known", None)


def named(workspace_id: str) -> tuple[Where, ...]:
    """Return the conditions that a workspace meets which is not deleted."""
    return ("name", "=", workspace_id), _LIVE


class Engine(ABC):
    """All workspaces of one home."""

    token: Token | None = None
    """The token that the caller came with."""

    @property
    @abstractmethod
    def keeper(self) -> HomeKeeper: ...

    @abstractmethod
    def rows(self, row: type[R], *where: Where) -> list[R]:
        """Return rows of the registry. A value in them that cannot be right is damage, which is raised."""

    @abstractmethod
    def change(self, *changes: Change, event: AuditEvent | None = None) -> bool:
        """Change rows of the registry, all or none; False if one is not as it was, or the name of a new one is in use.

        `event` is for the audit log of the workspace that is deleted, or comes back.
        """

    @abstractmethod
    def making(self, workspace: Workspace, now: datetime) -> AbstractContextManager[str]:
        """Make a place for a workspace, which goes again if that does not get its name."""

    @abstractmethod
    def purge_deleted(self, before: datetime) -> int:
        """Free workspaces that were deleted up to a moment; how many. What was cut short is finished too."""

    @abstractmethod
    def open(self, workspace_id: str) -> Store:
        """An existing workspace, or `UnknownWorkspace`."""

    @abstractmethod
    def close(self) -> None: ...

    @cached_property
    def tokens(self) -> Tokens:
        from memsweep.store.tokens import Tokens  # late: only HTTP and its commands ask

        return Tokens(self)

    def check(self, workspace_id: str) -> None:
        """Refuse a workspace that the caller may not reach."""
        if self.token is not None and not self.token.allows(workspace_id):
            raise self.token.refusal(workspace_id)

    def workspaces(self) -> list[Workspace]:
        return sorted(map(_shown, self.rows(WorkspaceRow, _LIVE)), key=lambda each: each.id)

    def owner_of(self, workspace_id: str) -> str | None:
        """The project that a workspace was made for, empty if for none; None if there is no such workspace."""
        found = self.rows(WorkspaceOwner, *named(workspace_id))
        return found[0].project if found else None

    def workspace_of(self, project: str) -> str | None:
        """The workspace that was made for a project; of several the oldest."""
        found = self.rows(WorkspaceRow, ("project", "=", project), _LIVE) if project else []
        return min(found, key=lambda row: (row.key, row.created_at, row.name)).name if found else None

    def assign(self, workspace_id: str, project: str) -> None:
        """Let a workspace be that of a project; empty: of none."""
        if not self._set(workspace_id, project=project):
            raise self._unknown(workspace_id)

    def describe(self, workspace_id: str, description: str) -> None:
        """Change the description of a workspace in the list."""
        self.check(workspace_id)
        self._set(workspace_id, description=description)

    def create(self, workspace_id: str, description: str, now: datetime, *, project: str = "") -> Workspace:
        """A new workspace, or `AlreadyExists`."""
        self.check(workspace_id)
        if self.rows(WorkspacePlace, *named(workspace_id)):
            raise workspace_exists(workspace_id)
        workspace = Workspace(workspace_id, description, now, project=project)
        with self.making(workspace, now) as place:
            if not self.change((None, row_of(workspace, place))):
                raise workspace_exists(workspace_id)
        return workspace

    def delete(self, workspace_id: str, now: datetime, receipt_id: str = "", *, actor: str) -> Workspace:
        """Take a workspace out of sight; its data is kept aside. Its audit log says so when it is back."""
        self.check(workspace_id)
        event = deleted(workspace_id, receipt_id, actor, now)
        for row in self.rows(WorkspaceRow, *named(workspace_id)):
            if self.change((row, hidden(row, now, receipt_id)), event=event):
                return _shown(row._replace(receipt=receipt_id or None))
        raise self._unknown(workspace_id)

    def undelete(self, receipt_id: str, now: datetime, *, actor: str) -> Workspace:
        """Bring back a workspace whose deletion has this receipt. Its audit log says so."""
        while found := self.rows(WorkspaceRow, ("receipt", "=", receipt_id), _DELETED) if receipt_id else []:
            row = found[0]
            self.check(row.name)
            if self.rows(WorkspacePlace, *named(row.name)):
                raise workspace_made_again(row.name)
            back = row._replace(deleted_at=None, receipt=None)
            if self.change((row, back), event=restored(row.name, receipt_id, actor, now)):
                return _shown(back)
        raise unknown_receipt(receipt_id)

    def deleted_workspaces(self) -> list[Workspace]:
        """Return those that were deleted and are not freed yet, the last deleted first."""
        found = map(_shown, self.rows(WorkspaceRow, _DELETED))
        return sorted(found, key=lambda each: (each.deleted_at, each.id, each.receipt_id or ""), reverse=True)

    def open_or_create(self, workspace_id: str, now: datetime, *, project: str = "") -> Store:
        """A workspace to write to: the first write creates it, for a project if one is named."""
        with suppress(UnknownWorkspace):
            return self.open(workspace_id)
        with suppress(AlreadyExists):  # another process was quicker, which is as good
            self.create(workspace_id, "", now, project=project)
        return self.open(workspace_id)

    def _set(self, workspace_id: str, **values: Any) -> bool:
        """Set columns of a workspace, whoever changes others meanwhile; False if it is not there."""
        while found := self.rows(WorkspaceRow, *named(workspace_id)):
            row = found[0]._replace(**values)
            if row == found[0] or self.change((found[0], row)):
                return True
        return False

    def _unknown(self, workspace_id: str) -> UnknownWorkspace:
        return unknown_workspace(workspace_id, (each.id for each in self.workspaces()), self.deleted_workspaces())


def row_of(workspace: Workspace, place: str) -> WorkspaceRow:
    """Return the row of a new workspace."""
    said = (workspace.description, workspace.created_at, None, None, workspace.project)
    return WorkspaceRow(workspace.id, place, *said, key=0)


def hidden(row: WorkspaceRow, now: datetime, receipt_id: str) -> WorkspaceRow:
    """Return the row of a workspace once it is deleted."""
    return row._replace(deleted_at=now, receipt=receipt_id or None)


def sound_rows(row: type[R], listed: Iterable[Sequence[Any]], side: Side) -> list[R]:
    """Decode rows of the registry; a `ValueError` if one has a value that cannot be right."""
    it, names = declared(row)
    columns, decode = [it.columns[name] for name in names], decoder(row, side)
    found = []
    for values in listed:
        for column, value in zip(columns, values, strict=True):
            kept = column.as_row(value) if side == "node" and column.as_row and value is not None else value
            if not column.fits(kept):
                raise ValueError(f"{value!r:.40} in {it.table}")
        found.append(decode(values))
    return found


def changed(was: Any, becomes: Any) -> Mapping[str, Any]:
    """Return the new values of a row, by column."""
    return {name: value for name, value in becomes._asdict().items() if getattr(was, name) != value}


def _shown(row: WorkspaceRow) -> Workspace:
    return Workspace(row.name, row.description, row.created_at, row.receipt, row.deleted_at, row.project)


# No engine can change what leads to a workspace and the workspace itself in one transaction. So the event of a deletion
# or a return is kept with the change, and goes into the audit log of the workspace after it; whoever finds one waiting
# writes it, and it counts once.
_FIELDS = {"at": int, "actor": str, "action": str, "subject": str, "reason": str}
_NO_TIME = 1 << 53


def deleted(workspace_id: str, receipt_id: str, actor: str, now: datetime) -> AuditEvent:
    from memsweep.model.audit import AuditEvent  # late: whoever only reads has none

    return AuditEvent(now, actor, "delete_workspace", workspace_id, reason=receipt_id)


def restored(workspace_id: str, receipt_id: str, actor: str, now: datetime) -> AuditEvent:
    from memsweep.model.audit import AuditEvent  # late: whoever only reads has none

    return AuditEvent(now, actor, "restore_workspace", workspace_id, reason=receipt_id)


def to_fields(event: AuditEvent) -> dict[str, Any]:
    values = (to_micros(event.at), event.actor, event.action, event.subject, event.reason)
    return dict(zip(_FIELDS, values, strict=True))


def to_text(event: AuditEvent) -> str:
    """In ASCII, so that a damaged one can be told by its letters."""
    return json.dumps(to_fields(event))


def from_fields(fields: Any) -> AuditEvent | None:
    """None if it is damaged: then what happened is not known."""
    if not isinstance(fields, dict) or any(type(fields.get(name)) is not kind for name, kind in _FIELDS.items()):
        return None
    if not 0 <= fields["at"] < _NO_TIME:
        return None
    from memsweep.model.audit import AuditEvent

    return AuditEvent(
        from_micros(fields["at"]), fields["actor"], fields["action"], fields["subject"], reason=fields["reason"]
    )


class BoundedEngine(Engine):
    """An engine as the holder of a token sees it: the workspaces of the token, and no other.

    Every operation reaches its workspace through the engine, so this is the one place where a token's bounds are kept,
    whatever door, tool or resource a call comes through.
    """

    token: Token

    def __init__(self, engine: Engine, token: Token) -> None:
        self._engine, self.token = engine, token

    @property
    def keeper(self) -> HomeKeeper:
        raise self._not_for_all("look after the whole store")

    @property
    def tokens(self) -> Tokens:
        raise self._not_for_all("see or make tokens")

    def rows(self, row: type[R], *where: Where) -> list[R]:
        """Without those of workspaces that the holder may not know."""
        found: list[Any] = self._engine.rows(row, *where)
        return [each for each in found if self.token.allows(each.name)]

    def change(self, *changes: Change, event: AuditEvent | None = None) -> bool:
        for _, becomes in changes:
            self.check(becomes.name)
        return self._engine.change(*changes, event=event)

    def making(self, workspace: Workspace, now: datetime) -> AbstractContextManager[str]:
        self.check(workspace.id)
        return self._engine.making(workspace, now)

    def assign(self, workspace_id: str, project: str) -> None:
        raise self._not_for_all("say which project has which workspace")

    def purge_deleted(self, before: datetime) -> int:
        raise self._not_for_all("purge deleted workspaces")

    def open(self, workspace_id: str) -> Store:
        self.check(workspace_id)
        try:
            return self._engine.open(workspace_id)
        except UnknownWorkspace:
            raise self._unknown(workspace_id) from None

    def close(self) -> None:
        """The engine belongs to whoever lets tokens in."""

    def _not_for_all(self, what: str) -> NotAllowed:
        bound = ", ".join(map(repr, self.token.workspaces))
        return NotAllowed(
            f"token {self.token.name!r} is only for {bound}, and cannot {what}.",
            hint="Use a token for all workspaces, or the command line.",
        )
