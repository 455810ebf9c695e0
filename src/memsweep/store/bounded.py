"""An engine as the holder of a token sees it: the workspaces of the token, and no other.

Every operation reaches its workspace through the engine, so this is the one place where a token's bounds are kept,
whatever door, tool or resource a call comes through.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any, TypeVar

from memsweep.errors import NotAllowed, UnknownWorkspace
from memsweep.model.audit_event import AuditEvent
from memsweep.model.token import Token
from memsweep.model.workspace import Workspace
from memsweep.store.ports.care import HomeKeeper
from memsweep.store.protocol import Store
from memsweep.store.rows import Where
from memsweep.store.tokens import Tokens
from memsweep.store.workspaces import Change, Engine

R = TypeVar("R")


class BoundedEngine(Engine):
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
