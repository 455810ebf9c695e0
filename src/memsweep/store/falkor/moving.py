"""Some relations of the graph: read once, given other ends or strengths in memory, and written at the end."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from memsweep.model.merging import Strength
from memsweep.store.falkor import merging_cypher as own
from memsweep.store.falkor.transaction import Change

Place = tuple[int, str, int]


@dataclass
class Relation:
    key: int
    subject: int
    object: int
    kind: str
    weight: float | None
    last_seen: int
    evidence: int
    handed_in: bool
    version: int
    trash: int | None
    invalid_at: int | None

    @property
    def is_current(self) -> bool:
        return self.trash is None and self.invalid_at is None

    @property
    def place(self) -> Place:
        return self.subject, self.kind, self.object

    @property
    def strength(self) -> Strength:
        return Strength(self.weight, self.last_seen, self.evidence, int(self.handed_in))

    def take(self, strength: Strength) -> None:
        self.weight, self.last_seen, self.evidence = strength[:3]
        self.handed_in = bool(strength.handed_in)
        self.version += 1


class Part:
    """Relations by key, and who states them; `living` are entities that live once this is written."""

    def __init__(self, tx: Change, rows: Iterable[Sequence[Any]], living: Collection[int] = ()) -> None:
        listed = list(rows)
        self.relations = {row[0]: Relation(*row[:11]) for row in listed}
        self.ids: dict[int, str] = {row[0]: row[13] for row in listed}
        self._before = {key: replace(relation) for key, relation in self.relations.items()}
        self._lives = {row[1]: row[11] for row in listed} | {row[2]: row[12] for row in listed}
        self._lives |= dict.fromkeys(living, True)
        self._places = {each.place: each.key for each in self.relations.values() if each.is_current}
        self._sources: dict[int, dict[int, None]] = defaultdict(dict)
        self._memory_lives: dict[int, bool] = {}
        for key, memory, lives in tx.ask(own.SOURCES, keys=sorted(self.relations)) if listed else ():
            self._sources[key][memory] = None
            self._memory_lives[memory] = lives
        self._stated = {key: set(memories) for key, memories in self._sources.items()}

    def at(self, entity: int) -> list[int]:
        """The keys of the relations that begin or end there now, the oldest first."""
        return sorted(key for key, each in self.relations.items() if entity in (each.subject, each.object))

    def twin(self, relation: Relation, subject: int, target: int) -> int | None:
        """The current relation that says the same between other ends."""
        found = self._places.get((subject, relation.kind, target)) if relation.is_current else None
        return None if found == relation.key else found

    def trash(self, key: int, receipt: int) -> None:
        relation = self.relations[key]
        if relation.is_current:
            self._places.pop(relation.place, None)
        relation.trash = receipt

    def move(self, key: int, subject: int, target: int) -> None:
        relation = self.relations[key]
        if relation.is_current:
            self._places.pop(relation.place, None)
        relation.subject, relation.object = subject, target
        if relation.is_current:
            self._places[relation.place] = key

    def hand_on_sources(self, key: int, to: int) -> list[int]:
        """Who states one states the other too; those to whom that is new."""
        new = [memory for memory in sorted(self._sources[key]) if memory not in self._sources[to]]
        self._sources[to] |= dict.fromkeys(new)
        return new

    def drop_source(self, key: int, memory: int) -> None:
        self._sources[key].pop(memory, None)

    def write(self, tx: Change) -> None:
        """A few steps for any number of relations."""
        steps: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for key in sorted(self.relations):
            after, before = self.relations[key], self._before[key]
            if after != before:
                step, row = self._changed(after, before)
                steps[step].append(row)
        for key in sorted(self._sources):
            for step, row in self._restated(key):
                steps[step].append(row)
        for step, rows in steps.items():
            tx.do(step, rows)

    def _changed(self, after: Relation, before: Relation) -> tuple[str, dict[str, Any]]:
        names = ("weight", "last_seen", "evidence", "handed_in", "version", "trash")
        changed = {name: getattr(after, name) for name in names if getattr(after, name) != getattr(before, name)}
        row = {"key": after.key, "subject": after.subject, "object": after.object, "set": changed}
        was_live, is_live = before.trash is None, after.trash is None
        if (after.place, is_live) == (before.place, was_live):
            return own.set_relation(is_live=is_live), row
        step = own.move_relation(
            was_live=was_live,
            is_live=is_live,
            subject_lives=self._lives.get(after.subject, True),
            object_lives=self._lives.get(after.object, True),
        )
        return step, row

    def _restated(self, key: int) -> Iterator[tuple[str, dict[str, Any]]]:
        """A statement leads to where its relation begins."""
        subject, before, after = self.relations[key].subject, self._stated.get(key, set()), self._sources[key].keys()
        for memory in sorted(before - after):
            yield own.DROP_SOURCE, {"relation": key, "memory": memory}
        if before & after and subject != self._before[key].subject:
            yield own.MOVE_SOURCES, {"relation": key, "subject": subject}
        for memory in sorted(after - before):
            row = {"relation": key, "memory": memory, "subject": subject}
            yield own.add_source(memory_lives=self._memory_lives[memory]), row
