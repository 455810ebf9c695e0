"""A backup becomes a workspace.

The new file is marked as deleted until the registry knows it. So a crash in between leaves a file that
nobody takes for a workspace, and never half of one.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from memsweep.errors import StoreError
from memsweep.model.audit import AuditEvent
from memsweep.model.care import Restored, RestoreRequest, Seal
from memsweep.model.times import to_micros
from memsweep.store import workspace_events
from memsweep.store.drafts import draft_of, sweep
from memsweep.store.file import copy_sql, foreign, meta_sql, sealing
from memsweep.store.file.connect import Pool, connected, immediate, one, plain_errors
from memsweep.store.file.meta import add_event
from memsweep.store.file.schema import WORKSPACE_MIGRATIONS
from memsweep.store.refusals import workspace_changed, workspace_occupied
from memsweep.store.sqlite import registry_sql
from memsweep.store.sqlite.intents import MARK, REMOVE, Intents


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
                    intents.note_event(db, old, workspace_events.deleted(*names, request.now))

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
    counts = {"memories": seal.memories}
    with plain_errors(target), sealing.private(draft) as db, immediate(db):
        names = [("workspace", request.workspace_id), ("deleted_at", to_micros(request.now))]
        db.executemany(meta_sql.SET_META, names)
        add_event(db, AuditEvent(request.now, request.actor, "restore", str(source), counts, seal.digest))


def _swap(
    registry: Pool, target: Path, request: RestoreRequest, note: Callable[[apsw.Connection, str | None], None]
) -> str | None:
    """Put the new file in the place of the old one, at once; the name of the old file. Both will be marked anew."""
    workspace_id, now = request.workspace_id, to_micros(request.now)
    with plain_errors(target), connected(target, WORKSPACE_MIGRATIONS) as db:
        description, created_at = (one(db, meta_sql.GET_META, (key,)) for key in ("description", "created_at"))
    aside = _put_aside(registry, target.parent, request, marked_at=now)
    is_done = False
    try:
        with aside as old:
            with registry.writing() as db:
                if one(db, registry_sql.FIND_WORKSPACE, (workspace_id,)) != old:
                    raise workspace_changed(workspace_id)
                # The new one takes the place of the old.
                project = one(db, registry_sql.OWNER_OF, (workspace_id,)) or ""
                if old is not None:
                    db.execute(registry_sql.HIDE_WORKSPACE, (now, request.receipt_id, workspace_id))
                db.execute(registry_sql.ADD_WORKSPACE, (workspace_id, target.name, description, created_at, project))
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
        if not request.replace and (held is None or one(held, copy_sql.IS_OCCUPIED)):
            raise workspace_occupied(request.workspace_id)
        if held is not None and marked_at is not None:
            held.execute(meta_sql.SET_META, ("deleted_at", marked_at))
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
