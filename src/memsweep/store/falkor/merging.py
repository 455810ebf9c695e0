"""Several entities become one, and can be taken apart again. Inside the caller's transaction.

What a merge touches is read once, changed in memory as if it were done step by step, and written at the end. It
writes down every single thing it moves; taking it apart goes through that list backwards.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from memsweep.errors import BadInput, Conflict
from memsweep.model.decay import Rates, age_days, faded
from memsweep.model.graph import Merged
from memsweep.model.times import from_micros
from memsweep.store.falkor import cypher, gc_cypher, trash_cypher
from memsweep.store.falkor import merging_cypher as own
from memsweep.store.falkor.moving import Part
from memsweep.store.falkor.transaction import Change
from memsweep.store.falkor.undoing import Apart

Name = tuple[str, str]


@dataclass
class _Entity:
    key: int
    id: str
    name: str
    name_key: str
    type_key: str
    confidence: float
    last_seen: int
    handed_in: bool
    pinned: bool
    version: int

    @property
    def strength(self) -> list[Any]:
        return [self.confidence, self.last_seen, int(self.handed_in), int(self.pinned)]


def _entities(tx: Change, keys: Iterable[int]) -> dict[int, _Entity]:
    return {row[0]: _Entity(*row) for row in tx.ask(own.ENTITIES, keys=sorted(keys))}


def preview(tx: Change, sources: Sequence[int], target: int, plan_id: str) -> Merged:
    things = _entities(tx, [*sources, target])
    ((mentions,),), ((relations,),) = tx.ask_all(
        (own.COUNT_MENTIONS, {"keys": list(sources)}), (own.COUNT_RELATIONS, {"keys": list(sources)})
    )
    names = tuple(things[source].name for source in sources)
    return Merged(things[target].id, things[target].name, names, mentions, relations, 0, plan_id=plan_id)


class Merge:
    """One merge under way: everything it moves is written down under its receipt."""

    def __init__(
        self, tx: Change, receipt: int, target: int, sources: Sequence[int], rates: Rates, now: datetime
    ) -> None:
        self._tx, self._receipt, self._rates, self._now = tx, receipt, rates, now
        self._things = _entities(tx, [*sources, target])
        self.target = self._things[target]
        self._sources = sources
        self._part = _around(tx, target, sources)
        self._chunks = _Chunks(tx, target, sources)
        self._aliases = _Aliases(tx, [self._things[source] for source in sources])
        self._moves: list[dict[str, Any]] = []
        self.mentions = self.relations = self.joined = 0

    def run(self) -> tuple[str, ...]:
        """Everything of every entity to the target; their names."""
        names = tuple(self._take(self._things[source]) for source in self._sources)
        self._chunks.write(self._tx)
        self._part.write(self._tx)
        self._aliases.write(self._tx)
        values = dict(zip(_STRENGTH, _told(self.target.strength), strict=True))
        row = {"key": self.target.key, "set": {**values, "version": self.target.version}}
        self._tx.do(own.SET_ENTITY, [row])
        self._tx.do(gc_cypher.TRASH_ENTITY, [{"key": key, "trash": self._receipt} for key in self._sources])
        self._tx.do(own.ADD_MOVE, self._moves)
        return names

    def _take(self, source: _Entity) -> str:
        for chunk, shared in self._chunks.take(source.key):
            self._note("mention", chunk, source.key, None if shared else self.target.key)
            self.mentions += 1
        for key in self._part.at(source.key):
            self._take_relation(source.key, key)
        for alias in self._aliases.take(source, self.target.key, self._receipt):
            self._note("alias", source.key, said=list(alias))
        self._strengthen_target(source)
        return source.name

    def _note(self, kind: str, a: int, b: int | None = None, c: int | None = None, said: Any = None) -> None:
        move = {"receipt": self._receipt, "place": len(self._moves), "kind": kind, "a": a, "b": b, "c": c}
        self._moves.append({**move, "said": json.dumps(said)})

    def _take_relation(self, source: int, key: int) -> None:
        relation, target = self._part.relations[key], self.target.key
        before = {"subject": relation.subject, "object": relation.object}
        subject, other = (target if end == source else end for end in before.values())
        twin = self._part.twin(relation, subject, other)
        if twin is not None:
            self._join(twin, key)
        if twin is not None or (relation.is_current and subject == other):  # a fact between two that are one
            self._part.trash(key, self._receipt)
        for end, was in before.items():
            if was == source:
                self._note(end, key, source)
        self._part.move(key, subject, other)
        relation.version += 1
        self.relations += 1

    def _join(self, twin: int, gone: int) -> None:
        """Of two facts that are one now, the stronger counts; who stated the other states it."""
        kept, other = self._part.relations[twin], self._part.relations[gone]
        before = kept.strength
        if (
            other.weight is not None
            and kept.weight is not None
            and self._strength(other.weight, other.last_seen) > self._strength(kept.weight, kept.last_seen)
        ):
            kept.weight, kept.last_seen = other.weight, other.last_seen
        kept.evidence += other.evidence
        kept.handed_in = kept.handed_in or other.handed_in
        kept.version += 1
        self._note("strength", twin, said=[*before, *kept.strength])
        for memory in self._part.hand_on_sources(gone, twin):
            self._note("source", twin, memory)
        self.joined += 1

    def _strength(self, weight: float, seen: int) -> float:
        return faded(weight, self._rates.edge, age_days(from_micros(seen), self._now))

    def _strengthen_target(self, source: _Entity) -> None:
        target = self.target
        before = [*target.strength, target.version]
        target.confidence = max(target.confidence, source.confidence)
        target.last_seen = max(target.last_seen, source.last_seen)
        target.handed_in = target.handed_in or source.handed_in
        target.pinned = target.pinned or source.pinned
        target.version += 1
        self._note("target", target.key, None, target.version, before)


_STRENGTH = ("confidence", "last_seen", "handed_in", "pinned")


def _told(said: Sequence[Any]) -> list[Any]:
    """Yes and no are numbers in what a merge writes down, and in the files of the other engine."""
    confidence, seen, *flags = said
    return [confidence, seen, *map(bool, flags)]


def _around(tx: Change, target: int, sources: Sequence[int]) -> Part:
    """The relations of the sources, and those of the target that may be the same."""
    rows = tx.ask(own.RELATIONS_OF, keys=list(sources))
    kinds = sorted({row[3] for row in rows})
    return Part(tx, [*rows, *(tx.ask(own.TWINS, target=target, kinds=kinds) if kinds else [])])


class _Chunks:
    """The chunks that speak of the sources, and which of them speak of the target."""

    def __init__(self, tx: Change, target: int, sources: Sequence[int]) -> None:
        self._target = target
        rows, shared = tx.ask_all(
            (own.MENTIONS_OF, {"keys": list(sources)}), (own.MENTIONED_TOO, {"keys": list(sources), "target": target})
        )
        self._of: dict[int, list[int]] = {source: [] for source in sources}
        for source, chunk, _ in rows:
            self._of[source].append(chunk)
        self._lives = {chunk: lives for _, chunk, lives in rows}
        self._targets = {chunk for (chunk,) in shared}
        self._new: list[int] = []

    def take(self, source: int) -> list[tuple[int, bool]]:
        """The chunks of a source, and whether each spoke of the target already."""
        taken = [(chunk, chunk in self._targets) for chunk in self._of[source]]
        self._new += [chunk for chunk, shared in taken if not shared]
        self._targets.update(self._of[source])
        return taken

    def write(self, tx: Change) -> None:
        add_mentions(tx, [(chunk, self._target) for chunk in self._new if self._lives[chunk]], live=True)
        add_mentions(tx, [(chunk, self._target) for chunk in self._new if not self._lives[chunk]], live=False)
        tx.do(own.DROP_MENTIONS, self._of)


def add_mentions(tx: Change, pairs: Iterable[tuple[int, int]], *, live: bool) -> None:
    step = cypher.ADD_MENTION if live else cypher.ADD_TRASHED_MENTION
    tx.do(step, [{"chunk": chunk, "entity": entity} for chunk, entity in pairs])


class _Aliases:
    """The other names of some entities, and those that are their own names."""

    def __init__(self, tx: Change, things: Iterable[_Entity]) -> None:
        wanted = list(things)
        found = tx.ask_all(
            (own.ALIASES_OF, {"keys": [thing.key for thing in wanted]}),
            (own.ALIASES_NAMED, {"names": [[thing.name_key, thing.type_key] for thing in wanted]}),
        )
        names = ("name_key", "type_key", "name", "entity", "receipt")
        rows = (dict(zip(names, row, strict=True)) for each in found for row in each)
        self._rows: dict[Name, dict[str, Any]] = {(row["name_key"], row["type_key"]): row for row in rows}
        self._changed: dict[Name, None] = {}

    def take(self, source: _Entity, target: int, receipt: int) -> list[Name]:
        """Point everything at the target; which other names the source had."""
        mine = sorted(name for name, row in self._rows.items() if row["entity"] == source.key)
        for name in mine:
            self._rows[name]["entity"] = target
        place = (source.name_key, source.type_key)
        named = {"name_key": place[0], "type_key": place[1], "name": source.name}
        self._rows[place] = {**named, **self._rows.get(place, {}), "entity": target, "receipt": receipt}
        self._changed |= dict.fromkeys([*mine, place])
        return mine

    def write(self, tx: Change) -> None:
        tx.do(own.SET_ALIAS, [self._rows[name] for name in self._changed])


def take_apart(tx: Change, receipt: int) -> Apart | None:
    """Undo the merge of a receipt, if it was one; what the rest of the undo must know of it."""
    moves = [(kind, a, b, c, json.loads(said)) for kind, a, b, c, said in tx.ask(own.MOVES, receipt=receipt)]
    if not moves:
        return None
    target = next(a for kind, a, *_ in moves if kind == "target")
    for name, holder in tx.ask(own.HOLDER, key=target):
        raise Conflict(f"{name!r:.60} is not there to be taken apart.", hint=f"Undo {holder} first.")
    sources = tx.ask(own.SOURCES_OF_RECEIPT, receipt=receipt)
    _refuse_twins(tx, sources)
    tx.do(trash_cypher.RESTORE_ENTITY, [key for key, *_ in sources])
    apart = _Apart(tx, receipt, {key for key, *_ in sources}, moves)
    tx.do(own.DROP_ALIAS, [{"name_key": name, "type_key": kind} for *_, name, kind in sources])
    apart.run(target)
    tx.do(own.DROP_ALIASES, [receipt])
    tx.do(own.DROP_MOVES, [receipt])
    return apart.told()


def _refuse_twins(tx: Change, sources: Sequence[Sequence[Any]]) -> None:
    rows = tx.ask(trash_cypher.LIVE_TWINS, names=[[name, kind] for *_, name, kind in sources])
    twins = {(name, kind): uid for _, uid, name, kind, _ in rows}
    for _, uid, name, *place in sources:
        if (twin := twins.get(tuple(place))) is not None:
            raise Conflict(
                f"{uid} cannot come back: {name!r:.60} exists again as {twin}.", hint=f"Merge {twin} away first."
            )


@dataclass
class _Apart:
    """A merge that is being taken apart: its moves, the last one first."""

    tx: Change
    receipt: int
    sources: set[int]
    moves: list[tuple[str, int, int | None, int | None, Any]]
    part: Part = field(init=False)
    unstated: set[tuple[int, int]] = field(default_factory=set)

    def __post_init__(self) -> None:
        keys = sorted({a for kind, a, *_ in self.moves if kind in {"subject", "object", "strength", "source"}})
        rows = self.tx.ask_all(*((query, {"keys": keys}) for query in own.RELATIONS_AT))
        self.part = Part(self.tx, [row for each in rows for row in each], living=self.sources)

    def run(self, target: int) -> None:
        things = _entities(self.tx, [target])
        added, dropped, aliases = [], [], {}
        for kind, a, b, c, said in self.moves:
            match kind:
                case "mention":
                    added.append((a, b))
                    dropped += [] if c is None else [{"chunk": a, "entity": c}]
                case "subject" | "object" | "strength" | "source":
                    self._relation_back(kind, a, b, said)
                case "alias":
                    aliases[tuple(said)] = a
                case "target":
                    _weaken(things, a, c, said)
        for live in (True, False):
            add_mentions(self.tx, [(chunk, entity) for chunk, entity in added if entity is not None], live=live)
        self.tx.do(own.DROP_MENTION, dropped)
        self.part.write(self.tx)
        rows = [{"name_key": name, "type_key": kind, "entity": key} for (name, kind), key in aliases.items()]
        self.tx.do(own.POINT_ALIAS, rows)
        for thing in things.values():
            values = dict(zip(_STRENGTH, _told(thing.strength), strict=True))
            self.tx.do(own.SET_ENTITY, [{"key": thing.key, "set": {**values, "version": thing.version}}])

    def _relation_back(self, kind: str, key: int, other: int | None, said: Any) -> None:
        relation = self.part.relations.get(key)
        if relation is None:
            return
        if kind == "source":
            assert other is not None, "a statement has a memory"
            self.part.drop_source(key, other)
            self.unstated.add((key, other))
        elif kind == "strength":
            if relation.strength == said[4:]:  # nothing has strengthened it since
                relation.weight, relation.last_seen, relation.evidence = said[:3]
                relation.handed_in = bool(said[3])
                relation.version += 1
        else:
            assert other is not None, "an end is an entity"
            setattr(relation, kind, other)
            relation.version += 1

    def told(self) -> Apart:
        relations = self.part.relations.values()
        return Apart(
            self.sources,
            {each.key: (each.subject, each.object) for each in relations},
            self.unstated,
            {(each.subject, each.kind, each.object) for each in relations if each.is_current},
        )


def _weaken(things: dict[int, _Entity], key: int, version: int | None, said: Sequence[Any]) -> None:
    """The entity that was kept is as sure as before, unless something has changed it since."""
    thing = things.get(key)
    if thing is not None and thing.version == version:
        *strength, thing.version = said
        thing.confidence, thing.last_seen, thing.handed_in, thing.pinned = _told(strength)


def split(tx: Change, entity: int, new: int, relations: Sequence[str], memories: Sequence[str]) -> tuple[int, int]:
    """Move chosen relations, and the mentions in chosen memories, to another entity; how many of each."""
    part = Part(tx, tx.ask(own.RELATIONS_BY_ID, ids=sorted(set(relations))), living={new})
    touching = part.at(entity)
    if len(touching) < len(set(relations)):
        raise BadInput(
            f"{len(set(relations)) - len(touching)} of these relations are not about the entity; nothing was changed.",
            hint="get_related shows its relations with their ids.",
        )
    for key in touching:
        relation = part.relations[key]
        ends = (new if end == entity else end for end in (relation.subject, relation.object))
        part.move(key, *ends)
        relation.version += 1
    part.write(tx)
    chunks = [chunk for (chunk,) in tx.ask(own.MENTIONS_IN, key=entity, memories=list(memories))]
    add_mentions(tx, [(chunk, new) for chunk in chunks], live=True)
    tx.do(own.DROP_MENTION, [{"chunk": chunk, "entity": entity} for chunk in chunks])
    return len(touching), len(chunks)
