"""Some relations of a graph: read once, given other ends or strengths in memory, and written at the end. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from memsweep.model.graph_rows import RelationChange, RelationRecord, Source
from memsweep.model.merging import Place, Strength


class RelationSet:
    """Relations by key, and who states them."""

    def __init__(self, relations: Iterable[RelationRecord], sources: Iterable[Source]) -> None:
        self.relations = {each.key: each for each in relations}
        self._before = dict(self.relations)
        self._at: dict[int, set[int]] = defaultdict(set)
        for each in self.relations.values():
            self._stand(each)
        every = self.relations.values()
        self._places: dict[Place, int] = {each.place: each.key for each in every if each.is_current}
        self._sources: dict[int, dict[int, bool]] = defaultdict(dict)
        for relation, memory, lives in sources:
            self._sources[relation][memory] = lives
        self._sources_before = {key: dict(memories) for key, memories in self._sources.items()}

    def at(self, entity: int) -> list[int]:
        """The keys of the relations that begin or end there now, the oldest first."""
        return sorted(self._at[entity])

    def equal_at(self, relation: RelationRecord, subject: int, target: int) -> int | None:
        """The current relation that says the same between other ends."""
        found = self._places.get((subject, relation.kind, target)) if relation.is_current else None
        return None if found == relation.key else found

    def trash(self, key: int, receipt: int) -> None:
        self._set(self.relations[key]._replace(trash=receipt))

    def move(self, key: int, subject: int, target: int) -> None:
        relation = self.relations[key]
        self._set(relation._replace(subject=subject, object=target, version=relation.version + 1))

    def strengthen(self, key: int, strength: Strength) -> None:
        self._set(self.relations[key].strengthened(strength))

    def _set(self, after: RelationRecord) -> None:
        before = self.relations[after.key]
        if before.is_current and self._places.get(before.place) == after.key:
            del self._places[before.place]
        if after.is_current:
            self._places[after.place] = after.key
        self.relations[after.key] = after
        if before.ends != after.ends:
            for end in before.ends:
                self._at[end].discard(after.key)
            self._stand(after)

    def _stand(self, relation: RelationRecord) -> None:
        for end in relation.ends:
            self._at[end].add(relation.key)

    def hand_on_sources(self, key: int, to: int) -> list[int]:
        """Give the sources of one relation to another; return those that are new to it."""
        mine = self._sources[to]
        new = sorted(memory for memory in self._sources[key] if memory not in mine)
        mine |= {memory: self._sources[key][memory] for memory in new}
        return new

    def stated_by(self, key: int) -> dict[int, bool]:
        """The memories that state one, and whether each is live."""
        return dict(self._sources.get(key, {}))

    def drop_source(self, key: int, memory: int) -> None:
        self._sources[key].pop(memory, None)

    def changes(self) -> Iterator[RelationChange]:
        """Yield the relations that are not as they were read."""
        for key in sorted(self.relations):
            change = self._change(key)
            if change.before != change.after or change.unstated_by or change.newly_stated_by:
                yield change

    def _change(self, key: int) -> RelationChange:
        now, before = self._sources.get(key, {}), self._sources_before.get(key, {})
        return RelationChange(
            self._before[key],
            self.relations[key],
            tuple(sorted(before.keys() - now.keys())),
            tuple(Source(key, memory, now[memory]) for memory in sorted(now.keys() - before.keys())),
        )
