"""All workspaces of one home folder: a registry, and a file for each workspace.

No path is made from an id: the registry gives every workspace a file name of its own, which is never
used again. So a workspace that was deleted and made anew cannot meet the old one's side files, even
while another process still has those open. A lost registry is made again from the files themselves.
"""

from __future__ import annotations

import contextlib
import os
from collections import OrderedDict
from collections.abc import Sequence
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw

from memsweep.errors import AlreadyExists, MemsweepError, StoreCorrupt, StoreError, UnknownWorkspace
from memsweep.forking import new_lock, stores
from memsweep.model.stored import expect
from memsweep.model.times import from_micros, to_micros
from memsweep.model.workspace import Workspace
from memsweep.store import workspace_events
from memsweep.store.file import connect, schema
from memsweep.store.file.connect import (
    Pool,
    connect_new,
    connected,
    inode,
    make_file,
    make_folder,
    one,
    plain_errors,
    row,
)
from memsweep.store.file.registry_schema import REGISTRY_MIGRATIONS
from memsweep.store.file.schema import WORKSPACE_MIGRATIONS
from memsweep.store.refusals import unknown_receipt, unknown_workspace, workspace_exists, workspace_made_again
from memsweep.store.sqlite import intents, registry_sql, sql
from memsweep.store.sqlite.intents import Intents
from memsweep.store.sqlite.store import SqliteStore

if TYPE_CHECKING:
    from memsweep.store.sqlite.home import SqliteHomeKeeper
    from memsweep.store.sqlite.tokens import SqliteTokens


_MOST_STORES = 256  # whose connections are closed long before


