"""The protocol of an engine: homes, workspaces, and in each one a port for every feature."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from memsweep.model.memory import Workspace
from memsweep.store.code_files import CodeFiles
from memsweep.store.graph import Graph
from memsweep.store.ports.care import HomeKeeper, Keeper
from memsweep.store.ports.collector import Collector
from memsweep.store.ports.memories import Memories
from memsweep.store.ports.overview import Overview
from memsweep.store.ports.search import SearchIndex
from memsweep.store.ports.tokens import Tokens
from memsweep.store.windows import Windows


class Store(Memories, SearchIndex, Protocol):
    """One workspace. Every write is one transaction; every read sees no trash."""

    @property
    def workspace_id(self) -> str: ...

    def change_number(self) -> str:
        """Another text after every transaction that changes something, whoever made it; one cheap read."""

    @property
    def code(self) -> CodeFiles: ...

    @property
    def collector(self) -> Collector: ...

    @property
    def windows(self) -> Windows: ...

    @property
    def graph(self) -> Graph: ...

    @property
    def overview(self) -> Overview: ...

    @property
    def keeper(self) -> Keeper: ...

    def close(self) -> None: ...


class Engine(Protocol):
    """All workspaces of one home."""

    @property
    def keeper(self) -> HomeKeeper: ...

    @property
    def tokens(self) -> Tokens: ...

    def workspaces(self) -> list[Workspace]: ...

    def owner_of(self, workspace_id: str) -> str | None:
        """The project that a workspace was made for, empty if for none; None if there is no such workspace."""

    def workspace_of(self, project: str) -> str | None:
        """The workspace that was made for a project."""

    def assign(self, workspace_id: str, project: str) -> None:
        """Let a workspace be that of a project; empty: of none."""

    def describe(self, workspace_id: str, description: str) -> None:
        """Change the description of a workspace in the list."""

    def create(self, workspace_id: str, description: str, now: datetime, *, project: str = "") -> Workspace:
        """A new workspace, or `AlreadyExists`."""

    def delete(self, workspace_id: str, now: datetime, receipt_id: str = "", *, actor: str) -> Workspace:
        """Take a workspace out of sight; its data is kept aside. Its audit log says so when it is back."""

    def undelete(self, receipt_id: str, now: datetime, *, actor: str) -> Workspace:
        """Bring back a workspace whose deletion has this receipt. Its audit log says so."""

    def deleted_workspaces(self) -> list[Workspace]:
        """Return those that were deleted and are not freed yet, the last deleted first."""

    def purge_deleted(self, before: datetime) -> int:
        """Free workspaces that were deleted up to a moment; how many. What was cut short is finished too."""

    def open(self, workspace_id: str) -> Store:
        """An existing workspace, or `UnknownWorkspace`."""

    def open_or_create(self, workspace_id: str, now: datetime, *, project: str = "") -> Store:
        """A workspace to write to: the first write creates it, for a project if one is named."""

    def close(self) -> None: ...
