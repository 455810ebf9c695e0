"""Context windows: once, over the rows of any engine. An open window is one transaction: all of it or nothing.

Segments are read when they are asked for and changed in memory: what a step reads is what it has already done. Only
what changed is written. A step costs the same in a window of any size, for segments are found by their ids, places
and turns, a few at a time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from memsweep.errors import BadInput
from memsweep.model.columns import part
from memsweep.model.origin import UNKNOWN, Origin, stored_origin
from memsweep.model.segment import ContextSegment, Generation
from memsweep.model.text import expect, expect_or_null
from memsweep.model.times import from_micros, to_micros
from memsweep.model.window import StoredSegment, WindowRow, WindowState
from memsweep.store.journals import Origins, asked_for
from memsweep.store.plans import CONTEXT, Reads
from memsweep.store.refusals import unknown_window
from memsweep.store.rows import Find, Rows, Values, Where
from memsweep.store.texts import tombstoned
from memsweep.store.things.collected import AuditRow, SavedReceipt
from memsweep.store.things.memories import OriginRow
from memsweep.store.things.windows import PROJECT, SEGMENT, SEGMENT_LINK, SegmentLink, SegmentRow, WindowHead

if TYPE_CHECKING:
    from memsweep.store.changes import WorkspaceReads
    from memsweep.store.protocol import Store

OriginOf = Callable[[ContextSegment], Origin]
_STATE = ("tokens", "segments", "stashed", "changes", "full_from", "counted_by", "config", "focus")
_CLOCKS = ("places", "turns", "next_young", "next_old")
_ACTIVE: Where = ("stash", "null", None)
_LEAST_WIDTH = 64
_WIDER = 4
_LONGEST_INDEXED = 500


class Referrer(NamedTuple):
    id: str
    refs: tuple[str, ...]


class LinkSource(NamedTuple):
    source: int


class WindowCounts(NamedTuple):
    key: int
    tokens: int
    segments: int
    stashed: int
    next_young: int
    next_old: int


class SummarySegment(NamedTuple):
    """A live segment that stands for others."""

    key: int
    project: int
    id: str
    pinned: bool
    refs: tuple[str, ...]


part(Referrer, SEGMENT)
part(SummarySegment, SEGMENT)
part(LinkSource, SEGMENT_LINK)
part(WindowCounts, PROJECT)


class Windows:
    """The context windows of a workspace."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def windows(self) -> list[WindowRow]:
        """Return the windows with segments, active or stashed, by name."""
        with self._store.reading() as reads:
            (found,) = reads.rows.ask(Values(WindowHead, ("id", "tokens", "segments", "stashed", "counted_by")))
        rows = (WindowRow(*each) for each in found)
        return sorted(row for row in rows if row.segments + row.stashed > 0)

    @contextmanager
    def reading(self, window_id: str) -> Iterator[OpenWindow]:
        """Open a window as it is at one moment, or raise `NotFound`."""
        with self._store.reading() as reads:
            yield OpenWindow(reads, _head(reads.rows, _named(window_id)))

    @contextmanager
    def writing(
        self, window_id: str, *, create_at: datetime | None = None, origin: Origin = UNKNOWN
    ) -> Iterator[OpenWindow]:
        """Open a window to change, or raise `NotFound` unless it may be made; what is added comes from `origin`."""
        wanted = _named(window_id)
        with self._store.changing(ahead=(wanted, *asked_for(origin))) as tx:
            window = OpenWindow(tx, _head(tx.rows, wanted, create_at), origin)
            yield window
            window.save()


def _named(window_id: str) -> Find:
    return Find(WindowHead, (("id", "=", window_id),), order=())


def _head(rows: Rows, wanted: Find, create_at: datetime | None = None) -> WindowHead:
    (found,) = rows.ask(wanted)
    if found:
        return found[0]  # type: ignore[no-any-return]
    ((_, _, window_id),) = wanted.where
    if create_at is None:
        (known,) = rows.ask(Values(WindowHead, ("id",)))
        raise unknown_window(window_id, sorted(name for (name,) in known))
    head = WindowHead(window_id, to_micros(create_at), {}, {})
    return head._replace(key=rows.add([head])[0])


