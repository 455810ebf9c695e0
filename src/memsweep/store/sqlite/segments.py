"""Context windows in a workspace file. An open window is one transaction; leaving it commits or rolls back."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import apsw

from memsweep.errors import BadInput
from memsweep.model.origin import UNKNOWN, Origin, stored_origin
from memsweep.model.segment import ContextSegment, Generation
from memsweep.model.stored import expect, expect_or_null, mapping, texts, to_json
from memsweep.model.times import to_micros
from memsweep.model.window import Held, WindowRow, WindowState
from memsweep.store.file import meta_sql
from memsweep.store.file.connect import Pool, one, row
from memsweep.store.file.words import any_of, words_of
from memsweep.store.forgotten import tombstoned
from memsweep.store.plans import CONTEXT
from memsweep.store.ports.segments import Summary
from memsweep.store.ports.windows import OriginOf
from memsweep.store.receipts import Plans
from memsweep.store.refusals import unknown_window
from memsweep.store.segment_values import receipt_values, state_values, stored_segment, strategy_of, values_of
from memsweep.store.sqlite import context_sql, gc_sql
from memsweep.store.sqlite.items import SqliteItems
from memsweep.store.sqlite.origins import origin_key
from memsweep.store.sqlite.rows import SqliteRows, as_list

_MAX_QUERY_WORDS = 32


class SqliteSegments:
    """Implements `memsweep.store.ports.windows.Segments`."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    def windows(self) -> list[WindowRow]:
        with self._pool.reading() as db:
            return [WindowRow(*found) for found in db.execute(context_sql.WINDOWS)]

    @contextmanager
    def reading(self, project_id: str) -> Iterator[SqliteWindow]:
        with self._pool.reading() as db:
            yield SqliteWindow(db, project_id)

    @contextmanager
    def writing(
        self, project_id: str, *, create_at: datetime | None = None, origin: Origin = UNKNOWN
    ) -> Iterator[SqliteWindow]:
        with self._pool.writing() as db:
            if create_at is not None:
                db.execute(context_sql.ADD_PROJECT, (project_id, to_micros(create_at)))
            window = SqliteWindow(db, project_id, origin)
            yield window
            window.save()


