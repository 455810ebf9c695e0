"""Purge: a merge that is freed is final, and the others lose nothing by it. Reads and decides first, writes last."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Set
from typing import TYPE_CHECKING

from memsweep.model.graph_rows import Alias, Name, RelationChange, RelationRecord
from memsweep.model.merging import HeldRelation, MovedEnd, after_purge, freed_with

if TYPE_CHECKING:
    from memsweep.store.changes import Changes

_ENDS = ("subject", "object")


class FinalMerges:
    """The merges that stand when some receipts are purged; `targets` are what each kept."""

    def __init__(self, tx: Changes, receipts: Collection[int]) -> None:
        self._tx, self._receipts = tx, set(receipts)
        self.targets = tx.moves.targets()
        self._final = self._receipts & self.targets.keys()
        self._standing = self.targets.keys() - self._receipts
        self._splits = tx.moves.splits().keys() - self._receipts
        rows = tx.relations.trashed_by(self._final) if self._final else []
        self.put_away = {each.key for each in rows}
        """By merges that are purged."""
        self._relations: list[RelationChange] = []
        self._aliases: list[Alias] = []
        self._merged_into: dict[int, int] = {}

    def loops(self) -> set[int]:
        """Facts between those that are one for good, in whichever trash they wait."""
        if not self._final:
            return set()
        keys = {move.a for move in self._tx.moves.of(self._final, _ENDS)}
        held = [each for each in map(_held, self._tx.relations.at(keys)) if each is not None]
        return freed_with(held, self._moved_ends(self.targets.keys(), keys), self._receipts)

    def stated_by_none_but(self, memories: Set[int]) -> set[int]:
        """Return relations put away by standing merges that nobody else would state if they came back."""
        rows = self._tx.relations.trashed_by(self._standing) if memories and self._standing else []
        found = self._tx.relations.sources({each.key for each in rows if not each.explicit})
        return {each.relation for each in found} - {each.relation for each in found if each.memory not in memories}

    def keep(self, around: Iterable[RelationRecord], entities: Set[int]) -> set[int]:
        """Keep what merges that stand put away, though one of the `entities` that it leads to is freed."""
        mine = {each.key for each in around if each.trash in self.targets and not entities.isdisjoint(each.ends)}
        if not (keys := self.put_away | mine):
            return set()
        before = {each.key: each for each in self._tx.relations.at(keys) if each.trash is not None}
        held = [each for each in map(_held, before.values()) if each is not None]
        after = after_purge(held, self._moved_ends(self._standing, keys), self._receipts, entities)
        changed = [each for each in after.kept if _held(before[each.key]) != each]
        for each in changed:
            moved = before[each.key].between(each.subject, each.object)._replace(trash=each.trash)
            self._relations.append(RelationChange(before[each.key], moved))
        return {each.key for each in after.kept}

    def _moved_ends(self, merges: Collection[int], relations: Collection[int]) -> list[MovedEnd]:
        if not merges:
            return []
        moves = self._tx.moves.of(merges, _ENDS, about=relations)
        return [MovedEnd(move.receipt, move.kind, move.a, move.b) for move in moves if move.b is not None]

    def finish(self, entities: Set[int]) -> None:
        """Redirect merges into what is gone to what was kept; names go back to where they were."""
        if not self._standing | self._splits:
            return
        if self._final:
            rows = self._tx.entities.trashed_by(self._final)
            self._merged_into = _in_the_end({row.key: self.targets[row.trash] for row in rows if row.trash is not None})
        names = self._tx.aliases.at(entities)
        if names:
            self._aliases = list(self._renamed(names))

    def _renamed(self, names: Iterable[Alias]) -> Iterable[Alias]:
        """The other names of an entity that goes are again those of what a merge that stands took them from."""
        before: dict[Name, int] = {}
        for move in self._tx.moves.of(self._standing, ("alias",)):
            before[move.said[0], move.said[1]] = move.a
        return (alias._replace(entity=before[alias.full_name]) for alias in names if alias.full_name in before)

    def write(self, tx: Changes) -> None:
        tx.relations.write(self._relations)
        if self._merged_into:
            tx.moves.hand_over(self._merged_into, self._standing | self._splits)
        tx.aliases.put(self._aliases)


def _held(relation: RelationRecord) -> HeldRelation | None:
    """A relation in the trash."""
    return None if relation.trash is None else HeldRelation(relation.key, *relation.ends, relation.trash)


def _in_the_end(kept: dict[int, int]) -> dict[int, int]:
    """Each entity with what it has become: a chain of merges may be final all at once."""
    found = {}
    for entity, successor in kept.items():
        last = successor
        while last in kept:
            last = kept[last]
        found[entity] = last
    return found
