"""Several entities become one. Inside the caller's transaction.

What a merge touches is read once, changed in memory as if it were done step by step, and written at the end. It
writes down every single thing it moves; taking it apart (`unmerging`) goes through that list backwards.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memsweep.errors import BadInput
from memsweep.model.decay import Rates
from memsweep.model.graph import Merged
from memsweep.model.merging import highest, is_made_one, joined
from memsweep.store.falkor import cypher, gc_cypher
from memsweep.store.falkor import merging_cypher as own
from memsweep.store.falkor.moving import Part
from memsweep.store.falkor.transaction import Change

Name = tuple[str, str]


@dataclass
class Thing:
    """An entity, as far as a merge looks at it."""

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
    def strength(self) -> tuple[Any, ...]:
        """Yes and no are numbers in what a merge writes down, and in the files of the other engine."""
        return self.confidence, self.last_seen, int(self.handed_in), int(self.pinned)

    def take(self, strength: Sequence[Any]) -> None:
        self.confidence, self.last_seen = strength[:2]
        self.handed_in, self.pinned = map(bool, strength[2:])

    @property
    def row(self) -> dict[str, Any]:
        names = ("confidence", "last_seen", "handed_in", "pinned", "version")
        return {"key": self.key, "set": {name: getattr(self, name) for name in names}}


def things_of(tx: Change, keys: Iterable[int]) -> dict[int, Thing]:
    return {row[0]: Thing(*row) for row in tx.ask(own.ENTITIES, keys=sorted(keys))}


def preview(tx: Change, sources: Sequence[int], target: int, plan_id: str) -> Merged:
    things = things_of(tx, [*sources, target])
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
        self._things = things_of(tx, [*sources, target])
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
        self._tx.do(own.SET_ENTITY, [self.target.row])
        self._tx.do(gc_cypher.TRASH_ENTITY, [{"key": key, "trash": self._receipt} for key in self._sources])
        self._tx.do(own.ADD_MOVE, self._moves)
        return names

    def _take(self, source: Thing) -> str:
        for chunk, shared in self._chunks.take(source.key):
            self._note("mention", chunk, source.key, None if shared else self.target.key)
            self.mentions += 1
        for key in self._part.at(source.key):
            self._take_relation(source.key, key)
        for alias in self._aliases.repoint(source.key, self.target.key):
            self._note("alias", source.key, said=list(alias))
        if (other := self._aliases.named(source)) is not None:
            said = [source.name_key, source.type_key, other["name"]]
            self._note("name", other["entity"], other["receipt"], said=said)
        self._aliases.add(source, self.target.key, self._receipt)
        self._strengthen_target(source)
        return source.name

    def _note(self, kind: str, a: int, b: int | None = None, c: int | None = None, said: Any = None) -> None:
        move = {"receipt": self._receipt, "place": len(self._moves), "kind": kind, "a": a, "b": b, "c": c}
        self._moves.append({**move, "said": json.dumps(said)})

    def _take_relation(self, source: int, key: int) -> None:
        relation, target = self._part.relations[key], self.target.key
        before = {"subject": relation.subject, "object": relation.object}
        subject, other = (target if end == source else end for end in before.values())
        is_empty = is_made_one((relation.subject, relation.object), (subject, other))
        twin = None if is_empty else self._part.twin(relation, subject, other)
        if twin is not None:
            self._join(twin, key)
        if twin is not None or (relation.trash is None and is_empty):
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
        kept.take(joined(before, other.strength, self._rates.edge, self._now))
        self._note("strength", twin, gone, said=[*before, *kept.strength])
        for memory in self._part.hand_on_sources(gone, twin):
            self._note("source", twin, memory)
        self.joined += 1

    def _strengthen_target(self, source: Thing) -> None:
        target = self.target
        before = [*target.strength, target.version]
        target.take(highest(target.strength, source.strength))
        target.version += 1
        self._note("target", target.key, source.key, target.version, before)


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

    def __init__(self, tx: Change, things: Iterable[Thing]) -> None:
        wanted = list(things)
        found = tx.ask_all(
            (own.ALIASES_OF, {"keys": [thing.key for thing in wanted]}),
            (own.ALIASES_NAMED, {"names": [[thing.name_key, thing.type_key] for thing in wanted]}),
        )
        names = ("name_key", "type_key", "name", "entity", "receipt")
        rows = (dict(zip(names, row, strict=True)) for each in found for row in each)
        self._rows: dict[Name, dict[str, Any]] = {(row["name_key"], row["type_key"]): row for row in rows}
        self._changed: dict[Name, None] = {}

    def repoint(self, source: int, target: int) -> list[Name]:
        """Point the other names of the source at the target; which those are."""
        mine = sorted(name for name, row in self._rows.items() if row["entity"] == source)
        for name in mine:
            self._rows[name]["entity"] = target
        self._changed |= dict.fromkeys(mine)
        return mine

    def named(self, source: Thing) -> dict[str, Any] | None:
        """What the name of the source stands for beside it."""
        return self._rows.get((source.name_key, source.type_key))

    def add(self, source: Thing, target: int, receipt: int) -> None:
        place = (source.name_key, source.type_key)
        named = {"name_key": place[0], "type_key": place[1], "name": source.name}
        self._rows[place] = {**named, **self._rows.get(place, {}), "entity": target, "receipt": receipt}
        self._changed[place] = None

    def write(self, tx: Change) -> None:
        tx.do(own.SET_ALIAS, [self._rows[name] for name in self._changed])


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
