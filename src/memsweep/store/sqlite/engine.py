"""All workspaces of one home folder: a registry, and a file for each workspace.

No path is made from an id: the registry gives every workspace a file name of its own, which is never
used again. So a workspace that was deleted and made anew cannot meet the old one's side files, even
while another process still has those open. A lost registry is made again from the files themselves.
"""

from __future__ import annotations

import contextlib
import os
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import apsw

from memsweep.errors import MemsweepError, StoreCorrupt, StoreError
from memsweep.forking import new_lock, stores
from memsweep.model.columns import declared
from memsweep.model.text import expect
from memsweep.model.times import to_micros
from memsweep.model.workspace import Workspace
from memsweep.store.file import connect, schema
from memsweep.store.file.connect import Pool, connect_new, connected, inode, make_file, make_folder, one, plain_errors
from memsweep.store.file.schema import REGISTRY_MIGRATIONS, WORKSPACE_MIGRATIONS
from memsweep.store.rows import Values, Where
from memsweep.store.sqlite import registry_sql, sql
from memsweep.store.sqlite.intents import MARK, REMOVE, Intents
from memsweep.store.sqlite.rows import SqliteRows
from memsweep.store.sqlite.store import SqliteStore
from memsweep.store.things.registry import TokenRow, WorkspaceRow
from memsweep.store.workspaces import Change, Engine, changed, sound_rows

if TYPE_CHECKING:
    from memsweep.model.audit import AuditEvent
    from memsweep.store.sqlite.home import SqliteHomeKeeper

R = TypeVar("R")
_MOST_STORES = 256  # whose connections are closed long before


class SqliteEngine(Engine):
    """Implements `memsweep.store.workspaces.Engine`."""

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

    def rows(self, row: type[R], *where: Where) -> list[R]:
        if not self._has_registry():
            return []
        with self._registry.connection() as db:
            (listed,) = SqliteRows(db).ask(Values(row, declared(row)[1], where))
            if not listed and row is not TokenRow and any(column == "name" for column, *_ in where):
                self._refuse_damage(db)
            return sound_rows(row, listed, "file")

    def _refuse_damage(self, db: apsw.Connection) -> None:
        """A damaged row may be the one that was not found; another workspace in its place would hide it."""
        if (damage := connect.explain(db, self._registry_file)) is not None:
            raise damage

    def _find(self, workspace_id: str, statement: str, *, thoroughly: bool = True) -> str | None:
        """Ask for a column of a workspace; a search that only asks if there is one is content with a glance."""
        if not self._has_registry():
            return None
        with self._registry.connection() as db:
            found = one(db, statement, (workspace_id,))
            if found is None and (thoroughly or not one(db, registry_sql.NAMES_LOOK_SOUND)):
                self._refuse_damage(db)
            if found is not None:
                expect(str, found)
            return None if found is None else str(found)

    def owner_of(self, workspace_id: str) -> str | None:
        """As for all engines, in one quick statement: every search asks for the workspace of the person."""
        return self._find(workspace_id, registry_sql.OWNER_OF, thoroughly=False)

    def change(self, *changes: Change, event: AuditEvent | None = None) -> bool:
        """Whoever deletes a workspace, or brings it back, notes first what is to be done to its file."""
        try:
            with self._intents.owner() if event else contextlib.nullcontext("") as owner:
                with self._registry.writing() as db:
                    if not write(db, changes):
                        return False
                    files = [becomes.file for _, becomes in changes] if event else []
                    for file in files:
                        self._intents.note(db, file, MARK, owner)
                        self._intents.note_event(db, file, event)
                for file in files:
                    with contextlib.suppress(StoreError):  # it is done already; the next start tries again
                        self._intents.settle(file)
        except StoreError as error:
            if isinstance(error.__cause__, apsw.ConstraintError):  # another one has the name
                return False
            raise
        if any("description" in changed(*each) for each in changes if each[0] is not None):
            with self._registry.connection() as db:
                db.execute(registry_sql.WIPE)  # what was there before is not in the log either
        return True

    @contextlib.contextmanager
    def making(self, workspace: Workspace, now: datetime) -> Iterator[str]:
        file = self._folder / f"{os.urandom(8).hex()}.db"
        with self._intents.owner() as owner:
            with self._registry.writing() as db:
                self._intents.note(db, file.name, REMOVE, owner)
            try:
                _make_workspace_file(file, workspace)
                yield file.name
            except MemsweepError:
                self._intents.take_back(file.name, owner)
                raise

    def purge_deleted(self, before: datetime) -> int:
        if not self._has_registry():
            return 0
        self._intents.finish()
        with self._intents.owner() as owner:
            with self._registry.writing() as db:
                files = [
                    str(file) for (file,) in db.execute(registry_sql.FORGET_WORKSPACES, (to_micros(before),)).fetchall()
                ]
                for file in files:
                    self._intents.note(db, file, REMOVE, owner)
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
        file = self._find(workspace_id, registry_sql.FIND_WORKSPACE)
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


_KNOWN_BY = {WorkspaceRow: "file", TokenRow: "digest"}


def write(db: apsw.Connection, changes: Sequence[Change]) -> bool:
    """Change rows of the registry, inside of a transaction; False before anything is written if one has changed."""
    rows = SqliteRows(db)
    for was, becomes in changes:
        row = type(becomes)
        if was is not None and not rows.find(row, *_as_it_is(was, {_KNOWN_BY[row], *changed(was, becomes)})):
            return False
    for was, becomes in changes:
        if was is None:
            rows.add([becomes])
            if isinstance(becomes, WorkspaceRow):
                db.execute(registry_sql.DROP_INTENT, (becomes.file, REMOVE))
        else:
            row = type(becomes)
            rows.set(row, (_KNOWN_BY[row], "=", getattr(was, _KNOWN_BY[row])), **changed(was, becomes))
    return True


def _as_it_is(row: Any, columns: set[str]) -> list[Where]:
    values = ((name, getattr(row, name)) for name in sorted(columns))
    return [(name, "null" if value is None else "=", value) for name, value in values]


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
