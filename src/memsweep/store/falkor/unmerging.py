"""A merge is taken apart: what it moved goes back. Inside the caller's transaction.

Goes through what the merge wrote down, the last move first; the rules are in `memsweep.model.merging`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import reduce
from typing import Any, NamedTuple

from memsweep.errors import Conflict
from memsweep.model.merging import (
    Joined,
    MovedMention,
    Statement,
    Step,
    Strength,
    given_by,
    highest,
    joined,
    mentions_back,
    statements_back,
    without,
)
from memsweep.store.falkor import merging_cypher as own
from memsweep.store.falkor import trash_cypher
from memsweep.store.falkor.joining import Apart, Note
from memsweep.store.falkor.merging import Name, add_mentions, things_of
from memsweep.store.falkor.moving import Part, Relation
from memsweep.store.falkor.transaction import Change


class _Move(NamedTuple):
    kind: str
    a: int
    b: int | None
    c: int | None
    said: Any


def take_apart(tx: Change, receipt: int, edge_rate: float, now: datetime) -> Apart | None:
    """Undo the merge of a receipt, if it was one; what the rest of the undo must know of it."""
    rows = tx.ask(own.MOVES, receipt=receipt)
    moves = [_Move(kind, a, b, c, json.loads(said)) for kind, a, b, c, said in rows]
    if not moves:
        return None
    target = next(move.a for move in moves if move.kind == "target")
    for name, holder in tx.ask(own.HOLDER, key=target, receipt=receipt):
        raise Conflict(f"{name!r:.60} is not there to be taken apart.", hint=f"Undo {holder} first.")
    sources = tx.ask(own.SOURCES_OF_RECEIPT, receipt=receipt)
    taking = _Taking(tx, receipt, target, {key for key, *_ in sources}, moves, edge_rate, now)
    taking.refuse_later()
    _refuse_twins(tx, sources)
    tx.do(trash_cypher.RESTORE_ENTITY, [key for key, *_ in sources])
    taking.run([(name, kind) for *_, name, kind in sources])
    tx.do(own.DROP_MOVES, [receipt])
    return taking.told()


def _refuse_twins(tx: Change, sources: Sequence[Sequence[Any]]) -> None:
    rows = tx.ask(trash_cypher.LIVE_TWINS, names=[[name, kind] for *_, name, kind in sources])
    twins = {(name, kind): uid for _, uid, name, kind, _ in rows}
    for _, uid, name, *place in sources:
        if (twin := twins.get(tuple(place))) is not None:
            raise Conflict(
                f"{uid} cannot come back: {name!r:.60} exists again as {twin}.", hint=f"Merge {twin} away first."
            )


@dataclass
class _Taking:
    """A merge that is being taken apart: its moves, the last one first."""

    tx: Change
    receipt: int
    target: int
    sources: set[int]
    moves: list[_Move]
    edge_rate: float
    now: datetime
    part: Part = field(init=False)
    targets: dict[int, int] = field(init=False)
    """What each merge that stands has kept."""
    steps: list[list[Any]] = field(init=False)
    """What merges have joined: to which relation, the merge, its move, which other relation, and the strengths."""
    unstated: set[tuple[int, int]] = field(default_factory=set)
    notes: list[Note] = field(default_factory=list)

    def __post_init__(self) -> None:
        keys = sorted({move.a for move in self.moves if move.kind in {"subject", "object", "strength", "source"}})
        rows = self.tx.ask_all(*((query, {"keys": keys}) for query in own.RELATIONS_AT))
        self.targets = dict(map(tuple, self.tx.ask(own.TARGETS)))
        self.steps = self.tx.ask(own.STRENGTH_STEPS, receipts=sorted(self.targets))
        self.part = Part(self.tx, [row for each in rows for row in each], living=self.sources)

    def _of(self, kind: str) -> list[_Move]:
        return [move for move in self.moves if move.kind == kind]

    def refuse_later(self) -> None:
        """What a later merge joined to what this one moved cannot be told apart."""
        moved = {move.a for move in self.moves if move.kind in {"subject", "object"}}
        holders = (each.trash for each in self.part.relations.values())
        later = {step[1] for step in self.steps if step[1] > self.receipt and step[0] in moved}
        later |= {trash for trash in holders if trash is not None and trash > self.receipt and trash in self.targets}
        if later:
            ((_, uid),) = self.tx.ask(trash_cypher.RECEIPT_IDS, keys=[max(later)])
            raise Conflict(
                f"the merge {uid} joined facts that this one changed; they cannot be told apart before that is undone.",
                hint=f"Undo {uid} first.",
            )

    def run(self, names: Sequence[Name]) -> None:
        others = self._weaken_target()
        self._mentions_back(others)
        self._weaken_relations()
        for move in self.moves:
            relation = self.part.relations.get(move.a)
            if relation is None or move.kind not in {"subject", "object"}:
                continue
            if getattr(relation, move.kind) == self.target:  # what was split off meanwhile stays where it is
                setattr(relation, move.kind, move.b)
                relation.version += 1
        self.part.write(self.tx)
        self._names_back(names)

    def _weaken_target(self) -> list[int]:
        """The entity that was kept is as sure as it would be without this merge; the other merges into it."""
        merges = sorted(merge for merge, target in self.targets.items() if target == self.target)
        others = [merge for merge in merges if merge != self.receipt]
        thing = things_of(self.tx, [self.target]).get(self.target)
        if thing is None:
            return others
        rows = self.tx.ask(own.TARGET_STEPS, receipts=merges)
        given = _given(self.tx, merges)
        steps = []
        for place, (merge, _, source, after, said) in enumerate(rows):
            *before, version = json.loads(said)
            taken = [each for (key, trash), each in given.items() if (key == source if source else trash == merge)]
            value = reduce(highest, taken) if taken else tuple(before)
            steps.append(Step(place, merge, tuple(before), (), value, (version, after)))
        retraced = without(steps, self.receipt, thing.version, highest)
        for step in retraced.steps:
            assert step.versions is not None, "entities are known by their versions"
            self._set_move(rows[step.place][:2], said=json.dumps([*step.before, step.versions[0]]))
        if retraced.values is not None:
            assert retraced.version is not None, "entities are known by their versions"
            thing.take(retraced.values)
            thing.version = retraced.version
            self.tx.do(own.SET_ENTITY, [thing.row])
        return others

    def _set_move(self, at: Sequence[int], **values: Any) -> None:
        self.tx.do(own.SET_MOVE, [{"receipt": at[0], "place": at[1], "set": values}])

    def _mentions_back(self, others: list[int]) -> None:
        shared: dict[int, tuple[int, int]] = {}
        for chunk, merge, place in self.tx.ask(own.SHARED_MENTIONS, receipts=others) if others else ():
            shared.setdefault(chunk, (merge, place))
        places = dict(enumerate(shared.values()))
        numbers = {chunk: number for number, chunk in enumerate(shared)}
        moved = [MovedMention(move.a, move.b or 0, move.c) for move in self._of("mention")]
        back = mentions_back(moved, numbers)
        for live in (True, False):
            add_mentions(self.tx, back.added, live=live)
        self.tx.do(own.DROP_MENTION, [{"chunk": chunk, "entity": entity} for chunk, entity in back.dropped])
        for number in back.claimed:
            self._set_move(places[number], c=self.target)

    def _weaken_relations(self) -> None:
        """Facts count as they would without what this merge joined to them, if nothing has strengthened them since."""
        keys = {move.a for move in self.moves if move.kind in {"strength", "source"}}
        rows = [step for step in self.steps if step[0] in keys]
        others = {row[3] for row in rows if row[3] is not None}
        found = self.tx.ask_all(*((query, {"keys": sorted(others)}) for query in own.RELATIONS_AT)) if others else []
        strengths = {row[0]: Relation(*row[:11]).strength for each in found for row in each}
        for key in dict.fromkeys(move.a for move in self._of("strength")):
            self._weaken(key, [row for row in rows if row[0] == key], strengths)
        self._statements_back([Joined(row[1], row[0], row[3]) for row in rows if row[3] and row[1] != self.receipt])

    def _weaken(self, key: int, rows: list[Any], strengths: dict[int, Strength]) -> None:
        relation = self.part.relations.get(key)
        if relation is None:
            return
        steps = []
        for place, (_, merge, _, other, said) in enumerate(rows):
            values = json.loads(said)
            before, after = tuple(values[:4]), tuple(values[4:])
            steps.append(Step(place, merge, before, after, strengths.get(other) or given_by(before, after)))

        def combine(kept: Any, other: Any) -> Strength:
            return joined(Strength(*kept), Strength(*other), self.edge_rate, self.now)

        retraced = without(steps, self.receipt, tuple(relation.strength), combine)
        for step in retraced.steps:
            self._set_move(rows[step.place][1:3], said=json.dumps([*step.before, *step.after]))
        if retraced.values is not None:
            relation.take(Strength(*retraced.values))

    def _statements_back(self, others: list[Joined]) -> None:
        added = [Statement(move.a, move.b or 0) for move in self._of("source")]
        keys = sorted({each.other for each in others})
        stated = {Statement(row[0], row[1]) for row in (self.tx.ask(own.SOURCES, keys=keys) if keys else ())}
        dropped, handed_on = statements_back(added, others, stated)
        for each in dropped:
            if each.relation in self.part.relations:
                self.part.drop_source(*each)
                self.unstated.add(each)
        self.notes += [Note(merge, "source", relation, memory) for merge, (relation, memory) in handed_on]

    def _names_back(self, names: Sequence[Name]) -> None:
        moved = [move for move in self.moves if move.kind in {"alias", "name"}]
        wanted = {*names, *((move.said[0], move.said[1]) for move in moved)}
        rows = self.tx.ask(own.ALIASES_NAMED, names=[list(name) for name in sorted(wanted)])
        columns = ("name_key", "type_key", "name", "entity", "receipt")
        before = {(row[0], row[1]): dict(zip(columns, row, strict=True)) for row in rows}
        after = {name: dict(row) for name, row in before.items() if name not in names}
        allowed = _allowed(self.tx, [move for move in moved if move.kind == "name"], self.sources)
        for move in moved:
            place = (move.said[0], move.said[1])
            if move.kind == "name" and move in allowed:
                values = (*move.said, move.a, move.b)
                after[place] = dict(zip(columns, values, strict=True)) | _named(after.get(place))
            elif move.kind == "alias" and after.get(place, {}).get("entity") == self.target:
                after[place]["entity"] = move.a
        self.tx.do(own.DROP_ALIASES, [self.receipt])
        kept = {name: row for name, row in after.items() if row["receipt"] != self.receipt}
        dropped = [{"name_key": name[0], "type_key": name[1]} for name in sorted(before.keys() - kept.keys())]
        self.tx.do(own.DROP_ALIAS, dropped)
        self.tx.do(own.SET_ALIAS, [row for name, row in sorted(kept.items()) if row != before.get(name)])

    def told(self) -> Apart:
        relations = self.part.relations.values()
        return Apart(
            self.sources,
            {each.key: (each.subject, each.object) for each in relations},
            self.unstated,
            {each.key: (each, self.part.ids[each.key]) for each in relations},
            self.notes,
        )


def _named(row: dict[str, Any] | None) -> dict[str, Any]:
    """A name is written as it was first."""
    return {} if row is None else {"name": row["name"]}


def _given(tx: Change, receipts: Iterable[int]) -> dict[tuple[int, int], tuple[Any, ...]]:
    """What merges have taken in, by the entity and the merge."""
    rows = tx.ask(own.SOURCE_STRENGTHS, receipts=sorted(receipts))
    return {(row[0], row[1]): (row[2], row[3], int(row[4]), int(row[5])) for row in rows}


def _allowed(tx: Change, moves: list[_Move], living: set[int]) -> list[_Move]:
    """Names that stood for something else before, where that is still there and its merge was not taken apart."""
    if not moves:
        return []
    keys = sorted({move.a for move in moves})
    live, trashed, undone = tx.ask_all(
        (own.there(live=True), {"keys": keys}),
        (own.there(live=False), {"keys": keys}),
        (own.UNDONE, {"keys": sorted({move.b for move in moves if move.b is not None})}),
    )
    there = {key for (key,) in (*live, *trashed)} | living
    spent = {key for (key,) in undone}
    return [move for move in moves if move.a in there and move.b not in spent]