class OpenWindow(Reads):
    """One context window inside a transaction. Lists are in session order; the state is saved at the end."""

    def __init__(self, reads: WorkspaceReads, head: WindowHead, origin: Origin = UNKNOWN) -> None:
        self.project_id, self._key = head.id, head.key
        self.items, self.plans = reads.items, reads.plans
        self.state = WindowState(*(getattr(head, name) for name in _STATE))
        self._reads, self._origin = reads, origin
        self._origins = Origins(reads.rows)
        self._clocks = {name: getattr(head, name) or 0 for name in _CLOCKS}
        self._stored_places, self._stored_turns = head.places, head.turns
        self._segments = LoadedSegments(reads.rows, head.key, is_whole=head.places == 0)

    def save(self) -> None:
        """Write what has changed."""
        # What is made comes first: a graph takes long to set something on a node when others are new.
        self._segments.save_new()
        said = [*(getattr(self.state, name) for name in _STATE), *self._clocks.values()]
        self._reads.rows.change(WindowHead, (*_STATE, *_CLOCKS), {self._key: said})
        self._segments.save_changed()

    def active(self) -> list[StoredSegment]:
        return self._segments.active()

    def live(self) -> list[StoredSegment]:
        """Return all active and stashed segments."""
        return self._segments.live()

    def find(self, segment_ids: Iterable[str]) -> dict[str, StoredSegment]:
        """Return the active and stashed segments of these ids."""
        return self._segments.find(segment_ids)

    def origins(self, segment_ids: Iterable[str]) -> dict[str, Origin]:
        """Return where the active and stashed segments of these ids came from."""
        keys = {row.id: row.origin for row in self._segments.named({*segment_ids})}
        found = self._reads.rows.find(OriginRow, ("key", "in", {key for key in keys.values() if key is not None}))
        known = {key: stored_origin(*said) for *said, key in found}
        return {uid: known.get(key, UNKNOWN) if key is not None else UNKNOWN for uid, key in keys.items()}

    def ever_known(self, segment_ids: Iterable[str]) -> set[str]:
        """Return the ids of these that are active, stashed or in the trash."""
        return self._segments.ever_known({*segment_ids})

    def tombstoned(self, texts: Sequence[str]) -> set[str]:
        """Return the texts of these that were forgotten for good and may not be learned again."""
        return tombstoned(self._reads.rows, texts)

    def next_to_examine(self, count: int, generation: Generation) -> list[StoredSegment]:
        """Return active segments of a generation in turn, so that small steps come round to everything."""
        first, last, clock = self._clocks[f"next_{generation}"], self._stored_turns, f"next_{generation}"
        found = self._segments.in_turn(count, generation, first, last)
        full = len(found) == count > 0
        self._clocks[clock] = self._segments.rows[found[-1].key].turn + 1 if full else max(first, last + 1)
        for held in found:
            self._segments.put(held.key, turn=self._turn())
        return found

    def of_files(self, paths: Iterable[str]) -> list[StoredSegment]:
        """Return the active segments that hold these files or parts of them."""
        return self._segments.of_files(paths)

    def last_messages(self, count: int) -> set[str]:
        """Return the ids of the last active messages."""
        return self._segments.last_messages(count, self._stored_places) if count else set()

    def referenced(self, segment_ids: Iterable[str]) -> set[str]:
        """Return the ids of these that another active segment refers to."""
        return self._segments.referenced(segment_ids)

    def matches(self, query: str, count: int) -> dict[int, float]:
        """Return the places of the stashed segments that match best, with their scores."""
        return self._reads.matches(self._key, query, count)

    def stashed_at(self, places: Iterable[int]) -> dict[int, StoredSegment]:
        return {held.place: held for held in self._segments.at_places(places) if held.stashed}

    def stashed(self, before: int | None, limit: int) -> list[StoredSegment]:
        """Return the stash, from the last place (or from that before one) to the first."""
        return self._segments.stashed(self._clocks["places"] if before is None else before, limit)

    def add(self, segments: Iterable[ContextSegment], origin_of: OriginOf | None = None) -> None:
        """Add segments, each with the origin of the window or its own."""
        new = list(segments)
        self._segments.named({target for segment in new for target in segment.references})  # all at once
        for segment in new:
            origin = self._origins.key_of(origin_of(segment) if origin_of else self._origin)
            self._segments.add(_row(segment, self._key, self._clocks["places"], self._turn(), origin))
            self._clocks["places"] += 1
            self.state.count_added(segment)
            self._touch(segment)

    def _touch(self, segment: ContextSegment) -> None:
        """Note that what a new segment refers to has been used again."""
        at = to_micros(segment.created_at)
        for row in self._segments.named({*segment.references}):
            if row.stash is None and row.last_touched_at < at:
                self._segments.put(row.key, is_change=True, last_touched_at=at)

    def age(self, survivors: Iterable[tuple[int, ContextSegment]]) -> None:
        """Set generation and survival count, by key."""
        for key, segment in survivors:
            # It may have grown old with a turn that the old have behind them.
            clock, turn = f"next_{segment.generation}", self._segments.rows[key].turn
            self._clocks[clock] = min(self._clocks[clock], turn)
            self._segments.put(key, gc_survival_count=segment.gc_survival_count, generation=segment.generation)

    def pin(self, held: Iterable[StoredSegment], pinned: bool) -> None:
        for each in held:
            self._segments.put(each.key, is_change=True, pinned=pinned)

    def stash(self, held: Sequence[StoredSegment], receipt: int) -> None:
        for each in held:
            self._segments.put(each.key, is_change=True, stash=receipt)
        self.state.count_stashed(held)

    def restore(self, held: Sequence[StoredSegment]) -> None:
        for each in held:
            self._segments.put(each.key, is_change=True, stash=None, turn=self._turn())
        self.state.count_restored(held)

    def trash(self, held: Sequence[StoredSegment], receipt: int) -> None:
        for each in held:
            self._segments.trash(each.key, receipt)
        self.state.count_trashed(held)

    def add_receipt(
        self,
        receipt_id: str,
        actor: str,
        now: datetime,
        *,
        plan_id: str | None,
        counts: Mapping[str, int],
        refused: Iterable[tuple[str, str]],
    ) -> int:
        """Add a receipt of what leaves the window; return its key."""
        said = (receipt_id, plan_id, "context", f"{CONTEXT}{self.project_id}", actor, now, counts)
        return self._reads.rows.add([SavedReceipt(*said, [list(each) for each in refused])])[0]

    def audit(self, action: str, subject: str, counts: dict[str, int], reason: str, actor: str, now: datetime) -> None:
        self._reads.rows.add([AuditRow(to_micros(now), actor, action, subject, counts, reason)])

    def _turn(self) -> int:
        self._clocks["turns"] += 1
        return int(self._clocks["turns"])


