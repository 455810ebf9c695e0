"""Entities and relations of one transaction: looked up once, changed in memory, written at its end.

Steps of a query do not see what earlier rows of the same step did, so what happens to one entity is
added up here first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from memsweep.model.contribution import Contribution, FactState, outcome
from memsweep.model.memory import DEFAULT_TYPE, NamedThing
from memsweep.model.text import case_key, name_key
from memsweep.store.falkor import cypher
from memsweep.store.falkor.rows import FalkorRows
from memsweep.store.falkor.transaction import Transaction
from memsweep.store.falkor.words import told
from memsweep.store.journals import note


@dataclass
class KnownEntity:
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


def sole(entity: KnownEntity, origin: int | None) -> int | None:
    """Return the only origin of an entity after this one passed it, too: with two it is neither's alone."""
    known: int | None = entity.props["origin"]
    return known if known == origin else 0


class Names:
    """The live entities of some names."""

    def __init__(self, tx: Transaction, names: Iterable[str]) -> None:
        self._tx = tx
        self._known: dict[tuple[str, str], KnownEntity] = {}
        self._by_name: dict[str, list[KnownEntity]] = {}
        self._other_names: dict[str, dict[str, KnownEntity]] = {}
        self.load(names)

    def load(self, names: Iterable[str]) -> None:
        wanted = [name for name in keys_of(names) if name not in self._by_name]
        if not wanted:
            return
        self._by_name |= {name: [] for name in wanted}
        named, once_named = self._tx.ask_all(
            (cypher.ENTITIES_NAMED, {"names": wanted}), (cypher.ENTITIES_ONCE_NAMED, {"names": wanted})
        )
        for row in named:
            self._remember(_known(row))
        for name, kind, *row in once_named:
            entity = self._same(_known(row))
            self._other_names.setdefault(name, {})[kind] = entity

    def find(self, thing: NamedThing) -> KnownEntity | None:
        """By name, and by type if there is one; a name that is not an entity's may be the old name of one."""
        if not thing.type:
            return self.surest(thing.name)
        name, kind = name_key(thing.name), name_key(thing.type)
        exact = self._known.get((case_key(thing.name), kind))
        return exact or self._known.get((name, kind)) or self._other_names.get(name, {}).get(kind)

    def of_name(self, name: str) -> list[KnownEntity]:
        """Return the entities that have the name, or if there are none, those that had it."""
        key = name_key(name)
        exact = self._by_name.get(case_key(name))
        return (
            exact
            or self._by_name.get(key)
            or sorted(self._other_names.get(key, {}).values(), key=lambda each: each.key)
        )

    def surest(self, name: str) -> KnownEntity | None:
        """Of several entities of one name: handed in before found, pinned before not, seen last, oldest."""
        return min(self.of_name(name), key=_by_certainty, default=None)

    def add(
        self,
        thing: NamedThing,
        uid: str,
        now: int,
        *,
        confidence: float,
        explicit: bool,
        named: str = "",
        origin: int | None = None,
    ) -> KnownEntity:
        """A new one; `named` is the key of its name if that is taken."""
        key = self._tx.new_key()
        props = {
            "key": key,
            "id": uid,
            "name": thing.name,
            "name_key": named or name_key(thing.name),
            "type": thing.type or DEFAULT_TYPE,
            "type_key": name_key(thing.type or DEFAULT_TYPE),
            "confidence": confidence,
            "handed_in": explicit,
            "pinned": False,
            "created_at": now,
            "last_seen": now,
            "version": 1,
            "origin": origin,
        }
        made = KnownEntity(key, props, is_new=True)
        self._remember(made)
        return made

    def write(self) -> None:
        """Write the entities that are new, and those that were seen again."""
        everyone = sorted(self._known.values(), key=lambda entity: entity.key)
        self._tx.do(cypher.ADD_ENTITY, [entity.props for entity in everyone if entity.is_new])
        seen = [entity for entity in everyone if entity.set and not entity.is_new]
        self._tx.do(cypher.SEE_ENTITY, [{"key": e.key, "set": e.set, "times": e.times} for e in seen])

    def _remember(self, entity: KnownEntity) -> None:
        self._by_name.setdefault(entity.props["name_key"], []).append(self._same(entity))

    def _same(self, entity: KnownEntity) -> KnownEntity:
        """Return the known one, under whichever name it was found."""
        return self._known.setdefault((entity.props["name_key"], entity.props["type_key"]), entity)


