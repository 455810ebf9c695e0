"""Looking after the folder of all workspaces: the registry against the files."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from memsweep.clock import new_id
from memsweep.errors import StoreError
from memsweep.model.care import Finding, Restored, RestoreRequest, Seal
from memsweep.model.columns import part
from memsweep.model.ids import WORKSPACE_RECEIPT
from memsweep.model.times import from_micros, micros_or_none, to_micros
from memsweep.model.workspace import Workspace
from memsweep.store import workspaces
from memsweep.store.copy_progress import CopyProgress
from memsweep.store.drafts import draft_of, sweep
from memsweep.store.file import commit_marker, content, foreign, health, rows_sql, schema
from memsweep.store.file.connect import (
    Pool,
    as_it_is,
    connected,
    exists,
    guard,
    immediate,
    one,
    plain_errors,
)
from memsweep.store.file.health import finding
from memsweep.store.file.meta import add_event
from memsweep.store.file.schema import WORKSPACE_MIGRATIONS
from memsweep.store.refusals import workspace_changed, workspace_occupied
from memsweep.store.sqlite import registry_sql, rescue, sql
from memsweep.store.sqlite.engine import write
from memsweep.store.sqlite.intents import MARK, REMOVE, Intents
from memsweep.store.sqlite.rescue import refusal
from memsweep.store.sqlite.rows import SqliteRows
from memsweep.store.things.registry import WORKSPACE, Intent, WorkspaceRow
from memsweep.store.workspaces import hidden, named, row_of


def install(registry: Pool, intents: Intents, folder: Path, source: Path, request: RestoreRequest) -> Restored:
    with _put_aside(registry, folder, request):
        pass  # refused before the work rather than after it
    target = folder / f"{secrets.token_hex(8)}.db"
    sweep(folder, "restore")  # which earlier versions called their drafts
    with intents.owner() as owner:
        with registry.writing() as db:
            intents.note(db, target.name, REMOVE, owner)
        try:
            with draft_of(target) as draft:
                seal = foreign.take_in(source, draft, target).seal
                _prepare(draft, target, source, seal, request)

            def note(db: apsw.Connection, old: str | None) -> None:
                for each in filter(None, (old, target.name)):
                    intents.note(db, each, MARK, owner)
                if old is not None:
                    names = request.workspace_id, request.receipt_id, request.actor
                    intents.note_event(db, old, workspaces.deleted(*names, request.now))

            old = _swap(registry, target, request, note)
        except BaseException:
            intents.take_back(target.name, owner)
            raise
        for each in filter(None, (old, target.name)):
            with contextlib.suppress(StoreError):  # it is done already; the next start takes the mark off as well
                intents.settle(each)
    return Restored(request.workspace_id, seal, request.receipt_id if old else None)


def _prepare(draft: Path, target: Path, source: Path, seal: Seal, request: RestoreRequest) -> None:
    """Make the rows of a backup those of a workspace, as deleted as it has to be until the registry knows it."""
    from memsweep.model.audit import AuditEvent  # late: whoever only reads has none

    counts = {"memories": seal.memories}
    with plain_errors(target), content.private(draft) as db, immediate(db):
        names = [("workspace", request.workspace_id), ("deleted_at", to_micros(request.now))]
        db.executemany(schema.SET_META, names)
        add_event(db, AuditEvent(request.now, request.actor, "restore", str(source), counts, seal.digest))


def _swap(
    registry: Pool, target: Path, request: RestoreRequest, note: Callable[[apsw.Connection, str | None], None]
) -> str | None:
    """Put the new file in the place of the old one, at once; the name of the old file. Both will be marked anew."""
    with plain_errors(target), connected(target, WORKSPACE_MIGRATIONS) as db:
        description, created_at = (one(db, schema.GET_META, (key,)) for key in ("description", "created_at"))
    aside = _put_aside(registry, target.parent, request, marked_at=to_micros(request.now))
    is_done = False
    try:
        with aside as old:
            with registry.writing() as db:
                found = SqliteRows(db).find(WorkspaceRow, *named(request.workspace_id))
                if [row.file for row in found] != [old] * bool(old):
                    raise workspace_changed(request.workspace_id)
                project = found[0].project if found else ""  # the new one takes the place of the old
                made = Workspace(request.workspace_id, description, from_micros(created_at or 0), project=project)
                gone = [(row, hidden(row, request.now, request.receipt_id)) for row in found]
                write(db, [*gone, (None, row_of(made, target.name))])
                note(db, old)
            is_done = True
    except StoreError:
        if not is_done:
            raise  # else only the old file could not be marked, and its intent has that done later
    return old


@contextmanager
def _put_aside(
    registry: Pool, folder: Path, request: RestoreRequest, marked_at: int | None = None
) -> Iterator[str | None]:
    """Hold the workspace that must make way, if there is one, so that nobody writes to it meanwhile."""
    with registry.connection() as db:
        old: str | None = one(db, registry_sql.FIND_WORKSPACE, (request.workspace_id,))
    if old is None:
        yield None
        return
    with plain_errors(folder / old), contextlib.ExitStack() as stack:
        held = _hold(folder / old, stack)
        # What cannot be read is not known to be empty.
        if not request.replace and (held is None or one(held, rows_sql.IS_OCCUPIED)):
            raise workspace_occupied(request.workspace_id)
        if held is not None and marked_at is not None:
            held.execute(schema.SET_META, ("deleted_at", marked_at))
        yield old


def _hold(path: Path, stack: contextlib.ExitStack) -> apsw.Connection | None:
    """Begin a write transaction that lasts as long as the stack; None if the file is missing or damaged."""
    if not path.exists():
        return None
    try:
        db = stack.enter_context(connected(path, WORKSPACE_MIGRATIONS))
        stack.enter_context(immediate(db))
    except (apsw.CorruptError, apsw.NotADBError, StoreError):
        return None
    return db


_LOOK_MILLISECONDS = 5000
_MOST_LETTERS = 63
_MORE_LOOKS = 2


class _Entry(NamedTuple):
    """An entry of the registry about a file."""

    name: str
    file: str
    deleted_at: datetime | None


part(_Entry, WORKSPACE)


class _Facts(NamedTuple):
    """The description that a file has of itself."""

    name: str
    description: str
    created_at: int
    deleted_at: int | None
    sealed: bool

    def agrees(self, entry: _Entry) -> bool:
        return self.name == entry.name and (self.deleted_at is None) == (entry.deleted_at is None)


class SqliteHomeKeeper:
    """Implements `memsweep.store.protocol.HomeKeeper`."""

    def __init__(self, registry: Callable[[], Pool], folder: Path, intents: Intents) -> None:
        self._registry = registry
        self._folder = folder
        self._intents = intents

    def examine(self) -> list[Finding]:
        """Return what is wrong at every look: others make, delete and restore workspaces meanwhile."""
        if not exists(self._folder):
            return []
        if damaged := rescue.damaged_rows(self._registry()):
            return finding("registry_value_damaged", damaged)
        self._intents.finish()
        seen = self._look_around()
        for _ in range(_MORE_LOOKS if seen else 0):
            again = set(self._look_around())
            seen = [each for each in seen if each in again]
        found: dict[str, list[str]] = {}
        for invariant, place in seen:
            found.setdefault(invariant, []).append(place)
        if lost := commit_marker.losses(self._registry().path):
            found["registry_writes_lost"] = [loss.said for loss in lost]
        return [each for invariant, places in found.items() for each in finding(invariant, places)]

    def _look_around(self) -> list[tuple[str, str]]:
        entries, pending = self._entries()
        found = []
        for entry in entries:
            if entry.file not in pending and (wrong := _what_is_wrong(entry, self._folder / entry.file)):
                found.append((wrong, f"{entry.name} ({entry.file})"))
        for file, facts in self._strangers(entries, pending):
            if facts is None or facts.sealed:
                found.append(("disk_refuses" if refusal(file) else "stranger", file.name))
            else:
                found.append(("workspace_lost", f"{facts.name} ({file.name})"))
        return found

    def repair(self, cure: str, found: Sequence[Finding], *, actor: str, now: datetime) -> list[str]:
        if cure == "registry_losses":
            return commit_marker.acknowledge(self._registry().path)
        if cure == "registry_values":
            return rescue.mend_registry(self._registry(), self._folder, to_micros(now))
        if cure == "salvage":
            note = functools.partial(health.note, cure=cure, found=found, actor=actor, now=now)
            return rescue.salvage_files(self._registry(), self._folder, note, to_micros(now))
        entries, pending = self._entries()
        if cure == "adopt":
            for file, facts in self._strangers(entries, pending):
                if facts and not facts.sealed:
                    self._adopt(file, facts, found, actor, now)
            return []
        for entry in entries:
            if _what_is_wrong(entry, self._folder / entry.file) == "file_disagrees":
                self._correct(entry.file, cure, found, actor, now)
        return []

    def _correct(self, file: str, cure: str, found: Sequence[Finding], actor: str, now: datetime) -> None:
        """Let a file say what the registry says of it now, unless somebody is at work on it."""
        with _writing(self._folder / file) as db:
            entries, pending = self._entries()
            for entry in entries:
                if entry.file == file and file not in pending:
                    said = (("workspace", entry.name), ("deleted_at", micros_or_none(entry.deleted_at)))
                    db.executemany(schema.SET_META, said)
                    health.note(db, cure, found, actor, now)

    def install(self, source: Path, request: RestoreRequest, progress: CopyProgress | None = None) -> Restored:
        restored = install(self._registry(), self._intents, self._folder, source, request)
        return dataclasses.replace(restored, notes=tuple(progress.notes) if progress else ())

    def _entries(self) -> tuple[list[_Entry], set[str]]:
        """Return the registry, and the files that somebody is at work on, at one moment."""
        with self._registry().reading() as db:
            return SqliteRows(db).find(_Entry), self._intents.pending(db)

    def _strangers(self, entries: Iterable[_Entry], pending: set[str]) -> Iterator[tuple[Path, _Facts | None]]:
        """Files that the registry does not know. An empty one is what is left where making it was cut short.

        A process that dies while it makes or removes a file leaves an intent, so whatever else has content was known
        to the registry once.
        """
        known = {entry.file for entry in entries} | pending
        for file in sorted(self._folder.glob("*.db")):
            if file.name not in known and _has_content(file):
                yield file, _look(file)

    def _adopt(self, file: Path, facts: _Facts, found: Sequence[Finding], actor: str, now: datetime) -> None:
        """Give a lost workspace its name again, or one like it if that is taken; what was deleted stays so."""
        with self._registry().writing() as db:
            rows = SqliteRows(db)
            known = [*rows.find(_Entry, ("file", "=", file.name)), *rows.find(Intent, ("file", "=", file.name))]
            if known or not _has_content(file):
                return  # it has been made, or has gone, since it was looked at
            name = next(name for name in _names_like(facts.name) if not rows.find(_Entry, *named(name)))
            row = row_of(Workspace(name, facts.description, from_micros(facts.created_at)), file.name)
            if facts.deleted_at is not None:
                row = hidden(row, from_micros(facts.deleted_at), new_id(WORKSPACE_RECEIPT))
            write(db, [(None, row)])
        with _writing(file) as db:
            db.execute(schema.SET_META, ("workspace", name))
            health.note(db, "adopt", found, actor, now)


def _has_content(file: Path) -> bool:
    try:
        return file.stat().st_size > 0
    except OSError:
        return False


@contextlib.contextmanager
def _writing(path: Path) -> Iterator[apsw.Connection]:
    with plain_errors(path), connected(path, WORKSPACE_MIGRATIONS) as db, immediate(db):
        yield db


def _what_is_wrong(entry: _Entry, path: Path) -> str:
    """Return the invariant that an entry of the registry breaks; of a deleted one, the file may be gone."""
    if not exists(path):
        return "" if entry.deleted_at else "file_missing"
    facts = _look(path)
    if facts is None:
        return "" if entry.deleted_at else "disk_refuses" if refusal(path) else "file_unreadable"
    return "" if facts.agrees(entry) else "file_disagrees"


def _look(path: Path) -> _Facts | None:
    """Ask a file who it is, without changing it; None if it does not know."""
    with contextlib.suppress(apsw.Error, OSError):
        if path.stat().st_size == 0:
            return None
        with as_it_is(path) as db:
            db.set_busy_timeout(_LOOK_MILLISECONDS)
            guard(db)
            commit_marker.notice(db, path)  # closing it may empty a damaged log
            one(db, sql.COUNT_MEMORIES)  # a file without this table is no workspace
            return _Facts(
                name=_said(db, "workspace", str, "lost"),
                description=_said(db, "description", str, ""),
                created_at=_said(db, "created_at", int, 0),
                deleted_at=_said(db, "deleted_at", int, None),
                sealed=bool(one(db, rows_sql.IS_SEALED)),
            )
    return None


def _said(db: apsw.Connection, key: str, kind: type, otherwise: Any) -> Any:
    """Return a value that a file says of itself; a damaged one counts as none."""
    try:
        found = one(db, schema.GET_META, (key,))
    except UnicodeDecodeError:
        return otherwise
    return found if type(found) is kind else otherwise


def _names_like(name: str) -> Iterator[str]:
    yield name
    for number in count(2):
        end = f"-{number}"
        yield name[: _MOST_LETTERS - len(end)] + end