class LoadedSegments:
    """The live segments of a window, as far as they were read or added, as this transaction has left them.

    One that is new has a number below zero until it is saved.
    """

    def __init__(self, rows: Rows, window: int, *, is_whole: bool) -> None:
        self._stored, self._window = rows, window
        self._is_whole = self._has_active = is_whole
        self._keys: dict[str, int] = {}
        self._asked_for: set[str] = set()
        self._held: dict[int, StoredSegment] = {}
        self._trashed: dict[int, SegmentRow] = {}
        self._changed: dict[int, set[str]] = {}
        self._added: list[int] = []
        self.rows: dict[int, SegmentRow] = {}

    def add(self, row: SegmentRow) -> None:
        key = -len(self._added) - 1
        self._added.append(key)
        self._keep(row._replace(key=key))

    def put(self, key: int, *, is_change: bool = False, **values: Any) -> None:
        """Set columns. What the collector counts about a segment is no change of it: its version stays."""
        row = self.rows[key]
        self._keep(row._replace(version=row.version + is_change, **values))
        self._changed.setdefault(key, set()).update(values)

    def trash(self, key: int, receipt: int) -> None:
        row = self.rows.pop(key)
        self._keys.pop(row.id, None)
        self._trashed[key] = row._replace(trash=receipt)

    def save_new(self) -> None:
        new = [self.rows.get(key) or self._trashed[key] for key in self._added]
        keys = self._stored.add(new)
        links = [
            SegmentLink(self._window, target, key)
            for key, row in zip(keys, new, strict=True)
            for target in dict.fromkeys(row.refs)
        ]
        self._stored.add(links)

    def save_changed(self) -> None:
        """Write all of a kind at once."""
        alike: dict[tuple[str, ...], dict[int, list[Any]]] = defaultdict(dict)
        for key, columns in self._changed.items():
            if key > 0:
                names, row = (*sorted(columns), "version"), self.rows.get(key) or self._trashed[key]
                alike[names][key] = [getattr(row, name) for name in names]
        for names, values in alike.items():
            self._stored.change(SegmentRow, names, values, bin="live")
        self._stored.move(SegmentRow, {key: row.trash for key, row in self._trashed.items() if key > 0})

    def active(self) -> list[StoredSegment]:
        if not self._has_active:
            self._take(_ACTIVE)
            self._has_active = True
        return self._in_order(row for row in self.rows.values() if row.stash is None)

    def live(self) -> list[StoredSegment]:
        if not self._is_whole:
            self._take()
            self._is_whole = self._has_active = True
        return self._in_order(self.rows.values())

    def find(self, segment_ids: Iterable[str]) -> dict[str, StoredSegment]:
        return {held.segment.segment_id: held for held in self._in_order(self.named({*segment_ids}))}

    def named(self, wanted: set[str]) -> list[SegmentRow]:
        left = wanted - self._asked_for - self._keys.keys()
        if not self._is_whole and left:
            self._take(("id", "in", left))
            self._asked_for.update(left)
        return [self.rows[self._keys[uid]] for uid in wanted if uid in self._keys]

    def ever_known(self, wanted: set[str]) -> set[str]:
        where: tuple[Where, ...] = (("project", "=", self._window), ("id", "in", wanted))
        (stored,) = self._stored.ask(Values(SegmentRow, ("id",), where, "any", distinct=True))
        return {uid for (uid,) in stored} | (wanted & self._keys.keys())

    def in_turn(self, count: int, generation: Generation, first: int, last: int) -> list[StoredSegment]:
        """Return the active segments of a generation in turn; none that was stored is outside of `first` to `last`."""
        at, width, found = first, max(_LEAST_WIDTH, _WIDER * count), 0
        while not self._has_active and at <= last and found < count:
            until = min(at + width, last + 1)
            within: tuple[Where, ...] = (("turn", "within", range(at, until)), _ACTIVE, ("generation", "=", generation))
            rows = self._take(*within, order=("turn",), limit=count)
            found += sum(self.rows.get(row.key) == row for row in rows)
            at = rows[-1].turn + 1 if len(rows) == count else until
            width *= _WIDER
        waiting = [row for row in self.rows.values() if row.stash is None and row.generation == generation]
        return [self._held_of(row) for row in sorted(waiting, key=attrgetter("turn"))[:count]]

    def of_files(self, paths: Iterable[str]) -> list[StoredSegment]:
        wanted = set(paths)
        if not all(map(_is_found_by_index, wanted)):
            self.active()
        elif not self._has_active and wanted:
            self._take(("file_path", "in", wanted), _ACTIVE)
        return self._in_order(row for row in self.rows.values() if row.file_path in wanted and row.stash is None)

    def last_messages(self, count: int, places: int) -> set[str]:
        """Return the ids of the last active messages; stored ones are at places below this."""
        active = (row for row in self.rows.values() if row.type == "message" and row.stash is None)
        found = {row.place: row.id for row in active}
        others: dict[int, str] = {}
        at, width = places, max(_LEAST_WIDTH, _WIDER * count)
        while not self._has_active and at > 0 and len(others) < count:
            first = max(0, at - width)
            at_end: tuple[Where, ...] = (("project", "=", self._window), ("place", "within", range(first, at)))
            where = (*at_end, _ACTIVE, ("type", "=", "message"))
            (rows,) = self._stored.ask(Values(SegmentRow, ("key", "place", "id"), where))
            others |= {place: uid for key, place, uid in rows if key not in self.rows and key not in self._trashed}
            at, width = first, width * _WIDER
        return {uid for _, uid in sorted([*found.items(), *others.items()], reverse=True)[:count]}

    def referenced(self, segment_ids: Iterable[str]) -> set[str]:
        wanted = set(segment_ids)
        active = [(row.id, row.refs) for row in self.rows.values() if row.stash is None]
        if not self._has_active and wanted:
            where: tuple[Where, ...] = (("project", "=", self._window), ("target", "in", wanted))
            (links,) = self._stored.ask(Find(LinkSource, where, order=()))
            sources = {each.source for each in links} - self.rows.keys() - self._trashed.keys()
            active += self._stored.ask(Find(Referrer, (("key", "in", sources), _ACTIVE), order=()))[0]
        return {target for own, refs in active for target in refs if target != own} & wanted

    def at_places(self, places: Iterable[int]) -> list[StoredSegment]:
        wanted = set(places)
        if not self._is_whole:
            self._take(("place", "in", wanted))
        return self._in_order(row for row in self.rows.values() if row.place in wanted)

    def stashed(self, before: int, limit: int) -> list[StoredSegment]:
        """Return the stash before a place, the last first."""
        if not self._is_whole:
            # Segments that have left it in this transaction take no room away from others.
            room = limit + len(self.rows) + len(self._trashed)
            where: tuple[Where, ...] = (("stash", "known", None), ("place", "<", before))
            self._take(*where, order=("place",), newest=True, limit=room)
        stashed = [row for row in self.rows.values() if row.stash is not None and row.place < before]
        return self._in_order(sorted(stashed, key=attrgetter("place"))[-limit:])[::-1]

    def _in_order(self, rows: Iterable[SegmentRow]) -> list[StoredSegment]:
        return [self._held_of(row) for row in sorted(rows, key=attrgetter("place"))]

    def _held_of(self, row: SegmentRow) -> StoredSegment:
        if row.key not in self._held:
            self._held[row.key] = _held(row)
        return self._held[row.key]

    def _keep(self, row: SegmentRow) -> None:
        self.rows[row.key] = row
        self._keys[row.id] = row.key
        self._held.pop(row.key, None)

    def _take(self, *where: Where, order: tuple[str, ...] = (), **more: Any) -> list[SegmentRow]:
        """Read stored segments and return them; one that was changed or has gone already stays so."""
        (found,) = self._stored.ask(Find(SegmentRow, (("project", "=", self._window), *where), order=order, **more))
        fresh = {row.key: row for row in found if row.key not in self.rows and row.key not in self._trashed}
        self.rows |= fresh
        self._keys |= {row.id: key for key, row in fresh.items()}
        return found


