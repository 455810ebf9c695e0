"""Undo: everything of a receipt back, but for what has been made again meanwhile. Inside the caller's transaction.

What a memory that comes back mentions or states comes with it, also if a later receipt took that: undoing
two receipts gives the same in either order, and nothing that lives waits for a purge.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memsweep.errors import Conflict, NotFound
from memsweep.model.ids import findable
from memsweep.model.merging import Contender, MovedEnd, PutAway, settle
from memsweep.model.plan import Totals
from memsweep.model.times import from_micros
from memsweep.store.falkor import gc_cypher, merging_cypher, trash_cypher
from memsweep.store.falkor.joining import Apart, Joining, Note, add_notes
from memsweep.store.falkor.transaction import Change

Conflicts = list[tuple[str, str]]


def usable_receipt(tx: Change, uid: str) -> int:
    found = tx.ask(gc_cypher.GET_RECEIPT, id=findable(uid))
    if not found:
        raise NotFound(f"receipt {uid!r:.60} does not exist in this workspace.", hint="list_trash shows the receipts.")
    key, undone, purged = found[0]
    if undone is not None:
        raise Conflict(f"receipt {uid} was undone already at {from_micros(undone):%Y-%m-%d %H:%M} UTC.")
    if purged is not None:
        raise Conflict(f"receipt {uid} was purged at {from_micros(purged):%Y-%m-%d %H:%M} UTC; it cannot be undone.")
    return int(key)


@dataclass
class _Relation:
    key: int
    id: str
    subject: int
    object: int
    kind: str
    handed_in: bool
    invalid_at: int | None
    trash: int

    def contender(self, trash: int, moves: tuple[MovedEnd, ...]) -> Contender:
        is_valid = self.invalid_at is None
        return Contender(self.key, self.id, self.subject, self.kind, self.object, is_valid, trash, moves)


@dataclass
class _Entity:
    key: int
    id: str
    name: str
    type: str
    handed_in: bool
    trash: int


class Undo:
    """One undo: `of` is the receipt, or the one memory that comes back alone; a merge has been taken `apart`."""

    def __init__(
        self,
        tx: Change,
        receipt: int,
        edge_rate: float,
        now: datetime,
        *,
        only_memory: int | None = None,
        apart: Apart | None = None,
    ) -> None:
        self._tx, self._receipt, self._only = tx, receipt, only_memory
        self._edge_rate, self._now = edge_rate, now
        self._apart = apart or Apart()
        self._put_away: Sequence[PutAway] = ()
        self._merges: set[int] | None = None
        self.conflicts: Conflicts = []
        self._back: set[int] = set()  # memories that come back
        self._twin_of: dict[int, int] = {}
        self._told: set[int] = set()  # twins that something handed in has become part of
        self._waiting: list[_Relation] = []
        self._live: set[int] = set()

    def run(self) -> Totals:
        memories = self._back = self._memories()
        chunks = self._chunks(memories)
        stated = self._stated(memories)
        entities = self._entities(memories, stated)
        restored = self._relations(entities, stated)
        for step, keys in (
            (trash_cypher.RESTORE_MEMORY, memories),
            (trash_cypher.RESTORE_CHUNK, chunks),
            (trash_cypher.RESTORE_ENTITY, entities),
        ):
            self._tx.do(step, sorted(keys))
        self._take_over()
        self._tx.do(trash_cypher.RESTORE_RELATION, sorted(restored))
        self._hand_on()
        self._give_to_merges()
        apart = len(self._apart.entities)
        return Totals(len(memories), len(chunks), apart + len(entities), len(restored))

    def _memories(self) -> set[int]:
        if self._only is None:
            keys = [key for (key,) in self._tx.ask(trash_cypher.MEMORIES_OF, receipt=self._receipt)]
        else:
            keys = [self._only]
        files, texts = self._tx.ask_all(
            (trash_cypher.CLASHING_FILES, {"memories": keys}), (trash_cypher.CLASHING_TEXTS, {"memories": keys})
        )
        said = {mine: f"its file was indexed again as {theirs}" for _, mine, theirs in files}
        said |= {mine: f"the same text was added again as {theirs}" for _, mine, theirs in texts}
        self.conflicts += said.items()
        return set(keys) - {key for key, *_ in (*files, *texts)}

    def _chunks(self, memories: set[int]) -> set[int]:
        if self._only is None:
            rows = self._tx.ask(trash_cypher.CHUNKS_OF_RECEIPT, receipt=self._receipt)
        else:
            rows = self._tx.ask(trash_cypher.CHUNKS_OF_MEMORIES, memories=[self._only])
        return {key for key, memory, lives in rows if memory is None or lives or memory in memories}

    def _stated(self, memories: set[int]) -> dict[int, _Relation]:
        """What the memories that come back state, in whichever trash it is."""
        rows = self._tx.ask(trash_cypher.STATED, memories=sorted(memories))
        return self._free_to_return(self._load({relation for _, relation in rows}))

    def _load(self, keys: Iterable[int]) -> list[_Relation]:
        return [_Relation(*row) for row in self._tx.ask(trash_cypher.RELATIONS, keys=sorted(keys))]

    def _free_to_return(self, relations: Iterable[_Relation]) -> dict[int, _Relation]:
        """What was itself the garbage of another plan stays where it is, and so does what a merge put away."""
        found = {each.key: each for each in relations}
        items = [[each.key, each.trash] for each in found.values() if each.trash != self._receipt]
        if not items:
            return found
        kept = {key for (key,) in self._tx.ask(trash_cypher.PLANNED_ELSEWHERE, items=items)}
        kept |= {key for key, trash in items if trash in self._standing()}
        return {key: each for key, each in found.items() if key not in kept}

    def _standing(self) -> set[int]:
        """The receipts of other merges that were not taken apart."""
        if self._merges is None:
            self._merges = {receipt for receipt, _ in self._tx.ask(merging_cypher.TARGETS)} - {self._receipt}
        return self._merges

    def _entities(self, memories: set[int], stated: dict[int, _Relation]) -> set[int]:
        """Entities that come back; where one exists again under the same name, that one takes over."""
        own = [] if self._only else self._tx.ask(trash_cypher.ENTITIES_OF, receipt=self._receipt)
        mentioned = self._tx.ask(trash_cypher.MENTIONED, memories=sorted(memories))
        keys = {key for (key,) in own} - self._apart.entities | {entity for _, entity in mentioned}
        keys |= {end for each in stated.values() for end in (each.subject, each.object)}
        rows = self._tx.ask(trash_cypher.TRASHED_ENTITIES, keys=sorted(keys))
        picked = {row[0]: _Entity(*row) for row in rows}
        names = [list(name) for name in sorted({(each.name, each.type) for each in picked.values()})]
        live = {(name, kind): (key, uid, told) for key, uid, name, kind, told in self._live_twins(names)}
        for each in list(picked.values()):
            if twin := live.get((each.name, each.type)):
                self._replace(picked, each, *twin)
        newest: dict[tuple[str, str], _Entity] = {}
        for each in sorted(picked.values(), key=lambda entity: entity.key):
            newest[each.name, each.type] = each
        for each in list(picked.values()):
            twin_entity = newest[each.name, each.type]
            if twin_entity is not each:
                self._replace(picked, each, twin_entity.key, twin_entity.id, twin_entity.handed_in)
                twin_entity.handed_in |= each.handed_in
        return set(picked)

    def _live_twins(self, names: list[list[str]]) -> list[list[object]]:
        return self._tx.ask(trash_cypher.LIVE_TWINS, names=names) if names else []

    def _replace(self, picked: dict[int, _Entity], mine: _Entity, key: object, uid: object, handed_in: object) -> None:
        assert isinstance(key, int)
        del picked[mine.key]
        self._twin_of[mine.key] = key
        if mine.handed_in and not handed_in:
            self._told.add(key)
        self.conflicts.append((mine.id, f"it exists again as {uid}, which has its mentions and relations now"))

    def _relations(self, entities: set[int], stated: dict[int, _Relation]) -> set[int]:
        touched = sorted(entities | self._twin_of.keys())
        at = [_Relation(*row) for row in self._tx.ask(trash_cypher.RELATIONS_AT, keys=touched)]
        own = [] if self._only else self._tx.ask(trash_cypher.RELATIONS_OF, receipt=self._receipt)
        mine = self._load(key for (key,) in own)
        every = {each.key: each for each in (*stated.values(), *at, *mine)}
        for each in every.values():
            each.subject, each.object = self._apart.ends.get(each.key, (each.subject, each.object))
            each.subject = self._twin_of.get(each.subject, each.subject)
            each.object = self._twin_of.get(each.object, each.object)
        free = self._free_to_return(each for each in every.values() if each.trash != self._receipt)
        picked = {key: every[key] for key in stated} | {each.key: every[each.key] for each in mine}
        picked |= {key: each for key, each in free.items() if {each.subject, each.object} & entities}
        live = self._live_ends(every.values(), entities)
        sourced = self._sourced(picked)
        standing = {
            key: each
            for key, each in picked.items()
            if {each.subject, each.object} <= live and (each.handed_in or sourced.get(key, True))
        }
        restored = self._settled(standing)
        settled = restored | {each.relation.key for each in self._put_away}
        self._waiting = [each for each in every.values() if each.trash == self._receipt and each.key not in settled]
        self._live = live
        return restored

    def _live_ends(self, relations: Iterable[_Relation], entities: set[int]) -> set[int]:
        ends = sorted({end for each in relations for end in (each.subject, each.object)})
        return {key for (key,) in self._tx.ask(trash_cypher.LIVE_KEYS, keys=ends)} | entities | self._apart.entities

    def _sourced(self, picked: Iterable[int]) -> dict[int, bool]:
        """Whether something that lives, or comes back, states a relation; nothing for those that nobody states."""
        rows = self._tx.ask(trash_cypher.SOURCES, keys=sorted(picked))
        found: dict[int, bool] = defaultdict(bool)
        for key, memory, lives in rows:
            if (key, memory) not in self._apart.unstated:
                found[key] |= lives or memory in self._back
        return dict(found)

    def _settled(self, standing: dict[int, _Relation]) -> set[int]:
        """Of relations that would say the same, one lives; what a merge moved to there is that merge's."""
        places = {(each.subject, each.kind, each.object) for each in standing.values() if each.invalid_at is None}
        rows = self._tx.ask(trash_cypher.LIVE_RELATIONS, ends=[list(each) for each in sorted(places)]) if places else []
        live = [row for row in rows if row[0] not in self._apart.relations]
        for moved, uid in self._apart.relations.values():
            if moved.is_current and moved.place in places:
                live.append([moved.key, uid, *moved.place])
        moves = self._moves() if standing else {}
        rivals = [
            Contender(key, uid, subject, kind, target, True, None, moves.get(key, ()))
            for key, uid, subject, kind, target in live
        ]
        spent = self._spent({each.trash for each in standing.values()} - {self._receipt})
        for each in standing.values():
            rivals.append(each.contender(self._receipt if each.trash in spent else each.trash, moves.get(each.key, ())))
        settled = settle(rivals, self._receipt)
        self._put_away = settled.put_away
        self.conflicts += [(each.id, "the same relation exists again") for each in settled.clashing]
        names = dict(map(tuple, self._receipt_ids(each.merge for each in settled.put_away)))
        self.conflicts += [(each.relation.id, each.why(names[each.merge])) for each in settled.put_away]
        return set(settled.back)

    def _moves(self) -> dict[int, tuple[MovedEnd, ...]]:
        """What other merges that stand have done to the ends of relations."""
        merges = sorted(self._standing())
        moves: dict[int, tuple[MovedEnd, ...]] = defaultdict(tuple)
        for row in self._tx.ask(merging_cypher.MOVED_ENDS, receipts=merges) if merges else ():
            moves[row[2]] += (MovedEnd(*row),)
        return moves

    def _spent(self, receipts: set[int]) -> set[int]:
        """Those that were undone: what they still hold has been waiting for this."""
        rows = self._tx.ask(merging_cypher.UNDONE, keys=sorted(receipts)) if receipts else []
        return {key for (key,) in rows}

    def _receipt_ids(self, keys: Iterable[int]) -> list[list[Any]]:
        wanted = sorted(set(keys))
        return self._tx.ask(trash_cypher.RECEIPT_IDS, keys=wanted) if wanted else []

    def _give_to_merges(self) -> None:
        """What merges keep gets their number, and what says the same is strengthened, as the merges would have done."""
        trashed = [each for each in self._put_away if each.relation.trash is not None]
        living = [each for each in self._put_away if each.relation.trash is None]
        for step, listed in ((trash_cypher.HAND_ON_RELATION, trashed), (gc_cypher.TRASH_RELATION, living)):
            self._tx.do(step, [{"key": each.relation.key, "trash": each.merge} for each in listed])
        joins = [each for each in self._put_away if each.kept is not None]
        notes = [*self._apart.notes, *(self._joined(joins) if joins else ())]
        add_notes(self._tx, notes)

    def _joined(self, joins: Sequence[PutAway]) -> list[Note]:
        keys = {key for each in joins if each.kept for key in (each.relation.key, each.kept.key)}
        joining = Joining(self._tx, keys, self._apart)
        notes = [
            note
            for each in joins
            if each.kept is not None
            for note in joining.join(each.merge, each.kept, each.relation.key, self._edge_rate, self._now)
        ]
        joining.write(self._back)
        return notes

    def _take_over(self) -> None:
        rows = [{"entity": entity, "twin": twin} for entity, twin in sorted(self._twin_of.items())]
        for step in (
            trash_cypher.MOVE_MENTIONS,
            trash_cypher.MOVE_STATEMENTS,
            trash_cypher.MOVE_SUBJECTS,
            trash_cypher.MOVE_OBJECTS,
            merging_cypher.MOVE_ALIASES,
        ):
            self._tx.do(step, rows)
        for step in merging_cypher.TAKE_OVER if rows else ():
            self._tx.do(step, [{**row, "receipt": merge} for merge in sorted(self._standing()) for row in rows])
        self._tx.do(trash_cypher.HAND_IN, sorted(self._told))

    def _hand_on(self) -> None:
        """An end that another receipt holds takes the relation along: undoing that one brings both back."""
        ends = {end for each in self._waiting for end in (each.subject, each.object)} - self._live
        rows = self._tx.ask(trash_cypher.TRASHED_ENTITIES, keys=sorted(ends)) if ends else []
        holder = {row[0]: row[5] for row in rows if row[5] != self._receipt}
        moved = {
            each.key: max(holder[end] for end in (each.subject, each.object) if end in holder)
            for each in self._waiting
            if each.subject in holder or each.object in holder
        }
        names = dict(map(tuple, self._receipt_ids(moved.values())))
        for each in self._waiting:
            if each.key in moved:
                other = names.get(moved[each.key], "")
                self.conflicts.append((each.id, f"an end of it is in the trash; undoing {other} brings both back"))
        self._tx.do(trash_cypher.HAND_ON_RELATION, [{"key": key, "trash": trash} for key, trash in moved.items()])
