"""Entities and relations of one transaction: looked up once, changed in memory, written at its end.

Steps of a query do not see what earlier rows of the same step did, so what happens to one entity is
added up here first.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from memsweep.model.memory import NamedThing
from memsweep.model.text import name_key
from memsweep.store.falkor import cypher
from memsweep.store.falkor.transaction import Change


@dataclass
class Known:
    """One entity or relation; `made` is all of it if it is new, else `set` is what changes, `times` how often."""

    key: int
    props: dict[str, Any]
    is_new: bool = False
    set: dict[str, Any] = field(default_factory=dict)
    times: int = 0

    def change(self, *, raises_version: bool = True, **values: Any) -> None:
        self.props |= values
        self.set |= values
        self.times += raises_version
        if self.is_new and raises_version:
            self.props["version"] += 1


class Names:
    """The live entities of some names."""

    def __init__(self, tx: Change, names: Iterable[str]) -> None:
        self._tx = tx
        self._known: dict[tuple[str, str], Known] = {}
        self._by_name: dict[str, list[Known]] = {}
        self.load(names)

    def load(self, names: Iterable[str]) -> None:
        wanted = sorted({name_key(name) for name in names} - self._by_name.keys())
        if not wanted:
            return
        self._by_name |= {name: [] for name in wanted}
        for key, name, kind, handed_in, last_seen, *rest in self._tx.ask(cypher.ENTITIES_NAMED, names=wanted):
            pinned, version = rest
            props = {"name_key": name, "type_key": kind, "handed_in": handed_in, "last_seen": last_seen}
            self._remember(Known(key, {**props, "key": key, "pinned": pinned, "version": version}))

    def find(self, thing: NamedThing) -> Known | None:
        return self._known.get((name_key(thing.name), name_key(thing.type)))

    def of_name(self, name: str) -> list[Known]:
        return self._by_name.get(name_key(name), [])

    def add(self, thing: NamedThing, uid: str, now: int, *, confidence: float, handed_in: bool) -> Known:
        key = self._tx.new_key()
        props = {
            "key": key,
            "id": uid,
            "name": thing.name,
            "name_key": name_key(thing.name),
            "type": thing.type,
            "type_key": name_key(thing.type),
            "confidence": confidence,
            "handed_in": handed_in,
            "pinned": False,
            "created_at": now,
            "last_seen": now,
            "version": 1,
        }
        made = Known(key, props, is_new=True)
        self._remember(made)
        return made

    def write(self) -> None:
        """What is new, and what was seen again."""
        everyone = sorted(self._known.values(), key=lambda entity: entity.key)
        self._tx.do(cypher.ADD_ENTITY, [entity.props for entity in everyone if entity.is_new])
        seen = [entity for entity in everyone if entity.set and not entity.is_new]
        self._tx.do(cypher.SEE_ENTITY, [{"key": e.key, "set": e.set, "times": e.times} for e in seen])

    def _remember(self, entity: Known) -> None:
        self._known[entity.props["name_key"], entity.props["type_key"]] = entity
        self._by_name.setdefault(entity.props["name_key"], []).append(entity)


Ends = tuple[int, str, int]


class Relations:
    """The current relations between some entities, by their ends and kind."""

    def __init__(self, tx: Change, wanted: Iterable[Ends]) -> None:
        self._tx = tx
        self._known: dict[Ends, Known] = {}
        ends = set(wanted)
        if not ends:
            return
        values = {
            "subjects": sorted({subject for subject, _, _ in ends}),
            "relations": sorted({kind for _, kind, _ in ends}),
            "objects": sorted({target for _, _, target in ends}),
        }
        names = ("id", "weight", "last_seen", "evidence", "handed_in")
        for subject, kind, target, key, *rest in tx.ask(cypher.RELATIONS_FROM, **values):
            self._known[subject, kind, target] = Known(key, dict(zip(names, rest, strict=True)))

    def find(self, ends: Ends) -> Known | None:
        return self._known.get(ends)

    def add(self, ends: Ends, relation: str, uid: str, now: int, **more: Any) -> Known:
        key = self._tx.new_key()
        props = {
            "key": key,
            "id": uid,
            "relation": relation,
            "relation_key": ends[1],
            "weight": 1.0,
            "evidence": 1,
            "handed_in": False,
            "created_at": now,
            "last_seen": now,
            "valid_at": now,
            "version": 1,
            **more,
        }
        made = self._known[ends] = Known(key, props, is_new=True)
        return made

    def write(self) -> None:
        known = sorted(self._known.items(), key=lambda item: item[1].key)
        added = [{"subject": s, "object": o, "set": each.props} for (s, _, o), each in known if each.is_new]
        self._tx.do(cypher.ADD_RELATION, added)
        changed = [each for _, each in known if each.set and not each.is_new]
        self._tx.do(cypher.CHANGE_RELATION, [{"key": e.key, "set": e.set, "times": e.times} for e in changed])
