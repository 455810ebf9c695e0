"""An engine as the holder of a token sees it: the workspaces of the token, and no other.

Every operation reaches its workspace through the engine, so this is the one place where a token's bounds are kept,
whatever door, tool or resource a call comes through.
"""

from __future__ import annotations

from datetime import datetime

from memsweep.errors import NotAllowed, UnknownWorkspace
from memsweep.model.memory import Workspace
from memsweep.model.token import Token
from memsweep.store.ports.care import HomeKeeper
from memsweep.store.ports.tokens import Tokens
from memsweep.store.protocol import Engine, Store
from memsweep.store.refusals import unknown_receipt, unknown_workspace


class BoundedEngine:
    """Implements `memsweep.store.protocol.Engine`."""

    def __init__(self, engine: Engine, token: Token) -> None:
        self._engine, self._token = engine, token

    @property
    def keeper(self) -> HomeKeeper:
        raise self._not_for_all("look after the whole store")

    @property
    def tokens(self) -> Tokens:
        raise self._not_for_all("see or make tokens")

    def workspaces(self) -> list[Workspace]:
        return [each for each in self._engine.workspaces() if self._token.allows(each.id)]

    def owner_of(self, workspace_id: str) -> str | None:
        return self._engine.owner_of(workspace_id) if self._token.allows(workspace_id) else None

    def workspace_of(self, project: str) -> str | None:
        found = self._engine.workspace_of(project)
        return found if found is not None and self._token.allows(found) else None

    def assign(self, workspace_id: str, project: str) -> None:
        raise self._not_for_all("say which project has which workspace")

    def describe(self, workspace_id: str, description: str) -> None:
        self._check(workspace_id)
        self._engine.describe(workspace_id, description)

    def create(self, workspace_id: str, description: str, now: datetime, *, project: str = "") -> Workspace:
        self._check(workspace_id)
        return self._engine.create(workspace_id, description, now, project=project)

    def delete(self, workspace_id: str, now: datetime, receipt_id: str = "", *, actor: str) -> Workspace:
        self._check(workspace_id)
        try:
            return self._engine.delete(workspace_id, now, receipt_id, actor=actor)
        except UnknownWorkspace:
            raise self._unknown(workspace_id) from None

    def undelete(self, receipt_id: str, now: datetime, *, actor: str) -> Workspace:
        if all(each.receipt_id != receipt_id for each in self.deleted_workspaces()):
            raise unknown_receipt(receipt_id)
        return self._engine.undelete(receipt_id, now, actor=actor)

    def deleted_workspaces(self) -> list[Workspace]:
        return [each for each in self._engine.deleted_workspaces() if self._token.allows(each.id)]

    def purge_deleted(self, before: datetime) -> int:
        raise self._not_for_all("purge deleted workspaces")

    def open(self, workspace_id: str) -> Store:
        self._check(workspace_id)
        try:
            return self._engine.open(workspace_id)
        except UnknownWorkspace:
            raise self._unknown(workspace_id) from None

    def open_or_create(self, workspace_id: str, now: datetime, *, project: str = "") -> Store:
        self._check(workspace_id)
        return self._engine.open_or_create(workspace_id, now, project=project)

    def close(self) -> None:
        """The engine belongs to whoever lets tokens in."""

    def _check(self, workspace_id: str) -> None:
        if not self._token.allows(workspace_id):
            raise self._token.refusal(workspace_id)

    def _unknown(self, workspace_id: str) -> UnknownWorkspace:
        """Without the names of workspaces that the holder may not know."""
        return unknown_workspace(workspace_id, (each.id for each in self.workspaces()), self.deleted_workspaces())

    def _not_for_all(self, what: str) -> NotAllowed:
        bound = ", ".join(map(repr, self._token.workspaces))
        return NotAllowed(
            f"token {self._token.name!r} is only for {bound}, and cannot {what}.",
            hint="Use a token for all workspaces, or the command line.",
        )
