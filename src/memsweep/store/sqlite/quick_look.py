"""A look at the registry without the engine: for a command that only wants to know where it is.

Nothing is made, migrated or mended. What cannot be read at a glance is an `apsw.Error`, and then the engine is asked.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw

from memsweep.store.sqlite import registry_sql


class Glance:
    """Implements `memsweep.project.resolve.Registry`."""

    def __init__(self, home: Path) -> None:
        self._folder = home / "workspaces"
        file = home / "registry.db"
        if not file.exists() and any(self._folder.glob("*.db")):
            raise apsw.CantOpenError("the registry has to be made again")
        self._registry = _open(file) if file.exists() else None

    def owner_of(self, workspace_id: str) -> str | None:
        found = self._ask(registry_sql.OWNER_OF, workspace_id)
        return found[0][0] if found else None

    def workspace_of(self, owner: str) -> str | None:
        found = self._ask(registry_sql.WORKSPACE_OF, owner)
        return found[0][0] if found else None

    def owned(self) -> list[tuple[str, str]]:
        return [(name, project) for name, _, _, project in self._ask(registry_sql.LIST_WORKSPACES)]

    def memories(self, workspace_id: str) -> int:
        return int(self._in_file(workspace_id, registry_sql.COUNT_LIVE)[1])

    def revision(self, workspace_id: str) -> str:
        """Another text whenever what can be found there has changed."""
        return ".".join(map(str, self._in_file(workspace_id, registry_sql.REVISION)))

    def _in_file(self, workspace_id: str, statement: str) -> tuple[str, Any]:
        """The name of the file of a workspace, and what it answers; nothing and 0 where there is none."""
        found = self._ask(registry_sql.FIND_WORKSPACE, workspace_id)
        if not found:
            return "", 0
        rows: list[Any] = _open(self._folder / found[0][0]).execute(statement).fetchall()
        return found[0][0], rows[0][0]

    def _ask(self, statement: str, *values: str) -> list[Any]:
        if self._registry is None:
            return []
        try:
            return self._registry.execute(statement, values).fetchall()
        except UnicodeDecodeError as error:
            raise apsw.CorruptError(str(error)) from None


def _open(file: Path) -> apsw.Connection:
    """To read only: closing such a connection leaves the log of the file alone."""
    return apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READONLY)