class SqliteEngine:
    """Implements `memsweep.store.protocol.Engine`."""

    def __init__(self, home: Path) -> None:
        self._registry_file = home / "registry.db"
        self._folder = home / "workspaces"
        self._registry_inode: int | None = None
        self._stores: OrderedDict[str, tuple[int, SqliteStore]] = OrderedDict()  # the last used at the end
        self._lock = new_lock()
        self._intents = Intents(lambda: self._registry, self._folder)

    @cached_property
    def keeper(self) -> SqliteHomeKeeper:
        from memsweep.store.sqlite.home import SqliteHomeKeeper  # late: few commands look after the home

        return SqliteHomeKeeper(lambda: self._registry, self._folder, self._intents)

    @cached_property
    def tokens(self) -> SqliteTokens:
        from memsweep.store.sqlite.tokens import SqliteTokens  # late: only HTTP and its commands ask

        return SqliteTokens(lambda: self._registry, self._has_registry)

    def workspaces(self) -> list[Workspace]:
        if not self._has_registry():
            return []
        with self._registry.reading() as db:
            rows: list[Any] = db.execute(registry_sql.LIST_WORKSPACES).fetchall()
            for name, text, _, project in rows:
                expect(str, name, text, project)
            return [Workspace(name, text, from_micros(at), project=project) for name, text, at, project in rows]

    def owner_of(self, workspace_id: str) -> str | None:
        if self._find(workspace_id, thoroughly=False) is None:
            return None
        with self._registry.connection() as db:
            return _text(one(db, registry_sql.OWNER_OF, (workspace_id,)))

    def workspace_of(self, project: str) -> str | None:
        if not self._has_registry():
            return None
        with self._registry.connection() as db:
            return _text(one(db, registry_sql.WORKSPACE_OF, (project,)))

    def assign(self, workspace_id: str, project: str) -> None:
        if self._find(workspace_id) is None:
            raise self._unknown(workspace_id)
        with self._registry.writing() as db:
            if one(db, registry_sql.SET_PROJECT, (project, workspace_id)) is None:
                raise self._unknown(workspace_id)

    def describe(self, workspace_id: str, description: str) -> None:
        with self._registry.writing() as db:
            db.execute(registry_sql.SET_DESCRIPTION, (description, workspace_id))
        with self._registry.connection() as db:
            db.execute(registry_sql.WIPE)  # what was there before is not in the log either

    def create(self, workspace_id: str, description: str, now: datetime, *, project: str = "") -> Workspace:
        if self._find(workspace_id) is not None:
            raise workspace_exists(workspace_id)
        workspace = Workspace(workspace_id, description, now, project=project)
        file = self._folder / f"{os.urandom(8).hex()}.db"
        registry = self._registry
        with self._intents.owner() as owner:
            with registry.writing() as db:
                self._intents.note(db, file.name, intents.REMOVE, owner)
            try:
                _make_workspace_file(file, workspace)
                with registry.writing() as db:
                    db.execute(
                        registry_sql.ADD_WORKSPACE, (workspace_id, file.name, description, to_micros(now), project)
                    )
                    db.execute(registry_sql.DROP_INTENT, (file.name, intents.REMOVE))
            except MemsweepError as error:
                self._intents.take_back(file.name, owner)
                if isinstance(error.__cause__, apsw.ConstraintError):
                    raise workspace_exists(workspace_id) from None
                raise
        return workspace

    def delete(self, workspace_id: str, now: datetime, receipt_id: str = "", *, actor: str) -> Workspace:
        if self._find(workspace_id) is None:
            raise self._unknown(workspace_id)
        with self._intents.owner() as owner:
            with self._registry.writing() as db:
                hidden = row(db, registry_sql.HIDE_WORKSPACE, (to_micros(now), receipt_id or None, workspace_id))
                if hidden is None:
                    raise self._unknown(workspace_id)
                file, description, created_at, project = hidden
                self._intents.note(db, file, intents.MARK, owner)
                self._intents.note_event(db, file, workspace_events.deleted(workspace_id, receipt_id, actor, now))
            with contextlib.suppress(StoreError):  # it is done already; the next start tries again
                self._intents.settle(file)
        return Workspace(workspace_id, description, from_micros(created_at), receipt_id or None, project=project)

    def undelete(self, receipt_id: str, now: datetime, *, actor: str) -> Workspace:
        with self._intents.owner() as owner:
            with self._registry.writing() as db:
                hidden = row(db, registry_sql.HIDDEN_WORKSPACE, (receipt_id,))
                if hidden is None:
                    raise unknown_receipt(receipt_id)
                name, file, description, created_at, project = hidden
                if one(db, registry_sql.FIND_WORKSPACE, (name,)) is not None:
                    raise workspace_made_again(name)
                db.execute(registry_sql.SHOW_WORKSPACE, (receipt_id,))
                self._intents.note(db, file, intents.MARK, owner)
                self._intents.note_event(db, file, workspace_events.restored(name, receipt_id, actor, now))
            with contextlib.suppress(StoreError):
                self._intents.settle(file)
        return Workspace(name, description, from_micros(created_at), project=project)

    def deleted_workspaces(self) -> list[Workspace]:
        if not self._has_registry():
            return []
        with self._registry.reading() as db:
            rows: list[Any] = db.execute(registry_sql.LIST_DELETED).fetchall()
            for name, text, *_ in rows:
                expect(str, name, text)
            return [
                Workspace(name, text, from_micros(created_at), receipt, from_micros(deleted_at), project)
                for name, text, created_at, receipt, deleted_at, project in rows
            ]

    def purge_deleted(self, before: datetime) -> int:
        """Free the files of workspaces that were deleted up to a moment; how many."""
        if not self._has_registry():
            return 0
        self._intents.finish()
        with self._intents.owner() as owner:
            with self._registry.writing() as db:
                files = [
                    str(file) for (file,) in db.execute(registry_sql.FORGET_WORKSPACES, (to_micros(before),)).fetchall()
                ]
                for file in files:
                    self._intents.note(db, file, intents.REMOVE, owner)
            self._remove_all(files)
        return len(files)

    def _remove_all(self, files: Sequence[str]) -> None:
        """Remove the files of workspaces that the registry has forgotten; an error says first that it has."""
        refusals = []
        for file in files:
            try:
                self._intents.remove(file)
            except StoreError as error:
                refusals.append(error)
        if refusals:
            freed = "1 deleted workspace is" if len(files) == 1 else f"{len(files):,} deleted workspaces are"
            raise type(refusals[0])(f"{freed} freed, but {refusals[0].message}", hint=refusals[0].hint)

    def open(self, workspace_id: str) -> SqliteStore:
        file = self._find(workspace_id)
        if file is None:
            raise self._unknown(workspace_id)
        return self._store(workspace_id, file)

    def _store(self, workspace_id: str, file: str) -> SqliteStore:
        with self._lock:
            known, store = self._stores.get(file, (None, None))
            path = self._folder / file if store is None else store.path
            found = inode(path)  # asked each time: what is written to a file that was removed or replaced is lost
            if found is None:
                raise StoreCorrupt(
                    f"the file of workspace {workspace_id!r} is missing: {path}.",
                    hint="Put it back, or delete the workspace.",
                )
            if store is None or known != found:
                store = SqliteStore(workspace_id, path)
                self._stores[file] = found, store
                if len(self._stores) > _MOST_STORES:
                    self._stores.popitem(last=False)
            self._stores.move_to_end(file)
            return store

    def open_or_create(self, workspace_id: str, now: datetime, *, project: str = "") -> SqliteStore:
        if self._find(workspace_id) is None:
            with contextlib.suppress(AlreadyExists):  # another process was quicker, which is as good
                self.create(workspace_id, "", now, project=project)
        return self.open(workspace_id)

    def close(self) -> None:
        for _, store in list(self._stores.values()):
            store.close()
        if "_registry" in self.__dict__:
            self._registry.close()

    @cached_property
    def _registry(self) -> Pool:
        make_folder(self._folder)
        make_file(self._registry_file)
        self._registry_inode = inode(self._registry_file)
        pool = Pool(self._registry_file, REGISTRY_MIGRATIONS, self._adopt)
        Intents(lambda: pool, self._folder).finish()
        return pool

    def _find(self, workspace_id: str, *, thoroughly: bool = True) -> str | None:
        """The file of a workspace. Who asks whether there is one, as every search does, is content with a glance."""
        if not self._has_registry():
            return None
        with self._registry.connection() as db:
            found = one(db, registry_sql.FIND_WORKSPACE, (workspace_id,))
            if isinstance(found, str):
                return found
            if not thoroughly and one(db, registry_sql.NAMES_LOOK_SOUND):
                return None
            # A damaged row may be the one; another workspace in its place would hide it.
            if (damage := connect.explain(db, self._registry_file)) is not None:
                raise damage
            return None

    def _unknown(self, workspace_id: str) -> UnknownWorkspace:
        return unknown_workspace(workspace_id, (each.id for each in self.workspaces()), self.deleted_workspaces())

    def _has_registry(self) -> bool:
        """Return whether there is a registry or files to make it from; if not, reading leaves the disk alone."""
        found = inode(self._registry_file)
        if found != self._registry_inode:
            self.__dict__.pop("_registry", None)  # it was removed or replaced: the open one leads nowhere
        return found is not None or any(self._folder.glob("*.db"))

    def _adopt(self, registry: apsw.Connection) -> None:
        """Fill a new registry from the files that are there.

        This is one transaction with its schema, and files are only made once there is a registry. So no
        process sees half of it, and a file that is just being made is never taken for a lost one. If two
        files have one name (a crash while it was made), the fuller one gets it.
        """
        found = [facts for file in sorted(self._folder.glob("*.db")) if (facts := _facts(file))]
        for _, *entry in sorted(found, key=lambda facts: -facts[0]):
            registry.execute(registry_sql.ADOPT_WORKSPACE, entry)


def _text(found: Any) -> str | None:
    if found is not None:
        expect(str, found)
    return None if found is None else str(found)


def _facts(file: Path) -> tuple[int, str, str, str, int] | None:
    """Return the number of memories of a file, and its line in the registry; None if deleted or never ready."""
    with plain_errors(file), connected(file, WORKSPACE_MIGRATIONS, lambda db: None) as db:
        name, description, created_at, deleted_at = (
            one(db, schema.GET_META, (key,)) for key in ("workspace", "description", "created_at", "deleted_at")
        )
        if name is None or deleted_at is not None:
            return None
        return one(db, sql.COUNT_MEMORIES), name, file.name, description, created_at


def _make_workspace_file(path: Path, workspace: Workspace) -> None:
    def fill(db: apsw.Connection) -> None:
        facts = (workspace.id, workspace.description, to_micros(workspace.created_at))
        db.executemany(schema.SET_META, zip(("workspace", "description", "created_at"), facts, strict=True))

    make_file(path)
    with plain_errors(path), stores:
        connect_new(path, fill).close()
