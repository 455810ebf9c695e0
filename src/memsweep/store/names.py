"""Entities by their names, and the facts between them: looked up once, decided about in memory, written at the end.

A transaction does not see what it has written, so whatever happens to one entity or fact is added up here first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memsweep.model.contribution import Contribution, FactState, outcome
from memsweep.model.graph_rows import Alias
from memsweep.model.memory import DEFAULT_TYPE, NamedThing
from memsweep.model.text import case_key, name_key
from memsweep.store.journals import note
from memsweep.store.records import by_certainty, in_any_case
from memsweep.store.rows import Find, Rows, Where, is_in
from memsweep.store.things.graph import EntityRow, RelationRow

SEEN = ("name", "explicit", "confidence", "last_seen", "origin", "version")
STATED = ("weight", "last_seen", "evidence", "explicit", "invalid_at", "version")
HOLDS: Where = ("invalid_at", "null", None)


@dataclass(eq=False, slots=True)
class Handled:
    """An entity or a relation that a transaction has to do with, as it is by now."""

    row: Any
    is_new: bool = False
    is_changed: bool = False

    def change(self, **values: Any) -> None:
        """Change it, which makes another version of it."""
        self.touch(version=self.row.version + 1, **values)

    def touch(self, **values: Any) -> None:
        """Change it as the same version."""
        self.row = self.row._replace(**values)
        self.is_changed = True


Place = tuple[Handled, str, Handled]
"""The ends of a fact, and its kind."""


def reads_of_names(names: Collection[str]) -> tuple[Find, Find]:
    """Return the reads of the entities that have these names, and of the names that entities had."""
    keys = {name_key(name) for name in names}
    wanted = keys | {case_key(name) for name in names}
    return (
        Find(EntityRow, (("name_key", "in", wanted),)),
        Find(Alias, (("name_key", "in", keys),), order=()),
    )


class Names:
    """The live entities of some names."""

    def __init__(self, rows: Rows, found: Iterable[EntityRow], aliases: Sequence[Alias]) -> None:
        self._rows, self._aliases = rows, aliases
        self._by_key: dict[int, Handled] = {}
        self._by_name: dict[str, list[Handled]] = defaultdict(list)
        self._once: dict[str, dict[str, Handled]] = defaultdict(dict)
        self._cased: dict[str, list[Handled]] = {}
        self._new: list[Handled] = []
        for row in found:
            self._by_name[row.name_key].append(self.same(row))

    def look_further(self, loose: Iterable[str] = ()) -> None:
        """Look up who had the names; and of `loose` ones that nobody has, who has them in another letter case."""
        missing = [name for name in loose if not self.named(name)]
        if not missing and not self._aliases:
            return
        once, *cased = self._rows.ask(
            Find(EntityRow, (("key", "in", {alias.entity for alias in self._aliases}),)),
            *(Find(EntityRow, in_any_case(name)) for name in missing),
        )
        of = {row.key: self.same(row) for row in once}
        for alias in self._aliases:
            if alias.entity in of:
                self._once[alias.name_key][alias.type_key] = of[alias.entity]
        self._cased = {name: [self.same(row) for row in rows] for name, rows in zip(missing, cased, strict=True)}

    def same(self, row: EntityRow) -> Handled:
        """Return the one of that key, under whichever name it was found."""
        return self._by_key.setdefault(row.key, Handled(row))

    def at(self, key: int) -> Handled | None:
        return self._by_key.get(key)

    def named(self, name: str) -> list[Handled]:
        """Return those that have the name: spelled exactly so beside another, or as names are compared."""
        return self._by_name.get(case_key(name)) or self._by_name.get(name_key(name)) or []

    def known_as(self, name: str) -> list[Handled]:
        """Return those that have the name, or if there are none, those that had it."""
        return self.named(name) or [*self._once.get(name_key(name), {}).values()]

    def find(self, thing: NamedThing) -> Handled | None:
        """Return the one of that name and type; without a type, the surest of that name."""
        if not thing.type:
            return self.surest(thing.name)
        kind = name_key(thing.type)
        named = (each for key in (case_key, name_key) for each in self._by_name.get(key(thing.name), ()))
        once = self._once.get(name_key(thing.name), {}).get(kind)
        return next((each for each in named if each.row.type_key == kind), once)

    def surest(self, name: str) -> Handled | None:
        """Return the surest of those that have a name, or had it, or have it in another letter case."""
        known = self.known_as(name) or self._cased.get(name, [])
        return min(known, key=lambda each: by_certainty(each.row), default=None)

    def add(self, thing: NamedThing, uid: str, at: int, origin: int | None, *, named: str = "", **more: Any) -> Handled:
        """Add a new one; `named` is the key of its name, if that is taken."""
        kind = thing.type or DEFAULT_TYPE
        said = (uid, thing.name, named or name_key(thing.name), kind, name_key(kind))
        made = Handled(EntityRow(*said, at, at, origin=origin, **more), is_new=True)
        self._by_name[made.row.name_key].append(made)
        self._new.append(made)
        return made

    def write(self, columns: tuple[str, ...] = SEEN) -> None:
        """Write those that are new, which get their keys, and these columns of those that were changed."""
        keep(self._rows, EntityRow, [*self._new, *self._by_key.values()], columns)


class Facts:
    """The current facts between some entities, and what is contributed to them."""

    def __init__(self, rows: Rows, names: Names, found: Iterable[RelationRow]) -> None:
        self._rows = rows
        self.known: dict[Place, Handled] = {}
        self._ended: list[Handled] = []
        self._acts: list[tuple[Handled, Contribution]] = []
        for row in sorted(found, key=lambda each: each.key):
            ends = names.at(row.subject), names.at(row.object)
            if ends[0] is not None and ends[1] is not None:
                self.known[ends[0], row.relation_key, ends[1]] = Handled(row)

    def add(self, place: Place, uid: str, relation: str, at: int, origin: int | None, **more: Any) -> Handled:
        """Add a new one that has held since a moment."""
        said = {"weight": 1.0, "evidence": 1, "explicit": False, "valid_at": at, **more}
        row = RelationRow(
            id=uid,
            subject=0,
            object=0,
            relation=relation,
            relation_key=place[1],
            current=None,
            created_at=at,
            last_seen=at,
            invalid_at=None,
            version=1,
            trash=None,
            origin=origin,
            released_at=None,
            key=0,
            **said,
        )
        made = self.known[place] = Handled(row, is_new=True)
        return made

    def contribute(self, fact: Handled, act: Contribution) -> FactState:
        """Write an act down with the rest; return what the fact is after it."""
        after = outcome(act)
        if act.before is not None:
            fact.change(**dict(zip(FactState._fields[:4], after[:4], strict=True)))
        self._acts.append((fact, act))
        return after

    def end(self, place: Place, at: int, act: Contribution) -> str:
        """End a fact, and return its id."""
        fact = self.known.pop(place)
        self._acts.append((fact, act))
        fact.change(invalid_at=at)
        self._ended.append(fact)
        return str(fact.row.id)

    def write(self, memory: int | None = None) -> None:
        """Write all of it, once the entities have their keys; a `memory` that was added meanwhile said it."""
        for (subject, _, target), fact in self.known.items():
            if fact.is_new:
                fact.row = fact.row._replace(subject=subject.row.key, object=target.row.key)
        keep(self._rows, RelationRow, [*self.known.values(), *self._ended], STATED)
        acts = [act._replace(relation=fact.row.key) for fact, act in self._acts]
        note(self._rows, acts if memory is None else [act._replace(memory=memory) for act in acts])


def state_of(row: Any) -> FactState:
    return FactState(*(getattr(row, name) for name in FactState._fields))


def read_of_facts(names: Iterable[Handled], kinds: Collection[str] | None, others: Iterable[Handled]) -> Find:
    """Return the read of the current facts from some entities to others; of all kinds, if none are named."""
    subjects, objects = ({each.row.key for each in some if not each.is_new} for some in (names, others))
    wanted: tuple[Where, ...] = (
        ("subject", "in", subjects),
        ("object", "in", objects),
        *is_in("relation_key", kinds),
        HOLDS,
    )
    return Find(RelationRow, wanted, order=(), near="live")


def keep(rows: Rows, row: type[Any], every: Collection[Handled], columns: tuple[str, ...]) -> None:
    """Write what is new, which gets its keys, and what was changed."""
    new = [each for each in every if each.is_new]
    for each, key in zip(new, rows.add([each.row for each in new]), strict=True):
        each.row = each.row._replace(key=key)
    changed: Mapping[int, Any] = {
        each.row.key: [getattr(each.row, name) for name in columns]
        for each in every
        if each.is_changed and not each.is_new
    }
    rows.change(row, columns, changed, bin="live")