def _is_found_by_index(path: str) -> bool:
    """Return whether indexes of a graph see a text: without white space at the ends, and not long."""
    return 0 < len(path.encode("utf-8", "replace")) <= _LONGEST_INDEXED and path == path.strip()


_SAME = ("text", "type", "pinned", "generation", "gc_survival_count", "refcount", "file_path", "tags", "topic_id",
         "tokens", "role", "task_id")  # fmt: skip
"""The columns that are fields of a segment as they are."""


def _row(segment: ContextSegment, window: int, place: int, turn: int, origin: int | None) -> SegmentRow:
    """Return the row of a new segment."""
    first, last = segment.line_range or (None, None)
    return SegmentRow(
        project=window,
        place=place,
        turn=turn,
        id=segment.segment_id,
        created_at=to_micros(segment.created_at),
        last_touched_at=to_micros(segment.last_touched_at),
        first_line=first,
        last_line=last,
        refs=segment.references,
        origin=origin,
        **{name: getattr(segment, name) for name in _SAME},
    )


def _held(row: SegmentRow) -> StoredSegment:
    """Return a stored segment; damaged values are refused."""
    expect(str, row.id, row.type, row.generation, row.text)
    expect(int, row.version, row.place, row.gc_survival_count, row.refcount, row.tokens)
    expect_or_null(str, row.file_path, row.topic_id, row.role, row.task_id)
    expect_or_null(int, row.first_line, row.last_line)
    try:
        segment = ContextSegment(
            segment_id=row.id,
            text=row.text,
            type=row.type,
            created_at=from_micros(row.created_at),
            last_touched_at=from_micros(row.last_touched_at),
            pinned=row.pinned,
            generation=row.generation,
            gc_survival_count=row.gc_survival_count,
            refcount=row.refcount,
            file_path=row.file_path,
            line_range=None if row.first_line is None or row.last_line is None else (row.first_line, row.last_line),
            tags=row.tags,
            topic_id=row.topic_id,
            tokens=row.tokens,
            role=row.role,
            task_id=row.task_id,
            references=row.refs,
        )
    except BadInput as error:  # nobody's input: it was accepted once
        raise ValueError(str(error)) from error
    return StoredSegment(row.key, row.version, row.place, row.stash is not None, segment)