class SqliteWindow:
    """Implements `memsweep.store.ports.windows.OpenWindow`."""

    def __init__(self, db: apsw.Connection, project_id: str, origin: Origin = UNKNOWN) -> None:
        found = row(db, context_sql.FIND_PROJECT, (project_id,))
        if found is None:
            raise unknown_window(project_id, (name for (name,) in db.execute(context_sql.PROJECTS)))
        self.project_id = project_id
        self._db, self._origin = db, origin
        self.items, self.plans = SqliteItems(db), Plans(SqliteRows(db))
        self._turns: int
        self._key, tokens, segments, stashed, changes, full_from, counted_by, config, focus, *clocks = found
        self._places, self._turns = clocks
        self.state = WindowState(
            tokens, segments, stashed, changes, full_from, counted_by, mapping(config), mapping(focus)
        )

    def save(self) -> None:
        clocks = {"id": self._key, "places": self._places, "turns": self._turns}
        self._db.execute(context_sql.SAVE_PROJECT, {**state_values(self.state), **clocks})

    def active(self) -> list[Held]:
        return self._held(context_sql.ACTIVE)

    def live(self) -> list[Held]:
        return self._held(context_sql.LIVE)

    def find(self, segment_ids: Iterable[str]) -> dict[str, Held]:
        found = self._held(context_sql.BY_ID, ids=json.dumps(list(segment_ids)))
        return {held.segment.segment_id: held for held in found}

    def origins(self, segment_ids: Iterable[str]) -> dict[str, Origin]:
        values = {"project": self._key, "ids": json.dumps(list(segment_ids))}
        rows: list[Any] = self._db.execute(context_sql.ORIGINS, values).fetchall()
        return {uid: stored_origin(*said) for uid, *said in rows}

    def ever_known(self, segment_ids: Iterable[str]) -> set[str]:
        values = {"project": self._key, "ids": json.dumps(list(segment_ids))}
        return {uid for (uid,) in self._db.execute(context_sql.EVER_KNOWN, values)}

    def tombstoned(self, texts: Sequence[str]) -> set[str]:
        return tombstoned(SqliteRows(self._db), texts)

    def next_to_examine(self, count: int, generation: Generation) -> list[Held]:
        found = self._held(context_sql.NEXT_TO_EXAMINE, count=count, generation=generation)
        self._db.executemany(context_sql.SET_TURN, [(self._turn(), held.key) for held in found])
        return found

    def of_files(self, paths: Iterable[str]) -> list[Held]:
        return self._held(context_sql.OF_FILES, paths=json.dumps(list(paths)))

    def last_messages(self, count: int) -> set[str]:
        values = {"project": self._key, "count": count}
        return {uid for (uid,) in self._db.execute(context_sql.LAST_MESSAGES, values)}

    def referenced(self, segment_ids: Iterable[str]) -> set[str]:
        values = {"project": self._key, "ids": json.dumps(list(segment_ids))}
        return {uid for (uid,) in self._db.execute(context_sql.REFERENCED, values)}

    def matches(self, query: str, count: int) -> dict[int, float]:
        words = words_of(query)[:_MAX_QUERY_WORDS]
        if not words:
            return {}
        values = {"project": self._key, "words": any_of(words), "count": count}
        rows: list[Any] = self._db.execute(context_sql.MATCHES, values).fetchall()
        return {place: max(score, 1e-9) for place, score in rows}

    def stashed_at(self, places: Iterable[int]) -> dict[int, Held]:
        return {held.place: held for held in self._held(context_sql.AT_PLACES, places=json.dumps(list(places)))}

    def stashed(self, before: int | None, limit: int) -> list[Held]:
        return self._held(context_sql.STASHED, before=self._places if before is None else before, limit=limit)

    def add(self, segments: Iterable[ContextSegment], origin_of: OriginOf | None = None) -> None:
        for segment in segments:
            origin = origin_key(self._db, origin_of(segment) if origin_of else self._origin)
            place = {"project": self._key, "place": self._places, "turn": self._turn(), "origin": origin}
            values = {**place, **_values(segment)}
            key = one(self._db, context_sql.ADD_SEGMENT, values)
            self._db.execute(context_sql.INDEX_TEXT, (key,))
            links = [(self._key, target, key) for target in segment.references]
            self._db.executemany(context_sql.ADD_LINK, links)
            self._touch(segment.references, segment.created_at)
            self._places += 1
            self.state.count_added(segment)

    def _touch(self, segment_ids: Iterable[str], at: datetime) -> None:
        values = {"project": self._key, "at": to_micros(at)}
        self._db.executemany(context_sql.TOUCH, [{**values, "uid": own} for own in segment_ids])

    def age(self, survivors: Iterable[tuple[int, ContextSegment]]) -> None:
        rows = ((segment.gc_survival_count, segment.generation, key) for key, segment in survivors)
        self._db.executemany(context_sql.SET_AGE, rows)

    def pin(self, held: Iterable[Held], pinned: bool) -> None:
        self._db.executemany(context_sql.SET_PINNED, [(pinned, each.key) for each in held])

    def stash(self, held: Sequence[Held], receipt: int) -> None:
        self._db.executemany(context_sql.STASH, [(receipt, each.key) for each in held])
        self.state.count_stashed(held)

    def restore(self, held: Sequence[Held]) -> None:
        self._db.executemany(context_sql.RESTORE, [(self._turn(), each.key) for each in held])
        self.state.count_restored(held)

    def trash(self, held: Sequence[Held], receipt: int) -> None:
        # The words leave the full-text index before the row leaves the view, with their exact text.
        self._db.executemany(context_sql.UNINDEX_TEXT, [(each.key,) for each in held])
        self._db.executemany(context_sql.TRASH, [(receipt, each.key) for each in held])
        self.state.count_trashed(held)

    def add_receipt(self, receipt_id: str, plan_id: str | None, action: str, actor: str, now: datetime) -> int:
        values = (receipt_id, plan_id, action, strategy_of(self.project_id), actor, to_micros(now))
        key: int = one(self._db, gc_sql.ADD_RECEIPT, values)
        return key

    def fill_receipt(self, receipt: int, stashed: int, deleted: int, refused: Iterable[tuple[str, str]]) -> None:
        values = receipt_values(stashed, deleted, refused)
        self._db.execute(gc_sql.FILL_RECEIPT, (values["counts"], values["skipped"], receipt))

    def audit(self, action: str, subject: str, counts: dict[str, int], reason: str, actor: str, now: datetime) -> None:
        self._db.execute(meta_sql.ADD_AUDIT, (to_micros(now), actor, action, subject, to_json(counts), reason))

    def _held(self, statement: str, **values: Any) -> list[Held]:
        return [_row(found) for found in self._db.execute(statement, {"project": self._key, **values})]

    def _turn(self) -> int:
        self._turns += 1
        return self._turns