def _by_certainty(entity: KnownEntity) -> tuple[bool, bool, int, int]:
    props = entity.props
    return not props["handed_in"], not props["pinned"], -props["last_seen"], entity.key


def keys_of(names: Iterable[str]) -> list[str]:
    """Names as the graph looks them up, each once: by themselves, and beside one that differs in case alone."""
    wanted = set(names)
    return sorted({name_key(name) for name in wanted} | {case_key(name) for name in wanted})


def _known(row: list[Any]) -> KnownEntity:
    names = ("key", "id", "name", "name_key", "type_key", "handed_in", "last_seen", "pinned", "version", "origin")
    return KnownEntity(row[0], dict(zip(names, row, strict=True)))


Ends = tuple[int, str, int]


def fact_state(props: Mapping[str, Any]) -> FactState:
    """Return the state of a fact from the properties of a relation."""
    return FactState(
        weight=props["weight"],
        last_seen=props["last_seen"],
        evidence=props["evidence"],
        explicit=props["handed_in"],
        created_at=props["created_at"],
        valid_at=props["valid_at"],
        invalid_at=props.get("invalid_at"),
    )


class KnownRelations:
    """The current relations between some entities, by their ends and kind; of any kind `among` some others."""

    def __init__(
        self, tx: Transaction, wanted: Iterable[Ends], *, to_anything: bool = False, among: Iterable[int] = ()
    ) -> None:
        self._tx = tx
        self._known: dict[Ends, KnownEntity] = {}
        self._acts: list[Contribution] = []
        ends, others = set(wanted), set(among)
        if not ends and not others:
            return
        values = {
            "subjects": sorted({subject for subject, _, _ in ends} | others),
            "relations": None if others else sorted({kind for _, kind, _ in ends}),
            "objects": None if to_anything else sorted({target for _, _, target in ends} | others),
        }
        names = ("id", "weight", "last_seen", "evidence", "handed_in", "created_at", "valid_at")
        for subject, kind, target, key, *rest in tx.ask(cypher.RELATIONS_FROM, **values):
            self._known[subject, kind, target] = KnownEntity(key, dict(zip(names, rest, strict=True)))

    def find(self, ends: Ends) -> KnownEntity | None:
        return self._known.get(ends)

    def known(self) -> Iterable[tuple[Ends, KnownEntity]]:
        return self._known.items()

    def add(self, ends: Ends, relation: str, uid: str, now: int, **more: Any) -> KnownEntity:
        key = self._tx.new_key()
        props = {
            "key": key,
            "id": uid,
            "relation": relation,
            "relation_key": ends[1],
            "told": told(ends[1]),
            "weight": 1.0,
            "evidence": 1,
            "handed_in": False,
            "created_at": now,
            "last_seen": now,
            "valid_at": now,
            "version": 1,
            **more,
        }
        made = self._known[ends] = KnownEntity(key, props, is_new=True)
        return made

    def contribute(self, relation: KnownEntity, act: Contribution) -> FactState:
        """Write an act down with the rest, and what a fact that was there is after it."""
        after = outcome(act)
        if act.before is not None:
            weight, last_seen, evidence, explicit, *_ = after
            relation.change(weight=weight, last_seen=last_seen, evidence=evidence, handed_in=explicit)
        self._acts.append(act)
        return after

    def write(self) -> None:
        known = sorted(self._known.items(), key=lambda item: item[1].key)
        added = [{"subject": s, "object": o, "set": each.props} for (s, _, o), each in known if each.is_new]
        self._tx.do(cypher.ADD_RELATION, added)
        changed = [each for _, each in known if each.set and not each.is_new]
        self._tx.do(cypher.CHANGE_RELATION, [{"key": e.key, "set": e.set, "times": e.times} for e in changed])
        note(FalkorRows(self._tx), self._acts)
