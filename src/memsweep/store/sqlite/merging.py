"""Several entities become one, and can be taken apart again. Inside the caller's transaction.

A merge writes down every single thing it moves. Taking it apart goes through that list backwards and moves
back what is still there, whatever was written meanwhile; what came later stays with the entity that was kept.
The rules are in `memsweep.model.merging`.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from functools import reduce
from typing import Any

import apsw

from memsweep.errors import BadInput, Conflict
from memsweep.model.decay import Rates
from memsweep.model.graph import Merged
from memsweep.model.merging import (
    Joined,
    MovedEnd,
    MovedMention,
    Statement,
    Step,
    Strength,
    given_by,
    highest,
    is_made_one,
    joined,
    mentions_back,
    statements_back,
    without,
)
from memsweep.store.file.connect import one, row
from memsweep.store.sqlite import merging_sql as sql


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
        self._strengthen_target(source, (confidence, seen, handed_in, pinned))
        self._db.execute(sql.TRASH_ENTITY, (self._receipt, source))
        return str(name)

    def _note(self, kind: str, a: int, b: int | None = None, c: int | None = None, said: Any = None) -> None:
        note(self._db, self._receipt, kind, a, b, c, said)

    def _take_mentions(self, source: int) -> None:
        ends = {"source": source, "target": self._target}
        spoken: list[Any] = self._db.execute(sql.MENTIONS_OF, ends).fetchall()
        for chunk, shared in spoken:
            self._note("mention", chunk, source, None if shared else self._target)
            self.mentions += 1
        self._db.execute(sql.MOVE_MENTIONS, ends)
        self._db.execute(sql.DROP_MENTIONS, {"source": source})

    def _take_relation(self, source: int, item: Any) -> None:
        key, subject, target, kind, lives, current = item
        ends = (self._target if subject == source else subject, self._target if target == source else target)
        is_empty = is_made_one((subject, target), ends)
        twin = one(self._db, sql.TWIN, (ends[0], kind, ends[1], key)) if current and not is_empty else None
        if twin is not None:
            join(self._db, self._receipt, twin, key, self._rates.edge, self._now)
            self.joined += 1
        if twin is not None or (lives and is_empty):
            self._db.execute(sql.TRASH_RELATION, (self._receipt, key))
        for end, before in (("subject", subject), ("object", target)):
            if before == source:
                self._note(end, key, source)
        self._db.execute(sql.SET_ENDS, (*ends, key))
        self.relations += 1

    def _take_names(self, source: int, name: str, name_key: str, type_key: str) -> None:
        for alias in self._db.execute(sql.ALIASES_OF, (source,)).fetchall():
            self._note("alias", source, said=list(alias))
            self._db.execute(sql.POINT_ALIAS, (self._target, *alias))
        if (other := row(self._db, sql.GET_ALIAS, (name_key, type_key))) is not None:
            self._note("name", other[0], other[1], said=[name_key, type_key, other[2]])
        self._db.execute(sql.ADD_ALIAS, (name_key, type_key, name, self._target, self._receipt))

    def _strengthen_target(self, source: int, given: tuple[Any, ...]) -> None:
        _, _, _, _, _, *before, version, _ = row(self._db, sql.GET_ENTITY, (self._target,))
        after = one(self._db, sql.SET_ENTITY, (*highest(tuple(before), given), self._target))
        self._note("target", self._target, source, after, [*before, version])


def note(
    db: apsw.Connection,
    receipt: int,
    kind: str,
    a: int,
    b: int | None = None,
    c: int | None = None,
    said: Any = None,
) -> None:
    """Write down under a merge what was moved."""
    db.execute(sql.ADD_MOVE, (receipt, kind, a, b, c, json.dumps(said)))


def join(db: apsw.Connection, receipt: int, kept: int, gone: int, edge_rate: float, now: datetime) -> None:
    """Of two facts that are one now, the stronger counts; who stated the other states it."""
    before, other = _strength(db, kept), _strength(db, gone)
    after = joined(before, other, edge_rate, now)
    db.execute(sql.SET_STRENGTH, (*after, kept))
    note(db, receipt, "strength", kept, gone, said=[*before, *after])
    stating: list[Any] = db.execute(sql.SOURCES, (gone,)).fetchall()
    for (memory,) in stating:
        if one(db, sql.ADD_SOURCE, (kept, memory)) is not None:
            note(db, receipt, "source", kept, memory)


def _strength(db: apsw.Connection, relation: int) -> Strength:
    return Strength(*row(db, sql.STRENGTH, (relation,)))


def moved_ends(db: apsw.Connection, relations: Sequence[int]) -> dict[int, tuple[MovedEnd, ...]]:
    """What merges that stand have done to the ends of these relations."""
    rows: list[Any] = db.execute(sql.MOVED_ENDS, (json.dumps(list(relations)),)).fetchall()
    moves: dict[int, list[MovedEnd]] = defaultdict(list)
    for move in rows:
        moves[move[2]].append(MovedEnd(*move))
    return {key: tuple(each) for key, each in moves.items()}


def take_apart(db: apsw.Connection, receipt: int, edge_rate: float, now: datetime) -> int:
    """Undo the merge of a receipt, if it was one; how many entities stand by themselves again."""
    moves: list[Any] = db.execute(sql.MOVES, (receipt,)).fetchall()
    if not moves:
        return 0
    target = next(a for kind, a, *_ in moves if kind == "target")
    _refuse_buried(db, receipt, target)
    sources: list[Any] = db.execute(sql.SOURCES_OF_RECEIPT, (receipt,)).fetchall()
    for _, uid, name, name_key, type_key in sources:
        twin = one(db, sql.LIVE_TWIN, (name_key, type_key))
        if twin is not None:
            raise Conflict(
                f"{uid} cannot come back: {name!r:.60} exists again as {twin}.", hint=f"Merge {twin} away first."
            )
        db.execute(sql.DROP_ALIAS, (name_key, type_key))
    _weaken_target(db, receipt, target)
    for relation in dict.fromkeys(a for kind, a, *_ in moves if kind == "strength"):
        _weaken_relation(db, receipt, relation, edge_rate, now)
    db.executemany(sql.TRASH_ENTITY, [(None, key) for key, *_ in sources])
    _mentions_back(db, receipt, target, [MovedMention(a, b, c) for kind, a, b, c, _ in moves if kind == "mention"])
    _statements_back(db, receipt, [Statement(a, b) for kind, a, b, *_ in moves if kind == "source"])
    for kind, a, b, _, said in moves:
        _move_back(db, target, kind, a, b, json.loads(said))
    db.execute(sql.DROP_ALIASES, (receipt,))
    db.execute(sql.DROP_MOVES, (receipt,))
    return len(sources)


def _refuse_buried(db: apsw.Connection, receipt: int, target: int) -> None:
    """What was done on top of a merge is undone first."""
    if (holder := row(db, sql.HOLDER, (target, receipt))) is not None:
        raise Conflict(f"{holder[0]!r:.60} is not there to be taken apart.", hint=f"Undo {holder[1]} first.")
    if (later := one(db, sql.LATER_MERGE, {"receipt": receipt})) is not None:
        raise Conflict(
            f"the merge {later} joined facts that this one changed; they cannot be told apart before that is undone.",
            hint=f"Undo {later} first.",
        )


def _weaken_target(db: apsw.Connection, receipt: int, target: int) -> None:
    """The entity that was kept is as sure as it would be without this merge."""
    found = row(db, sql.GET_ENTITY, (target,))
    if found is None:
        return
    steps = []
    rows: list[Any] = db.execute(sql.TARGET_STEPS, (target,)).fetchall()
    for place, merge, source, after, said in rows:
        *before, version = json.loads(said)
        given: list[Any] = db.execute(sql.SOURCE_STRENGTHS, (source, merge)).fetchall()
        taken = reduce(highest, given) if given else tuple(before)
        steps.append(Step(place, merge, tuple(before), (), taken, (version, after)))
    retraced = without(steps, receipt, found[9], highest)
    for step in retraced.steps:
        assert step.versions is not None, "entities are known by their versions"
        db.execute(sql.SET_MOVE, (json.dumps([*step.before, step.versions[0]]), step.place))
    if retraced.values is not None:
        db.execute(sql.PUT_BACK_ENTITY, (*retraced.values, retraced.version, target))


def _weaken_relation(db: apsw.Connection, receipt: int, relation: int, edge_rate: float, now: datetime) -> None:
    """A fact counts as it would without what this merge joined to it, if nothing has strengthened it since."""
    found = row(db, sql.STRENGTH, (relation,))
    if found is None:
        return
    steps = []
    rows: list[Any] = db.execute(sql.STRENGTH_STEPS, (relation,)).fetchall()
    for place, merge, other, said in rows:
        values = json.loads(said)
        before, after = tuple(values[:4]), tuple(values[4:])
        given = None if other is None else row(db, sql.STRENGTH, (other,))
        steps.append(Step(place, merge, before, after, given or given_by(before, after)))
    retraced = without(steps, receipt, tuple(found), lambda a, b: joined(Strength(*a), Strength(*b), edge_rate, now))
    for step in retraced.steps:
        db.execute(sql.SET_MOVE, (json.dumps([*step.before, *step.after]), step.place))
    if retraced.values is not None:
        db.execute(sql.SET_STRENGTH, (*retraced.values, relation))


def _mentions_back(db: apsw.Connection, receipt: int, target: int, moved: list[MovedMention]) -> None:
    shared: list[Any] = db.execute(sql.SHARED_MENTIONS, {"receipt": receipt, "target": target}).fetchall()
    back = mentions_back(moved, dict(shared))
    db.executemany(sql.ADD_MENTION_AGAIN, back.added)
    db.executemany(sql.DROP_MENTION, back.dropped)
    db.executemany(sql.CLAIM_MENTION, [(target, place) for place in back.claimed])


def _statements_back(db: apsw.Connection, receipt: int, added: list[Statement]) -> None:
    rows: list[Any] = db.execute(sql.JOINED, {"receipt": receipt}).fetchall() if added else []
    others = [Joined(*item) for item in rows]
    stated = {Statement(each.other, memory) for each in others for (memory,) in db.execute(sql.SOURCES, (each.other,))}
    dropped, handed_on = statements_back(added, others, stated)
    db.executemany(sql.DROP_SOURCE, dropped)
    for merge, (relation, memory) in handed_on:
        note(db, merge, "source", relation, memory)


def _move_back(db: apsw.Connection, target: int, kind: str, a: int, b: int | None, said: Any) -> None:
    match kind:
        case "subject":
            db.execute(sql.SET_SUBJECT, (b, a, target))
        case "object":
            db.execute(sql.SET_OBJECT, (b, a, target))
        case "alias":
            db.execute(sql.POINT_ALIAS_BACK, (a, *said, target))
        case "name":
            db.execute(sql.PUT_BACK_ALIAS, (*said, a, b))


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
