"""All workspaces of one home folder: a registry, and a file for each workspace.

No path is made from an id: the registry gives every workspace a file name of its own, which is never
used again. So a workspace that was deleted and made anew cannot meet the old one's side files, even
while another process still has those open. A lost registry is made again from the files themselves.
"""

from __future__ import annotations

import contextlib
import secrets
import threading
from datetime import datetime
from functools import cached_property
from pathlib import Path

import apsw

from memsweep.errors import AlreadyExists, MemsweepError, StoreCorrupt, UnknownWorkspace
from memsweep.model.memory import Workspace
from memsweep.model.times import from_micros, to_micros
from memsweep.store.sqlite import sql
from memsweep.store.sqlite.connect import Pool, connect, immediate, make_file, make_folder, one, plain_errors
from memsweep.store.sqlite.schema import REGISTRY_MIGRATIONS, WORKSPACE_MIGRATIONS
from memsweep.store.sqlite.store import SqliteStore


class SqliteEngine:
    """Implements `memsweep.store.protocol.Engine`."""

    def __init__(self, home: Path) -> None:
        self._registry_file = home / "registry.db"
        self._folder = home / "workspaces"
        self._stores: dict[str, SqliteStore] = {}
        self._lock = threading.Lock()

    def workspaces(self) -> list[Workspace]:
        if not self._registry_file.exists() and not self._lost_files():
            return []
        with self._registry.reading() as db:
            return [Workspace(name, text, from_micros(at)) for name, text, at in db.execute(sql.LIST_WORKSPACES)]

    def create(self, workspace_id: str, description: str, now: datetime) -> Workspace:
        registry = self._registry  # made before the file: a file without a registry counts as lost and is adopted
        if self._find(workspace_id) is not None:
            raise _taken(workspace_id)
        workspace = Workspace(workspace_id, description, now)
        file = self._new_file(workspace)
        try:
            with registry.writing() as db:
                db.execute(sql.ADD_WORKSPACE, (workspace_id, file.name, description, to_micros(now)))
        except MemsweepError as error:
            file.unlink(missing_ok=True)
            if isinstance(error.__cause__, apsw.ConstraintError):
                raise _taken(workspace_id) from None
            raise
        return workspace

    def delete(self, workspace_id: str, now: datetime) -> None:
        store = self.open(workspace_id)
        with self._registry.writing() as db:
            db.execute(sql.HIDE_WORKSPACE, (to_micros(now), workspace_id))
        store.mark_deleted(now)

    def open(self, workspace_id: str) -> SqliteStore:
        file = self._find(workspace_id)
        if file is None:
            raise self._unknown(workspace_id)
        with self._lock:
            if file not in self._stores:
                path = self._folder / file
                if not path.exists():
                    raise StoreCorrupt(
                        f"the file of workspace {workspace_id!r} is missing: {path}.",
                        hint="Put it back, or delete the workspace.",
                    )
                self._stores[file] = SqliteStore(workspace_id, path)
            return self._stores[file]

    def open_or_create(self, workspace_id: str, now: datetime) -> SqliteStore:
        if self._find(workspace_id) is None:
            with contextlib.suppress(AlreadyExists):  # another process was quicker, which is as good
                self.create(workspace_id, "", now)
        return self.open(workspace_id)

    def close(self) -> None:
        for store in self._stores.values():
            store.close()
        if "_registry" in self.__dict__:
            self._registry.close()

    @cached_property
    def _registry(self) -> Pool:
        make_folder(self._folder)
        lost = self._lost_files()
        make_file(self._registry_file)
        pool = Pool(self._registry_file, REGISTRY_MIGRATIONS)
        if lost:
            self._adopt(pool, lost)
        return pool

    def _find(self, workspace_id: str) -> str | None:
        if not self._registry_file.exists() and not self._lost_files():
            return None
        with self._registry.connection() as db:
            found: str | None = one(db, sql.FIND_WORKSPACE, (workspace_id,))
            return found

    def _unknown(self, workspace_id: str) -> UnknownWorkspace:
        known = ", ".join(repr(workspace.id) for workspace in self.workspaces()) or "none yet"
        return UnknownWorkspace(
            f"workspace {workspace_id!r} does not exist; known workspaces: {known}.",
            hint="Adding a memory to it creates it.",
        )

    def _new_file(self, workspace: Workspace) -> Path:
        make_folder(self._folder)
        path = self._folder / f"{secrets.token_hex(8)}.db"
        make_file(path)
        with plain_errors(path):
            db = connect(path, WORKSPACE_MIGRATIONS)
            with immediate(db):
                facts = (workspace.id, workspace.description, to_micros(workspace.created_at))
                db.executemany(sql.SET_META, zip(("workspace", "description", "created_at"), facts, strict=True))
            db.close()
        return path

    def _lost_files(self) -> list[Path]:
        """Workspace files without a registry beside them."""
        return [] if self._registry_file.exists() else sorted(self._folder.glob("*.db"))

    def _adopt(self, pool: Pool, files: list[Path]) -> None:
        for file in files:
            with plain_errors(file):
                db = connect(file, WORKSPACE_MIGRATIONS)
                facts = [one(db, sql.GET_META, (key,)) for key in ("workspace", "description", "created_at")]
                deleted = one(db, sql.GET_META, ("deleted_at",))
                db.close()
            if facts[0] and deleted is None:
                with pool.writing() as registry:
                    registry.execute(sql.ADOPT_WORKSPACE, (facts[0], file.name, *facts[1:]))


def _taken(workspace_id: str) -> AlreadyExists:
    return AlreadyExists(f"workspace {workspace_id!r} exists already.", hint="Choose another id, or use it as it is.")