class _Moving(NamedTuple):
    """A segment that a receipt moved."""

    key: int
    window: int
    id: str
    turn: int
    tokens: int
    stash: int | None


class CollectedSegments:
    """The segments of all context windows, as the collector sees them."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._counts: dict[int, WindowCounts] = {}
        self._of_receipt: dict[int, tuple[list[_Moving], list[_Moving]]] = {}
        self._summaries_of: dict[int, tuple[Where, ...]] = {}

    def unpinned(self) -> list[tuple[int, int]]:
        """Return the live segments that are not pinned, stashed ones too: the key, and the key of the window."""
        (found,) = self._rows.ask(Values(SegmentRow, ("key", "project"), (("pinned", "=", False),)))
        return [(key, window) for key, window in found]

    def trash(self, segments: Sequence[tuple[int, int]], receipt: int) -> None:
        keys = [key for key, _ in segments]
        (found,) = self._rows.ask(Values(SegmentRow, ("project", "tokens", "stash"), (("key", "in", keys),)))
        moved = [(window, -1, 0, -tokens) if stash is None else (window, 0, -1, 0) for window, tokens, stash in found]
        self._rows.move(SegmentRow, dict.fromkeys(keys, receipt))
        self._count(moved)

    def clashing(self, receipt: int) -> dict[int, str]:
        """Return what it trashed and whose id another segment of the same window has by now: keys and ids."""
        trashed, _ = self._moved_by(receipt)
        ids: dict[int, set[str]] = defaultdict(set)
        for each in trashed:
            ids[each.window].add(each.id)
        asked = [Values(SegmentRow, ("id",), (("project", "=", at), ("id", "in", those))) for at, those in ids.items()]
        found = self._rows.ask(*asked) if asked else []
        taken = {(window, uid) for window, rows in zip(ids, found, strict=True) for (uid,) in rows}
        return {each.key: each.id for each in trashed if (each.window, each.id) in taken}

    def texts_moved_by(self, receipt: int) -> dict[int, tuple[str, str]]:
        """Return the ids and texts of what a receipt trashed, and of what it stashed that is live, by key."""
        keys = self.moved_by(receipt)
        (found,) = self._rows.ask(Values(SegmentRow, ("key", "id", "text"), (("key", "in", keys),), "any"))
        return {key: (uid, text) for key, uid, text in found}

    def moved_by(self, receipt: int) -> set[int]:
        """Return the keys of what a receipt trashed, and of what it stashed that is live."""
        return {each.key for moved in self._moved_by(receipt) for each in moved}

    def taken_since(self, receipt: int) -> list[str]:
        """Return the receipts, but for those of undos, in whose trash is what one stashed, or the summary of it; by
        their ids, the newest first."""
        summaries = self._summaries(receipt)
        if not summaries:
            return []
        asked = [
            Values(SegmentRow, ("trash",), where, "trash", distinct=True)
            for where in ((("stash", "=", receipt),), summaries)
        ]
        holders = {holder for rows in self._rows.ask(*asked) for (holder,) in rows} - {receipt}
        where: tuple[Where, ...] = (("key", "in", holders), ("action", "<>", "undo"), ("undone_at", "null", None))
        (found,) = self._rows.ask(Values(SavedReceipt, ("key", "id"), where))
        return [uid for _, uid in sorted(found, reverse=True)]

    def summaries(self, receipt: int) -> list[SummarySegment]:
        """Return the summaries that were written in place of the segments that a receipt stashed, in session order."""
        _, stashed = self._moved_by(receipt)
        back = {each.id for each in stashed}
        where = self._summaries(receipt) if back else ()
        found = self._rows.ask(Find(SummarySegment, where, order=("place",)))[0] if where else []
        return [each for each in found if back <= {*each.refs}]

    def put_back(self, receipt: int, but: Collection[int]) -> int:
        """Bring what a receipt trashed or stashed back to where it was; return how many."""
        back, stashed = ([each for each in moved if each.key not in but] for moved in self._moved_by(receipt))
        self._rows.move(SegmentRow, {each.key: None for each in back})
        # A segment may have been stashed by the receipt that trashed it; it was active before both.
        self._rows.set(SegmentRow, ("key", "in", {e.key for e in (*back, *stashed) if e.stash == receipt}), stash=None)
        is_active = [(each, each.stash in (None, receipt)) for each in back]
        moved = [(each.window, 1, 0, each.tokens) if active else (each.window, 0, 1, 0) for each, active in is_active]
        self._count([*moved, *((each.window, 1, -1, each.tokens) for each in stashed)], (*back, *stashed))
        return len(back) + len(stashed)

    def held_by(self, receipts: Collection[int]) -> set[int]:
        """Return the keys of what receipts trashed."""
        (found,) = self._rows.ask(Values(SegmentRow, ("key",), (("trash", "in", receipts),), "trash"))
        return {key for (key,) in found}

    def free(self, receipts: Collection[int]) -> int:
        """Free for good what receipts trashed; return how many."""
        keys = self.held_by(receipts)
        self._rows.free(SegmentLink, ("source", "in", keys))
        self._rows.free(SegmentRow, ("key", "in", keys), bin="trash")
        return len(keys)

    def _moved_by(self, receipt: int) -> tuple[list[_Moving], list[_Moving]]:
        """Return what a receipt trashed, and what it stashed that is live; nothing else changes that meanwhile."""
        if receipt not in self._of_receipt:
            columns = ("key", "project", "id", "turn", "tokens", "stash")
            trashed, stashed = self._rows.ask(
                Values(SegmentRow, columns, (("trash", "=", receipt),), "trash"),
                Values(SegmentRow, columns, (("stash", "=", receipt),)),
            )
            self._of_receipt[receipt] = [_Moving(*row) for row in trashed], [_Moving(*row) for row in stashed]
        return self._of_receipt[receipt]

    def _summaries(self, receipt: int) -> tuple[Where, ...]:
        """Return how summaries are found that were added to a window as a receipt of it was made; empty for others."""
        if receipt not in self._summaries_of:
            self._summaries_of[receipt] = self._as_made_by(receipt)
        return self._summaries_of[receipt]

    def _as_made_by(self, receipt: int) -> tuple[Where, ...]:
        ((strategy, made),) = self._rows.ask(
            Values(SavedReceipt, ("strategy", "created_at"), (("key", "=", receipt),))
        )[0]
        if not strategy.startswith(CONTEXT):
            return ()
        (found,) = self._rows.ask(Values(WindowHead, ("key",), (("id", "=", strategy.removeprefix(CONTEXT)),)))
        window = found[0][0] if found else 0
        return ("project", "=", window), ("type", "=", "summary"), ("created_at", "=", made)

    def _count(self, moved: Iterable[tuple[int, int, int, int]], back: Sequence[_Moving] = ()) -> None:
        """Count what came and went: the window, how many more are active and stashed, and the tokens."""
        changes: dict[int, list[int]] = defaultdict(lambda: [0, 0, 0])
        for window, *more in moved:
            changes[window] = [before + each for before, each in zip(changes[window], more, strict=True)]
        turns: dict[int, int] = {}
        for each in back:  # with the turn it had, which may be before the one that is next
            turns[each.window] = min(each.turn, turns.get(each.window, each.turn))
        unread = changes.keys() - self._counts.keys()
        self._counts |= {row.key: row for row in self._rows.find(WindowCounts, ("key", "in", unread))}
        for window in changes.keys() & self._counts.keys():
            row, (active, stashed, tokens) = self._counts[window], changes[window]
            young, old = (min(clock or 0, turns.get(window, clock or 0)) for clock in row[4:])
            counts = (row.tokens + tokens, row.segments + active, row.stashed + stashed)
            self._counts[window] = WindowCounts(window, *counts, young, old)
        said = {window: self._counts[window][1:] for window in sorted(changes.keys() & self._counts.keys())}
        self._rows.change(WindowHead, WindowCounts._fields[1:], said)