class SqliteSegmentRows:
    """Implements `memsweep.store.ports.segments.SegmentRows`."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db

    def unpinned(self) -> list[tuple[int, int]]:
        return list(self._db.execute(context_sql.UNPINNED))

    def trash(self, segments: Sequence[tuple[int, int]], receipt: int) -> None:
        keys = json.dumps([key for key, _ in segments])
        self._db.execute(context_sql.UNINDEX_THESE, {"keys": keys})
        self._db.execute(context_sql.TRASH_THESE, {"keys": keys, "receipt": receipt})
        self._db.executemany(context_sql.RECOUNT, [(project,) for project in {project for _, project in segments}])

    def clashing(self, receipt: int) -> dict[int, str]:
        return dict(self._db.execute(context_sql.CLASHING, (receipt,)))

    def stashed_by(self, receipt: int) -> set[str]:
        return {uid for (uid,) in self._db.execute(context_sql.STASHED_BY, (receipt,))}

    def taken_since(self, receipt: int) -> list[str]:
        asked = {"receipt": receipt, "context": CONTEXT}
        return [uid for (uid,) in self._db.execute(context_sql.TAKEN_SINCE, asked)]

    def summaries(self, receipt: int) -> list[Summary]:
        rows: list[Any] = self._db.execute(context_sql.SUMMARIES, {"receipt": receipt, "context": CONTEXT}).fetchall()
        return [Summary(key, window, uid, bool(pinned), texts(refs)) for key, window, uid, pinned, refs in rows]

    def put_back(self, receipt: int, but: Collection[int]) -> int:
        touched: list[Any] = self._db.execute(context_sql.TOUCHED_PROJECTS, {"receipt": receipt}).fetchall()
        back: list[Any] = self._db.execute(context_sql.UNTRASH, (receipt, as_list(but))).fetchall()
        self._db.executemany(context_sql.INDEX_TEXT, sorted(back))
        unstashed = self._db.execute(context_sql.UNSTASH, (receipt,)).fetchall()
        self._db.executemany(context_sql.RECOUNT, touched)
        return len(back) + len(unstashed)

    def held_by(self, receipts: Collection[int]) -> set[int]:
        return {key for (key,) in self._db.execute(context_sql.HELD_BY, (as_list(receipts),))}

    def free(self, receipts: Collection[int]) -> int:
        listed = (as_list(receipts),)
        self._db.execute(context_sql.FREE_LINKS, listed)
        self._db.execute(context_sql.FREE_SEGMENTS, listed)
        freed = int(self._db.changes())
        if freed:
            self._db.execute(context_sql.MERGE_WORDS)
        return freed


def _values(segment: ContextSegment) -> dict[str, Any]:
    lists = {"tags": to_json(segment.tags), "refs": to_json(segment.references)}
    return {"uid": segment.segment_id, **values_of(segment), **lists}


def _row(found: Any) -> Held:
    try:
        return _held(found)
    except BadInput as error:  # nobody's input: it was accepted once
        raise ValueError(str(error)) from error


def _held(found: Any) -> Held:
    _, version, place, _, uid, kind, _, _, _, generation, survived, refcount, *rest = found
    path, first, last, _, topic, tokens, role, task, _, text = rest
    expect(str, uid, kind, generation, text)
    expect(int, version, place, survived, refcount, tokens)
    expect_or_null(str, path, topic, role, task)
    expect_or_null(int, first, last)
    return stored_segment(found, texts)
