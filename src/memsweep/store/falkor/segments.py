"""Context windows in the graph. An open window is one transaction; leaving it commits, or drops what was gathered.

Segments are read when they are asked for, and changed in memory: what a step reads is what it has already done.
Only what changed is written.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any

from memsweep.model.audit import AuditEvent
from memsweep.model.origin import UNKNOWN, Origin, stored_origin
from memsweep.model.segment import ContextSegment, Generation
from memsweep.model.times import to_micros
from memsweep.model.window import Held, WindowRow, WindowState
from memsweep.store.falkor import context_cypher, gc_cypher
from memsweep.store.falkor.auditing import add_event
from memsweep.store.falkor.items import FalkorItems
from memsweep.store.falkor.loaded_segments import LoadedSegments
from memsweep.store.falkor.matching import best_matches
from memsweep.store.falkor.origins import about, origin_key
from memsweep.store.falkor.row_codec import name_in, segment_links, segment_names
from memsweep.store.falkor.rows import FalkorRows
from memsweep.store.falkor.transaction import GraphHandle, Transaction, writable
from memsweep.store.forgotten import tombstoned
from memsweep.store.plans import CONTEXT
from memsweep.store.ports.segments import Summary
from memsweep.store.ports.windows import OriginOf
from memsweep.store.receipts import Plans
from memsweep.store.refusals import unknown_window
from memsweep.store.segment_values import receipt_values, state_values, strategy_of, values_of


class FalkorSegments:
    """Implements `memsweep.store.ports.windows.Segments`."""

    def __init__(self, graph: GraphHandle) -> None:
        self._graph = graph

    def windows(self) -> list[WindowRow]:
        return [WindowRow(*row) for row in self._graph.ask(context_cypher.WINDOWS)]

    @contextmanager
    def reading(self, project_id: str) -> Iterator[FalkorWindow]:
        yield FalkorWindow(self._graph, project_id)

    @contextmanager
    def writing(
        self, project_id: str, *, create_at: datetime | None = None, origin: Origin = UNKNOWN
    ) -> Iterator[FalkorWindow]:
        ahead = [(context_cypher.FIND_PROJECT, {"id": project_id}), *about(self._graph, origin)]
        with self._graph.writing(ahead=ahead) as tx:
            window = FalkorWindow(tx, project_id, create_at, origin)
            yield window
            window.save()


class FalkorWindow:
    """Implements `memsweep.store.ports.windows.OpenWindow`."""

    def __init__(
        self,
        asked: GraphHandle | Transaction,
        project_id: str,
        create_at: datetime | None = None,
        origin: Origin = UNKNOWN,
    ) -> None:
        self._asked, self._origin = asked, origin
        self.items, self.plans = FalkorItems(asked), Plans(FalkorRows(asked))
        self.project_id = project_id
        found = asked.ask(context_cypher.FIND_PROJECT, id=project_id)
        self._new: dict[str, Any] | None = None
        if not found:
            found = [self._make(create_at)]
        self._key, tokens, segments, stashed, changes, full_from, counted_by, config, focus, *clocks = found[0]
        self._places, self._turns, self._messages, *waiting = clocks
        self._next: dict[Generation, int] = dict(zip(("young", "old"), waiting, strict=True))
        self._read_turns, self._read_messages = self._turns, self._messages
        self.state = WindowState(
            tokens, segments, stashed, changes, full_from, counted_by, json.loads(config), json.loads(focus)
        )
        self._segments = LoadedSegments(asked, self._key, is_new=self._new is not None)
        self._added: list[int] = []
        self._set: dict[int, dict[str, Any]] = {}
        self._trashed: dict[int, int] = {}
        self._receipts: dict[int, dict[str, Any]] = {}

    def _make(self, at: datetime | None) -> list[Any]:
        if at is None or not isinstance(self._asked, Transaction):
            raise unknown_window(self.project_id, (name for (name,) in self._asked.ask(context_cypher.PROJECTS)))
        self._new = {"key": self._tx.new_key(), "id": self.project_id, "created_at": to_micros(at)}
        return [self._new["key"], 0, 0, 0, 0, 0, "", "{}", "{}", 0, 0, 0, 0, 0]

    @property
    def _tx(self) -> Transaction:
        return writable(self._asked)

    def save(self) -> None:
        tx = self._tx
        row = {
            **state_values(self.state),
            "key": self._key,
            "places": self._places,
            "turns": self._turns,
            "messages": self._messages,
            "next_young": self._next["young"],
            "next_old": self._next["old"],
        }
        # What is made comes first: the server takes long to set something on a node when others are new.
        new = [self._set[key] for key in self._added]
        tx.do(context_cypher.ADD_SEGMENT, new)
        tx.do(context_cypher.ADD_LINK, [link for node in new for link in segment_links(node)])
        tx.do(gc_cypher.ADD_RECEIPT, self._receipts.values())
        if self._new is not None:
            tx.do(context_cypher.ADD_PROJECT, [{**self._new, **row}])
        else:
            tx.do(context_cypher.SAVE_PROJECT, [row])
        added = set(self._added)
        changed = [{"key": key, "set": values} for key, values in self._set.items() if key not in added]
        tx.do(context_cypher.CHANGE_SEGMENT, changed)
        tx.do(context_cypher.TRASH_SEGMENT, [{"key": key, "trash": trash} for key, trash in self._trashed.items()])

    def active(self) -> list[Held]:
        return [held for held in self.live() if not held.stashed]

    def live(self) -> list[Held]:
        return self._segments.live()

    def find(self, segment_ids: Iterable[str]) -> dict[str, Held]:
        return self._segments.find(segment_ids)

    def origins(self, segment_ids: Iterable[str]) -> dict[str, Origin]:
        names = [name_in(self._key, own) for own in segment_ids]
        rows = self._asked.ask(context_cypher.ORIGINS, names=names) if names else []
        return {uid: stored_origin(*said) for uid, *said in rows}

    def ever_known(self, segment_ids: Iterable[str]) -> set[str]:
        wanted = set(segment_ids)
        return self.find(wanted).keys() | self._segments.trashed(wanted)

    def tombstoned(self, texts: Sequence[str]) -> set[str]:
        return tombstoned(FalkorRows(self._asked), texts)

    def next_to_examine(self, count: int, generation: Generation) -> list[Held]:
        first, last = self._next[generation], self._read_turns
        found = self._segments.in_turn(count, generation, first, last)
        turns = [self._segments.turn_of[held.key] for held in found]
        self._next[generation] = turns[-1] + 1 if len(found) == count and turns else max(first, last + 1)
        for held in found:
            self._write(held.key, turn=self._turn())
        return found

    def of_files(self, paths: Iterable[str]) -> list[Held]:
        return self._segments.of_files(paths)

    def last_messages(self, count: int) -> set[str]:
        return self._segments.last_messages(count, self._read_messages) if count else set()

    def referenced(self, segment_ids: Iterable[str]) -> set[str]:
        return self._segments.referenced(segment_ids)

    def matches(self, query: str, count: int) -> dict[int, float]:
        stashed = {held.place: held.segment.text for held in self.live() if held.stashed}
        everything = [held.segment.text for held in self.live()]
        return best_matches(query, stashed, everything, count)

    def stashed_at(self, places: Iterable[int]) -> dict[int, Held]:
        return {place: held for place, held in self._segments.at_places(places).items() if held.stashed}

    def stashed(self, before: int | None, limit: int) -> list[Held]:
        return self._segments.stashed(self._places if before is None else before, limit)

    def add(self, segments: Iterable[ContextSegment], origin_of: OriginOf | None = None) -> None:
        new = list(segments)
        self.find(target for segment in new for target in segment.references)  # all at once
        for segment in new:
            key, turn = self._tx.new_key(), self._turn()
            message = self._messages if segment.type == "message" else None
            names = segment_names(self._key, segment.segment_id, self._places, turn, message)
            row = {"key": key, "project": self._key, "place": self._places, "turn": turn, "version": 1}
            self._segments.keep(Held(key, 1, self._places, False, segment), turn)
            origin = origin_of(segment) if origin_of else self._origin
            self._set[key] = {**row, **names, **_values(segment), "origin": origin_key(self._tx, origin)}
            self._messages += message is not None
            self._added.append(key)
            self._places += 1
            self.state.count_added(segment)
            self._touch(segment)

    def _touch(self, segment: ContextSegment) -> None:
        """What a new segment refers to has been used again."""
        for held in self.find(segment.references).values():
            if not held.stashed and held.segment.last_touched_at < segment.created_at:
                at = segment.created_at
                self._write(held.key, raises_version=True, last_touched_at=to_micros(at))
                now = self._segments.held[held.key]
                self._segments.keep(now._replace(segment=replace(now.segment, last_touched_at=at)))

    def age(self, survivors: Iterable[tuple[int, ContextSegment]]) -> None:
        for key, segment in survivors:
            count, generation = segment.gc_survival_count, segment.generation
            # It may have grown old with a turn that the old have behind them.
            self._next[generation] = min(self._next[generation], self._segments.turn_of[key])
            self._write(key, gc_survival_count=count, generation=generation)

    def pin(self, held: Iterable[Held], pinned: bool) -> None:
        for each in held:
            self._write(each.key, raises_version=True, pinned=pinned)

    def stash(self, held: Sequence[Held], receipt: int) -> None:
        for each in held:
            self._write(each.key, raises_version=True, stash=receipt)
        self.state.count_stashed(held)

    def restore(self, held: Sequence[Held]) -> None:
        turn = self._turn
        for each in held:
            self._write(each.key, raises_version=True, stash=None, turn=turn())
        self.state.count_restored(held)

    def trash(self, held: Sequence[Held], receipt: int) -> None:
        for each in held:
            self._trashed[each.key] = receipt
            self._segments.drop(each)
        self.state.count_trashed(held)

    def add_receipt(self, receipt_id: str, plan_id: str | None, action: str, actor: str, now: datetime) -> int:
        key = self._tx.new_key()
        self._receipts[key] = {
            "key": key,
            "id": receipt_id,
            "plan": plan_id,
            "action": action,
            "strategy": strategy_of(self.project_id),
            "actor": actor,
            "created_at": to_micros(now),
            "counts": "{}",
            "skipped": "[]",
        }
        return key

    def fill_receipt(self, receipt: int, stashed: int, deleted: int, refused: Iterable[tuple[str, str]]) -> None:
        self._receipts[receipt] |= receipt_values(stashed, deleted, refused)

    def audit(self, action: str, subject: str, counts: dict[str, int], reason: str, actor: str, now: datetime) -> None:
        add_event(self._tx, AuditEvent(now, actor, action, subject, counts, reason))

    def _write(self, key: int, *, raises_version: bool = False, **values: Any) -> None:
        """What the collector counts about a segment is no change of the segment: its version stays."""
        held = self._segments.held[key]
        version = held.version + raises_version
        known = {name: value for name, value in values.items() if name in _COUNTED}
        stashed = values["stash"] is not None if "stash" in values else held.stashed
        if "turn" in values:
            values["turn_ref"] = name_in(self._key, values["turn"])
        self._segments.keep(Held(key, version, held.place, stashed, replace(held.segment, **known)), values.get("turn"))
        self._set.setdefault(key, {})
        self._set[key] |= values | {"version": version}

    def _turn(self) -> int:
        self._turns += 1
        return int(self._turns)


_COUNTED = {"gc_survival_count", "generation", "pinned"}


class FalkorSegmentRows:
    """Implements `memsweep.store.ports.segments.SegmentRows`."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx

    def unpinned(self) -> list[tuple[int, int]]:
        return [(key, project) for key, project in self._tx.ask(context_cypher.UNPINNED)]

    def trash(self, segments: Sequence[tuple[int, int]], receipt: int) -> None:
        self._tx.do(context_cypher.TRASH_SEGMENT, [{"key": key, "trash": receipt} for key, _ in segments])
        self._tx.do(context_cypher.RECOUNT, sorted({project for _, project in segments}))

    def clashing(self, receipt: int) -> dict[int, str]:
        trashed = self._tx.ask(context_cypher.TRASHED_BY, receipt=receipt)
        rows = self._tx.ask(context_cypher.TAKEN, names=[name for _, _, name, *_ in trashed]) if trashed else []
        taken = {name for (name,) in rows}
        return {key: uid for key, uid, name, *_ in trashed if name in taken}

    def stashed_by(self, receipt: int) -> set[str]:
        return {uid for (uid,) in self._tx.ask(context_cypher.IDS_STASHED_BY, receipt=receipt)}

    def taken_since(self, receipt: int) -> list[str]:
        return [uid for (uid,) in self._tx.ask(context_cypher.TAKEN_SINCE, receipt=receipt, context=CONTEXT)]

    def summaries(self, receipt: int) -> list[Summary]:
        rows = self._tx.ask(context_cypher.SUMMARIES, receipt=receipt, context=CONTEXT)
        return [Summary(key, window, uid, pinned, tuple(refs)) for key, window, uid, pinned, refs in rows]

    def put_back(self, receipt: int, but: Collection[int]) -> int:
        trashed, stashed = self._tx.ask_all(
            (context_cypher.TRASHED_BY, {"receipt": receipt}), (context_cypher.STASHED_BY, {"receipt": receipt})
        )
        back = [key for key, *_ in trashed if key not in but]
        turns: dict[int, int] = {}
        for *_, turn, project in (*trashed, *stashed):
            turns[project] = min(turn, turns.get(project, turn))
        self._tx.do(context_cypher.UNTRASH, back)
        # A segment may have been stashed by the receipt that trashed it; it was active before both.
        self._tx.do(context_cypher.UNSTASH, [key for key, *_ in stashed])
        self._tx.do(context_cypher.RECOUNT, sorted(turns))
        self._tx.do(context_cypher.LOOK_AGAIN, [{"key": key, "turn": turn} for key, turn in turns.items()])
        return len(back) + len(stashed)

    def held_by(self, receipts: Collection[int]) -> set[int]:
        return {key for (key,) in self._tx.ask(context_cypher.DYING_SEGMENTS, receipts=sorted(receipts))}

    def free(self, receipts: Collection[int]) -> int:
        keys = sorted(self.held_by(receipts))
        self._tx.do(context_cypher.FREE_LINKS, keys)
        self._tx.do(context_cypher.FREE_SEGMENT, keys)
        return len(keys)


def _values(segment: ContextSegment) -> dict[str, Any]:
    lists = {"tags": list(segment.tags), "refs": list(segment.references)}
    return {"id": segment.segment_id, **values_of(segment), **lists}
