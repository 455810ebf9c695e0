"""Purge: what old receipts hold leaves for good, merges among them. Reads and decides first, writes last."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from memsweep.model.audit import AuditQuery, Purged
from memsweep.model.graph_rows import ENDS, Alias, Name, RelationChange, RelationRecord
from memsweep.model.merging import HeldRelation, MovedEnd, after_purge, freed_with
from memsweep.model.plan import Selection, Totals
from memsweep.model.revision import MEMORY
from memsweep.store.paused import gc_paused

if TYPE_CHECKING:
    from memsweep.model.plan import Operation
    from memsweep.store.changes import Changes
    from memsweep.store.collector import Collector


# Purge: a merge that is freed is final, and the others lose nothing by it. Reads and decides first, writes last.


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
        keys = {move.a for move in self._tx.moves.of(self._final, ENDS)}
        held = [each for each in map(_held_relation, self._tx.relations.at(keys)) if each is not None]
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
        held = [each for each in map(_held_relation, before.values()) if each is not None]
        after = after_purge(held, self._moved_ends(self._standing, keys), self._receipts, entities)
        changed = [each for each in after.kept if _held_relation(before[each.key]) != each]
        for each in changed:
            moved = before[each.key].between(each.subject, each.object)._replace(trash=each.trash)
            self._relations.append(RelationChange(before[each.key], moved))
        return {each.key for each in after.kept}

    def _moved_ends(self, merges: Collection[int], relations: Collection[int]) -> list[MovedEnd]:
        if not merges:
            return []
        moves = self._tx.moves.of(merges, ENDS, about=relations)
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


def _held_relation(relation: RelationRecord) -> HeldRelation | None:
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


def purge(store: Collector, before: datetime, doing: Operation) -> Purged:
    """Free the trash of receipts up to a moment, so that nothing of it is left in the workspace or beside it."""
    with store.changing() as tx:
        receipts = tx.receipts.not_purged(before)
        keys = {receipt.key for receipt in receipts}
        plans = tx.plans.keys([receipt.plan_id for receipt in receipts if receipt.plan_id])
        with gc_paused():
            freeing = Freeing(tx, tx.trash.held_by(keys), keys)
        freeing.write(tx)
        segments = tx.segments.free(keys)
        close(tx, {receipt.key: receipt.id for receipt in receipts}, plans, doing, freeing.ids)
    # Even if there was nothing to free: an earlier purge may have been cut short here.
    freed = freeing.totals
    notes = store.wipe("the trash is freed", freed=bool(segments or freeing.revisions) or freed != Totals())
    counts = (freed.memories, freed.chunks, freed.entities, freed.relations, segments)
    return Purged(tuple(receipt.id for receipt in receipts), *counts, tuple(notes), revisions=len(freeing.revisions))


def close(
    tx: Changes,
    receipts: Mapping[int, str],
    plans: Collection[int],
    doing: Operation,
    ids: Mapping[int, Sequence[str]],
) -> None:
    """The receipts (their ids by key) are spent, and their plans say no more what was in them; the log keeps the ids of
    what each held."""
    tx.plans.forget(plans)
    tx.receipts.set_purged([*receipts], doing.now)
    for key, receipt_id in receipts.items():
        tx.audit(doing.event("purge", receipt_id, ids=ids.get(key, ())))


class Freeing:
    """The data that leaves with some receipts, decided when it is made.

    `held` is theirs; without receipts it goes to the trash in the same transaction. What another receipt's memories
    state or mention is that receipt's now, or its undo would miss it.
    """

    def __init__(self, tx: Changes, held: Selection, receipts: Collection[int] = ()) -> None:
        self._receipts = set(receipts)
        self._earlier = tx.revisions.of_items(MEMORY, held.memories) if held.memories else []
        self._merges = FinalMerges(tx, self._receipts)
        unstated = self._merges.stated_by_none_but(held.memories)
        self._held = held = replace(held, relations=held.relations | self._withdrawn(tx) | unstated)
        loops = self._merges.loops() | unstated
        self._needed = tx.relations.needed_by(held.relations - self._merges.put_away - loops, self._receipts)
        around = tx.relations.touching(held.entities)
        mentioned = tx.mentions.needed_by(held.entities, self._receipts)
        self._holders = self._held_by_others(around, mentioned)
        entities = held.entities - self._holders.keys()
        kept = self._merges.keep(around, entities)
        lost = {each.key for each in around if not entities.isdisjoint(each.ends)}
        relations = ((held.relations - self._needed.keys()) | lost) - kept | loops
        self._merges.finish(entities)
        self.gone = Selection(held.memories, held.chunks, entities, relations)
        self.ids = _by_receipt(tx.trash.holders(self.gone)) if self._receipts else {}
        self.revisions = self._held_revisions(tx)

    @property
    def totals(self) -> Totals:
        return self.gone.totals

    def write(self, tx: Changes) -> None:
        tx.relations.hand_on(self._needed)
        tx.entities.hand_on(self._holders)
        self._merges.write(tx)
        tx.trash.free(self.gone)
        tx.revisions.free(self.revisions)
        tx.moves.drop(self._receipts)
        tx.acts.free(self._receipts)

    def _held_revisions(self, tx: Changes) -> set[int]:
        """Return the revisions of the receipts, and of all that leaves for good."""
        found = tx.revisions.of_receipts(self._receipts) if self._receipts else []
        gone = {"entity": self.gone.entities, "relation": self.gone.relations, "segment": self._segments(tx)}
        for kind, keys in gone.items():
            found += tx.revisions.of_items(kind, keys) if keys else []
        return {each.key for each in (*found, *self._earlier)}

    def _segments(self, tx: Changes) -> set[int]:
        return tx.segments.held_by(self._receipts) if self._receipts else set()

    def _withdrawn(self, tx: Changes) -> set[int]:
        """Return the relations that only earlier texts stated, which have left with an update."""
        holders = {key: each.receipt for each in self._earlier for key in each.before["states"]}
        rows = tx.relations.at(holders) if holders else []
        return {row.key for row in rows if row.trash == holders[row.key]}

    def _held_by_others(self, around: Iterable[RelationRecord], mentioned: dict[int, int]) -> dict[int, int]:
        """Entities that something in another receipt's trash mentions or leads to, and that receipt.

        What a merge put away holds no entity: it comes back with the merge, or goes with it.
        """
        found = dict(mentioned)
        for each in around:
            if each.trash in self._merges.targets:
                continue
            holder = self._needed.get(each.key, None if each.key in self._held.relations else each.trash)
            if holder is not None and holder not in self._receipts:
                for entity in self._entities_at(each):
                    found[entity] = max(found.get(entity, 0), holder)
        return found

    def _entities_at(self, relation: RelationRecord) -> Set[int]:
        return self._held.entities & set(relation.ends)


def _by_receipt(held: Iterable[tuple[int, str]]) -> dict[int, list[str]]:
    found: dict[int, list[str]] = defaultdict(list)
    for receipt, uid in held:
        found[receipt].append(uid)
    return found


_LOOKED_THROUGH = 10_000
_SHOWN_BACKUPS = 5


def earlier_backups(store: Collector) -> list[str]:
    """Copies that were made before, which nothing here changes; the newest first."""
    events = [event for _, event in store.audit(_LOOKED_THROUGH, AuditQuery(action="backup"))]
    files = list(dict.fromkeys(event.subject for event in events))
    if not files:
        return []
    more = f" and {len(files) - _SHOWN_BACKUPS:,} more" if len(files) > _SHOWN_BACKUPS else ""
    return [f"Backups made earlier may still have it: {', '.join(files[:_SHOWN_BACKUPS])}{more}."]
