"""Several entities become one, and can be taken apart again. Inside the caller's transaction.

A merge writes down every single thing it moves. Taking it apart goes through that list backwards and moves
back what is still there, whatever was written meanwhile; what came later stays with the entity that was kept.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import apsw

from memsweep.errors import BadInput, Conflict
from memsweep.model.decay import Rates, age_days, faded
from memsweep.model.graph import Merged
from memsweep.model.times import from_micros
from memsweep.store.sqlite import merging_sql as sql
from memsweep.store.sqlite.connect import one, row


def preview(db: apsw.Connection, sources: Sequence[int], target: int, plan_id: str) -> Merged:
    mentions, relations = row(db, sql.COUNT_MOVED, {"keys": json.dumps(list(sources))})
    kept = row(db, sql.GET_ENTITY, (target,))
    names = tuple(row(db, sql.GET_ENTITY, (source,))[2] for source in sources)
    return Merged(kept[1], kept[2], names, mentions, relations, 0, plan_id=plan_id)


class Merge:
    """One merge under way: everything it moves is written down under its receipt."""

    def __init__(self, db: apsw.Connection, receipt: int, target: int, rates: Rates, now: datetime) -> None:
        self._db, self._receipt, self._target = db, receipt, target
        self._rates, self._now = rates, now
        self.mentions = self.relations = self.joined = 0

    def take(self, source: int) -> str:
        """Everything of one entity to the target; its name."""
        _, _, name, name_key, type_key, confidence, seen, handed_in, pinned, *_ = row(
            self._db, sql.GET_ENTITY, (source,)
        )
        self._take_mentions(source)
        for item in self._db.execute(sql.RELATIONS_OF, {"source": source}).fetchall():
            self._take_relation(source, item)
        self._take_names(source, name, name_key, type_key)
        self._strengthen_target(confidence, seen, handed_in, pinned)
        self._db.execute(sql.TRASH_ENTITY, (self._receipt, source))
        return str(name)

    def _note(self, kind: str, a: int, b: int | None = None, c: int | None = None, said: Any = None) -> None:
        self._db.execute(sql.ADD_MOVE, (self._receipt, kind, a, b, c, json.dumps(said)))

    def _take_mentions(self, source: int) -> None:
        ends = {"source": source, "target": self._target}
        spoken: list[Any] = self._db.execute(sql.MENTIONS_OF, ends).fetchall()
        for chunk, shared in spoken:
            self._note("mention", chunk, source, None if shared else self._target)
            self.mentions += 1
        self._db.execute(sql.MOVE_MENTIONS, ends)
        self._db.execute(sql.DROP_MENTIONS, {"source": source})

    def _take_relation(self, source: int, item: Any) -> None:
        key, subject, target, kind, weight, seen, evidence, handed_in, current = item
        ends = tuple(self._target if end == source else end for end in (subject, target))
        twin = row(self._db, sql.TWIN, (ends[0], kind, ends[1], key)) if current else None
        if twin is not None:
            self._join(twin, (key, weight, seen, evidence, handed_in))
        if twin is not None or (current and ends[0] == ends[1]):  # a fact between two that are one says nothing
            self._db.execute(sql.TRASH_RELATION, (self._receipt, key))
        for end, before in (("subject", subject), ("object", target)):
            if before == source:
                self._note(end, key, source)
        self._db.execute(sql.SET_ENDS, (*ends, key))
        self.relations += 1

    def _join(self, twin: Any, other: Any) -> None:
        """Of two facts that are one now, the stronger counts; who stated the other states it."""
        key, *before = twin
        best = before[:2]
        gone, weight, seen, evidence, handed_in = other
        if weight is not None and best[0] is not None and self._strength(weight, seen) > self._strength(*best):
            best = [weight, seen]
        after = [*best, before[2] + evidence, max(before[3], handed_in)]
        self._db.execute(sql.SET_STRENGTH, (*after, key))
        self._note("strength", key, said=[*before, *after])
        stating: list[Any] = self._db.execute(sql.SOURCES, (gone,)).fetchall()
        for (memory,) in stating:
            if one(self._db, sql.ADD_SOURCE, (key, memory)) is not None:
                self._note("source", key, memory)
        self.joined += 1

    def _strength(self, weight: float, seen: int) -> float:
        return faded(weight, self._rates.edge, age_days(from_micros(seen), self._now))

    def _take_names(self, source: int, name: str, name_key: str, type_key: str) -> None:
        for alias in self._db.execute(sql.ALIASES_OF, (source,)).fetchall():
            self._note("alias", source, said=list(alias))
            self._db.execute(sql.POINT_ALIAS, (self._target, *alias))
        self._db.execute(sql.ADD_ALIAS, (name_key, type_key, name, self._target, self._receipt))

    def _strengthen_target(self, confidence: float, seen: int, handed_in: int, pinned: int) -> None:
        _, _, _, _, _, *before, version, _ = row(self._db, sql.GET_ENTITY, (self._target,))
        best = [max(pair) for pair in zip(before, (confidence, seen, handed_in, pinned), strict=True)]
        after = one(self._db, sql.SET_ENTITY, (*best, self._target))
        self._note("target", self._target, None, after, [*before, version])


def take_apart(db: apsw.Connection, receipt: int) -> int:
    """Undo the merge of a receipt, if it was one; how many entities stand by themselves again."""
    moves: list[Any] = db.execute(sql.MOVES, (receipt,)).fetchall()
    if not moves:
        return 0
    if (holder := row(db, sql.HOLDER_OF_TARGET, (receipt,))) is not None:
        raise Conflict(f"{holder[0]!r:.60} is not there to be taken apart.", hint=f"Undo {holder[1]} first.")
    sources: list[Any] = db.execute(sql.SOURCES_OF_RECEIPT, (receipt,)).fetchall()
    for _, uid, name, name_key, type_key in sources:
        twin = one(db, sql.LIVE_TWIN, (name_key, type_key))
        if twin is not None:
            raise Conflict(
                f"{uid} cannot come back: {name!r:.60} exists again as {twin}.", hint=f"Merge {twin} away first."
            )
        db.execute(sql.DROP_ALIAS, (name_key, type_key))
    db.executemany(sql.TRASH_ENTITY, [(None, key) for key, *_ in sources])
    for kind, a, b, c, said in moves:
        _move_back(db, kind, a, b, c, json.loads(said))
    db.execute(sql.DROP_ALIASES, (receipt,))
    db.execute(sql.DROP_MOVES, (receipt,))
    return len(sources)


def _move_back(db: apsw.Connection, kind: str, a: int, b: int | None, c: int | None, said: Any) -> None:
    match kind:
        case "mention":
            db.execute(sql.ADD_MENTION_AGAIN, (a, b))
            db.execute(sql.DROP_MENTION, (a, c))
        case "subject":
            db.execute(sql.SET_SUBJECT, (b, a))
        case "object":
            db.execute(sql.SET_OBJECT, (b, a))
        case "strength":
            db.execute(sql.PUT_BACK_STRENGTH, (*said, a))
        case "source":
            db.execute(sql.DROP_SOURCE, (a, b))
        case "alias":
            db.execute(sql.POINT_ALIAS, (a, *said))
        case "target":
            db.execute(sql.PUT_BACK_ENTITY, (*said, a, c))


def split(
    db: apsw.Connection, entity: int, new: int, relations: Sequence[str], memories: Sequence[str]
) -> tuple[int, int]:
    """Move chosen relations, and the mentions in chosen memories, to another entity; how many of each."""
    found: list[Any] = db.execute(sql.RELATIONS_BY_UID, (json.dumps(list(relations)),)).fetchall()
    touching = [item for item in found if entity in item[1:]]
    if len(touching) < len(set(relations)):
        raise BadInput(
            f"{len(set(relations)) - len(touching)} of these relations are not about the entity; nothing was changed.",
            hint="get_related shows its relations with their ids.",
        )
    for key, subject, target in touching:
        ends = tuple(new if end == entity else end for end in (subject, target))
        db.execute(sql.SET_ENDS, (*ends, key))
    chunks = [chunk for (chunk,) in db.execute(sql.MENTIONS_IN, (entity, json.dumps(list(memories))))]
    for chunk in chunks:
        db.execute(sql.ADD_MENTION_AGAIN, (chunk, new))
        db.execute(sql.DROP_MENTION, (chunk, entity))
    return len(touching), len(chunks)
