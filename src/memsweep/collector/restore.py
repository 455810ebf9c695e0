"""Restore the content of a receipt, or one item, beside all that was made again meanwhile.

What a memory that comes back mentions or states comes with it, also if a later receipt took that: undoing
two receipts gives the same in either order, and nothing that lives waits for a purge.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from memsweep.collector.earlier_texts import StandingEntities, by_memory
from memsweep.collector.retraction import as_the_rows_are
from memsweep.collector.unmerge import Unmerge
from memsweep.collector.written_since import named_since, no_names
from memsweep.model.contribution import FactState
from memsweep.model.graph_rows import ENDS, EntityRecord, Move, Place, RelationChange, RelationRecord, Source
from memsweep.model.memory import DEFAULT_TYPE
from memsweep.model.merging import Contender, MovedEnd, PutAway, RelationSet, Settled, settle
from memsweep.model.plan import Kind, Selection, Totals
from memsweep.model.revision import MemoryAct, entities_of, only_taken_back, state_of
from memsweep.model.text import FindNames, name_key
from memsweep.model.times import to_micros
from memsweep.store.trash import SameText

if TYPE_CHECKING:
    from memsweep.model.plan import Operation
    from memsweep.store.changes import Changes

_PLAIN = name_key(DEFAULT_TYPE)


class SaidAgain(NamedTuple):
    """The items in the trash of other retractions that the acts of a receipt say again."""

    memories: frozenset[int] = frozenset()
    as_they_were: frozenset[int] = frozenset()
    """Those of them whose text stays: their chunks come with them."""
    entities: frozenset[int] = frozenset()
    """What is mentioned again."""
    facts: Mapping[int, FactState] = MappingProxyType({})
    """Relations, as they will be."""
    stated: frozenset[int] = frozenset()
    """Every relation that the acts are about: one that comes back brings its ends."""


class Returning:
    """Decided when it is made: `receipt` gives back what it holds, or `only` some of it, with what that needs.

    In the same transaction, which no read shows, a merge has been taken `apart`, and some relations have `ended`.
    Beside what it holds, something is `said` again.
    """

    def __init__(
        self,
        tx: Changes,
        receipt: int,
        doing: Operation,
        apart: Unmerge | None = None,
        only: Selection | None = None,
        ended: Collection[int] = (),
        said: SaidAgain = SaidAgain(),  # a value
        find: FindNames = no_names,
    ) -> None:
        self._tx, self._receipt, self._doing, self._only, self._said = tx, receipt, doing, only, said
        self._apart, self._ended = apart, ended
        self.conflicts: list[tuple[str, str]] = []
        self._namesake_of: dict[int, int] = {}
        self._explicit: dict[int, EntityRecord] = {}  # namesakes that something explicit has become part of
        self._put_away: Sequence[PutAway] = ()
        self._moved_on: dict[int, int] = {}
        self._unmentioned: dict[int, int] = {}
        self._joins: list[RelationChange] = []
        self._restated: list[RelationChange] = []
        self._moves: list[Move] = list(apart.moves_of_others) if apart else []
        merges, self._splits = tx.moves.standing()
        self._standing = merges - {receipt}  # other merges, which were not taken apart
        self._memories = self._pick_memories()
        self._chunks = self._pick_chunks()
        self._own = self._own_relations()
        self._sources = tx.relations.sources({each.key for each in self._own})
        stated = self._free_to_return(tx.relations.stated_by(self._memories, besides=receipt))
        self._entities = self._pick_entities(stated)
        self._look_at_names(find)
        self._relations = self._pick_relations(stated)
        self._join()
        known = [*(self._ids[key] for key in self._memories & self._ids.keys()), *self._entity_ids]
        others: dict[Kind, Set[int]] = {
            "memory": self._memories - self._ids.keys(),
            "entity": apart.touched if apart else set(),
        }
        self.ids = (*known, *tx.items.ids(others).values())
        """Of what comes back."""

    @property
    def totals(self) -> Totals:
        entities, relations = self._entities, self._relations
        if self._apart is not None:
            entities, relations = entities | self._apart.entities, relations | self._apart.moved_back
        return Totals(len(self._memories), len(self._chunks), len(entities), len(relations))

    @property
    def changes(self) -> bool:
        """Return whether anything comes back, or is kept elsewhere from now on."""
        return bool(
            self.totals != Totals()
            or self._namesake_of
            or self._put_away
            or self._moved_on
            or self._unmentioned
            or self._restated
            or self._moves
        )

    def has(self, wanted: Selection) -> bool:
        """Return whether all of it comes back."""
        kept = wanted.memories <= self._memories and wanted.entities <= self._entities
        return kept and wanted.relations <= self._relations

    @property
    def relations(self) -> Set[int]:
        """Return the relations that come back."""
        return self._relations

    def write(self, tx: Changes) -> None:
        tx.trash.restore(Selection(self._memories, self._chunks, self._entities))
        if self._namesake_of:
            tx.trash.hand_over(self._namesake_of)
            tx.moves.hand_over(self._namesake_of, self._standing | self._splits)
            tx.entities.set(self._explicit.values())
        # Before anything comes back: what says the same gives way first.
        living = [each for each in self._put_away if each.relation.trash is None]
        trashed = [each for each in self._put_away if each.relation.trash is not None]
        tx.relations.trash({each.relation.key: each.merge for each in living})
        tx.relations.hand_on({each.relation.key: each.merge for each in trashed} | self._moved_on)
        tx.entities.hand_on(self._unmentioned)
        tx.relations.restore(self._relations)
        tx.relations.write([*self._joins, *self._restated])
        tx.moves.add(self._moves)

    # memories and chunks

    def _pick_memories(self) -> set[int]:
        self._ids = self._tx.trash.memories_of(self._receipt) if self._only is None else {}
        keys = self._ids.keys() if self._only is None else self._only.memories
        files, texts = self._tx.trash.clashes(keys)
        said = {clash.id: f"its file was indexed again as {clash.other_id}" for clash in files}
        again = said_again(self._tx, texts)
        said |= {clash.id: f"the same text was added again as {clash.other_id}" for clash in again}
        rows = self._tx.texts.at(keys) if self._tx.tombstones.any() else {}
        forgotten = self._tx.tombstones.why_gone({key: row.text for key, row in rows.items()})
        said |= {rows[key].id: why for key, why in forgotten.items()}
        self.conflicts += said.items()
        away = {*forgotten, *(clash.key for clash in files), *(clash.key for clash in again)}
        return {*keys, *self._said.memories} - away

    def _pick_chunks(self) -> set[int]:
        if self._only is not None:
            return set(self._tx.trash.chunks_with(self._memories))
        rows = self._tx.trash.chunks_of(self._receipt)
        staying = self._tx.trash.still_there({memory for _, memory in rows} - self._memories)
        own = {key for key, memory in rows if memory not in staying}
        return own.union(self._tx.trash.chunks_with(self._said.as_they_were))

    # entities

    def _pick_entities(self, stated: Iterable[RelationRecord]) -> set[int]:
        """Entities that come back; where one exists again under the same name, that one takes over."""
        picked = self._trashed_entities(stated)
        live = self._tx.entities.live_named({each.full_name for each in picked.values()})
        for each in list(picked.values()):
            if namesake := live.get(each.full_name):
                self._replace(picked, each, namesake)
        newest = {each.full_name: each for each in sorted(picked.values())}
        for each in list(picked.values()):
            namesake = newest[each.full_name]
            if namesake.key != each.key:
                self._replace(picked, each, namesake)
        self._entity_ids = [each.id for each in picked.values()]
        return set(picked)

    def _look_at_names(self, find: FindNames) -> None:
        """Say what got the name of one that comes back meanwhile, and which texts came that name it."""
        rows = self._tx.entities.at(self._entities).values() if self._entities else ()
        holders = self._tx.receipts.at({each.trash for each in rows if each.trash is not None})
        named = {each.name_key: each for each in rows if each.explicit or each.type_key == _PLAIN}  # code has its own
        if not named or not holders:
            return
        at = min(row.created_at for row in holders.values())
        live = self._tx.entities.live_called(named.keys())
        others = self._tx.items.describe({"entity": live.values()}) if live else {}
        for name, key in sorted(live.items()):
            other = others["entity", key]
            if (other.created_at or 0) >= to_micros(at):
                said = f"{other.id} has its name by now; merge the two if they are one"
                self.conflicts.append((named[name].id, said))
        free = {name: each for name, each in named.items() if name not in live}
        for uid, name in named_since(self._tx, at, {name: each.key for name, each in free.items()}, find):
            said = f"it came while {free[name].id} was in the trash, and does not mention it"
            self.conflicts.append((uid, said))

    def _trashed_entities(self, stated: Iterable[RelationRecord]) -> dict[int, EntityRecord]:
        own = self._tx.entities.trashed_by([self._receipt]) if self._only is None else ()
        picked = {each.key: each for each in own}
        wanted = self._tx.entities.mentioned_by(self._memories - self._said.memories) | self._said.entities
        wanted |= {end for each in (*stated, *self._own_stated()) for end in each.ends}
        if self._only is not None:
            wanted |= self._only.entities | {end for each in self._own for end in each.ends}
        if self._only is None and self._memories:
            spoken = wanted | {end for each in self._own for end in each.ends}
            self._unmentioned = unmentioned(self._tx, picked, self._memories, self._receipt, spoken)
            picked = {key: each for key, each in picked.items() if key not in self._unmentioned}
        others = self._tx.entities.at(wanted - picked.keys())
        picked |= {key: each for key, each in others.items() if each.trash is not None}
        apart = self._apart.entities if self._apart else ()
        return {key: each for key, each in picked.items() if key not in apart}

    def _own_stated(self) -> list[RelationRecord]:
        """Return the receipt's relations that its returning memories state; and those that its acts state."""
        stated = {relation for relation, memory, _ in self._sources if memory in self._memories}
        waiting = {relation for relation, _, lives in self._sources if not lives}
        acted = [each for each in self._own if each.key in self._said.stated and each.invalid_at is None]
        stated |= {each.key for each in acted if each.explicit or each.key not in waiting}
        return [each for each in self._own if each.key in stated]

    def _own_relations(self) -> list[RelationRecord]:
        """Return the relations of the receipt, or those asked for; and those said again, as they will be."""
        if self._only is not None:
            return self._tx.relations.at(self._only.relations)
        facts = self._said.facts
        again = self._tx.relations.at(facts) if facts else []
        again = [
            each._replace(explicit=facts[each.key].explicit, invalid_at=facts[each.key].invalid_at) for each in again
        ]
        return [*self._tx.relations.trashed_by([self._receipt]), *again]

    def _replace(self, picked: dict[int, EntityRecord], mine: EntityRecord, namesake: EntityRecord) -> None:
        del picked[mine.key]
        self._namesake_of[mine.key] = namesake.key
        if mine.explicit and not namesake.explicit:
            self._explicit[namesake.key] = namesake._replace(explicit=True, version=namesake.version + 1)
        self.conflicts.append((mine.id, f"it exists again as {namesake.id}, which has its mentions and relations now"))

    # relations

    def _free_to_return(self, relations: Iterable[RelationRecord]) -> list[RelationRecord]:
        """Of what other receipts hold: what was itself the garbage of a plan stays, and what a merge put away."""
        found = [each for each in relations if each.trash is not None]
        if not found:
            return found
        kept = self._tx.trash.named_by_plans((each.key, each.trash) for each in found if each.trash is not None)
        updates = self._tx.revisions.of_receipts({each.trash for each in found if each.trash is not None})
        kept |= {relation for each in updates for relation in each.before.get("states", ())}  # what a text stated once
        return [each for each in found if each.key not in kept and each.trash not in self._standing]

    def _pick_relations(self, stated: Iterable[RelationRecord]) -> set[int]:
        """Of what the receipt holds, what is stated, and what is at the entities: all that can stand again."""
        touched = self._tx.relations.touching(self._entities | self._namesake_of.keys(), besides=self._receipt)
        around = [self._at_its_ends(each) for each in self._free_to_return(touched)]
        own, others = ([self._at_its_ends(each) for each in found] for found in (self._own, stated))
        picked = {each.key: each for each in (*own, *others)}
        if not (self._only and self._only.relations):  # one fact brings its ends, and they not all of theirs
            picked |= {each.key: each for each in around if not self._entities.isdisjoint(each.ends)}
        live = self._live_ends((*self._own, *stated, *touched))
        sourced = self._sourced(picked.keys())
        standing = [
            each
            for key, each in sorted(picked.items())
            if live.issuperset(each.ends) and (each.explicit or sourced.get(key, True))
        ]
        back = self._settle(standing)
        settled = back | {each.relation.key for each in self._put_away} | self._said.facts.keys()
        self._hand_on([each for each in own if each.key not in settled], live)
        return back

    def _at_its_ends(self, relation: RelationRecord) -> RelationRecord:
        """Return a relation at its ends once the merge was taken apart and namesakes have taken over."""
        apart = self._apart.relations.get(relation.key) if self._apart else None
        ends = relation.ends if apart is None else apart.ends
        subject, target = self._namesake_of.get(ends[0], ends[0]), self._namesake_of.get(ends[1], ends[1])
        return relation if (subject, target) == relation.ends else relation._replace(subject=subject, object=target)

    def _live_ends(self, relations: Sequence[RelationRecord]) -> set[int]:
        live = self._entities | set(self._namesake_of.values()) | (self._apart.entities if self._apart else set())
        there = self._tx.entities.at({end for each in relations for end in each.ends} - live)
        return live | {key for key, each in there.items() if each.trash is None}

    def _sourced(self, picked: Set[int]) -> dict[int, bool]:
        """Return whether something that lives, or comes back, states a relation; unstated ones are absent."""
        others = self._tx.relations.sources(picked - {each.key for each in self._own})
        self._sources = [*self._sources, *others]
        found: dict[int, bool] = defaultdict(bool)
        for key, memory, lives in self._statements(self._sources):
            found[key] |= lives or memory in self._memories
        return dict(found)

    def _statements(self, sources: Iterable[Source]) -> Iterable[Source]:
        unstated = self._apart.unstated if self._apart else ()
        return (each for each in sources if each[:2] not in unstated)

    def _settle(self, standing: Sequence[RelationRecord]) -> set[int]:
        """Of relations that would say the same, one lives; what a merge moved to there is that merge's."""
        count = Counter(each.place for each in standing if each.invalid_at is None)
        apart = self._apart.relations if self._apart else {}
        live = [each for each in self._tx.relations.current_between(count.keys()) if each.key not in apart]
        live += [each for each in apart.values() if each.is_current and each.place in count]
        live = [each for each in live if each.key not in self._ended]
        contested = {each.place for each in live} | {place for place, times in count.items() if times > 1}
        alone = {each.key for each in standing if _is_alone(each, contested)}
        rivals = [each for each in standing if each.key not in alone]
        settled = settle(self._contenders(rivals, live), self._receipt)
        self._put_away = settled.put_away
        self._restate(rivals, live, settled)
        self.conflicts += [(each.id, "the same relation exists again") for each in settled.clashing]
        merges = self._tx.receipts.at({each.merge for each in settled.put_away})
        self.conflicts += [(each.relation.id, each.why(merges[each.merge].id)) for each in settled.put_away]
        return alone | settled.back

    def _restate(self, rivals: Sequence[RelationRecord], live: Sequence[RelationRecord], settled: Settled) -> None:
        """Hand the sources of a relation that stays in the trash to the live one that says the same.

        Not where a merge has brought the two together: undoing that tells them apart again.
        """
        away = {each.relation.key for each in settled.put_away}
        back = [each for each in rivals if each.key in settled.back]
        standing = {each.place: each for each in (*back, *live) if each.key not in away and each.invalid_at is None}
        waiting = [each for each in rivals if each.key not in away | settled.back and each.place in standing]
        if not waiting:
            return
        moved = self._moved_ends([*waiting, *standing.values()])
        pairs = ((each.key, standing[each.place]) for each in waiting)
        standing_for = {key: same for key, same in pairs if not moved.keys() & {key, same.key}}
        theirs = self._tx.relations.sources({each.key for each in standing_for.values()})
        known = {(each.relation, each.memory) for each in self._statements(theirs)}
        for key, memory, lives in self._statements(self._sources):
            same = standing_for.get(key)
            if same is not None and (lives or memory in self._memories) and (same.key, memory) not in known:
                known.add((same.key, memory))
                stated = Source(same.key, memory, lives=True)
                self._restated.append(RelationChange(same, same, newly_stated_by=(stated,)))

    def _contenders(self, rivals: Sequence[RelationRecord], live: Sequence[RelationRecord]) -> list[Contender]:
        moved = self._moved_ends([*rivals, *live])
        undone = self._undone({each.trash for each in rivals if each.trash is not None} - {self._receipt})
        mine = self._said.facts.keys() | {each.key for each in rivals if each.trash in undone}
        trash = {each.key: self._receipt if each.key in mine else each.trash for each in rivals}
        return [
            Contender(
                key=each.key,
                id=each.id,
                subject=each.subject,
                kind=each.kind,
                object=each.object,
                is_valid=each.invalid_at is None,
                trash=trash.get(each.key),
                moves=moved.get(each.key, ()),
            )
            for each in (*live, *rivals)
        ]

    def _moved_ends(self, relations: Sequence[RelationRecord]) -> dict[int, tuple[MovedEnd, ...]]:
        """Return the moves of relations' ends by other merges that stand."""
        found: dict[int, tuple[MovedEnd, ...]] = defaultdict(tuple)
        if not relations or not self._standing:
            return found
        for move in self._tx.moves.of(self._standing, ENDS, about={each.key for each in relations}):
            assert move.b is not None, "an end was moved away from an entity"
            found[move.a] += (MovedEnd(move.receipt, move.kind, move.a, move.b),)
        return found

    def _undone(self, receipts: set[int]) -> set[int]:
        """Return the receipts that were undone: what they still hold has been waiting for this one."""
        return {key for key, row in self._tx.receipts.at(receipts).items() if row.undone_at is not None}

    def _hand_on(self, waiting: Sequence[RelationRecord], live: set[int]) -> None:
        """An end that another receipt holds takes the relation along: undoing that one brings both back."""
        ends = {end for each in waiting for end in each.ends} - live
        rows = self._tx.entities.at(ends)
        holder = {key: row.trash for key, row in rows.items() if row.trash not in (None, self._receipt)}
        for each in waiting:
            if held_by := [trash for end in each.ends if (trash := holder.get(end)) is not None]:
                self._moved_on[each.key] = max(held_by)
        names = self._tx.receipts.at(set(self._moved_on.values()))
        for each in waiting:
            if each.key in self._moved_on:
                other = names[self._moved_on[each.key]].id if self._moved_on[each.key] in names else ""
                self.conflicts.append((each.id, f"an end of it is in the trash; undoing {other} brings both back"))

    def _join(self) -> None:
        """Strengthen what says the same as something that a merge keeps away, as the merge would have done."""
        joins = [(each.merge, each.kept, each.relation.key) for each in self._put_away if each.kept is not None]
        if not joins:
            return
        joining = Joining(self._tx, joins, self._apart)
        for merge, kept, gone in joins:
            self._moves += joining.join(merge, kept.key, gone, self._doing)
        self._joins = list(joining.changes())


def _is_alone(relation: RelationRecord, contested: Set[Place]) -> bool:
    """Return whether nothing else says the same, and it is no fact between two that may be one now."""
    if relation.subject == relation.object:
        return False
    return relation.invalid_at is not None or relation.place not in contested


class Joining:
    """Some relations, as a merge that was taken `apart` left them.

    `joins` are merges, what each keeps, and the key of what says the same. What is kept is live by the time
    that this is written.
    """

    def __init__(
        self,
        tx: Changes,
        joins: Sequence[tuple[int, Contender, int]],
        apart: Unmerge | None,
    ) -> None:
        kept = {each.key: each for _, each, _ in joins}
        keys = kept.keys() | {gone for *_, gone in joins}
        states = {each.key: each for each in tx.relations.at(keys)}
        if apart is not None:
            states |= {key: each for key, each in apart.relations.items() if key in keys}
        for key, each in kept.items():
            ends = (each.subject, each.object)
            states[key] = states[key].between(*ends)._replace(trash=None)
        unstated = apart.unstated if apart is not None else ()
        sources = (each for each in tx.relations.sources(keys) if each[:2] not in unstated)
        self._set = RelationSet(states.values(), sources)

    def join(self, merge: int, kept: int, gone: int, doing: Operation) -> Iterator[Move]:
        """Of two facts that are one now, the stronger counts; who stated the other states it."""
        before = self._set.relations[kept].strength
        after = doing.join(before, self._set.relations[gone].strength)
        self._set.strengthen(kept, after)
        yield Move(merge, "strength", kept, gone, said=[*before, *after])
        for memory in self._set.hand_on_sources(gone, kept):
            yield Move(merge, "source", kept, memory)

    def changes(self) -> Iterator[RelationChange]:
        return self._set.changes()


def unmentioned(
    tx: Changes, own: Mapping[int, EntityRecord], memories: Collection[int], receipt: int, spoken: Collection[int]
) -> dict[int, int]:
    """Of the entities that a receipt gives back with memories, those that wait for another receipt; and that receipt.

    `spoken` is what the memories mention now, and what facts lead to.
    """
    left = {key: each for key, each in own.items() if key not in spoken and not each.pinned}
    acts = tx.acts.of_memories(memories) if left and memories else []
    if all(act.trash in (None, receipt) for act in acts):
        return {}
    entities = StandingEntities(tx, entities_of(acts))
    theirs = {act.origin for act in acts if act.trash not in (None, receipt)}
    found = {entities.now(key): taken for key, taken in only_taken_back(acts, receipt).items()}
    return {
        key: found[key] for key, each in left.items() if key in found and (not each.explicit or each.origin in theirs)
    }


def said_again(tx: Changes, found: Iterable[SameText]) -> list[SameText]:
    """Of memories that would come back beside one with their text: those that it was said in place of.

    Not where one of the two was superseded, or says this text only because another one of it was taken back: then
    both were there before, and are told apart again once everything is undone.
    """
    pairs = list(found)
    if not pairs:
        return pairs
    keys = {key for each in pairs for key in (each.key, each.other)}
    apart = tx.acts.ever_superseded(keys) | _saying_otherwise(tx, keys)
    return [each for each in pairs if apart.isdisjoint((each.key, each.other))]


def _saying_otherwise(tx: Changes, memories: Collection[int]) -> set[int]:
    """Return the memories that would say another text if nobody were taken back."""
    journal = as_the_rows_are(by_memory(tx.acts.of_memories(memories)), tx.texts.at(memories))
    taken = {act.trash for acts in journal.values() for act in acts if act.trash is not None}
    # Undoing an update takes its act back as well, which is meant to last.
    retractions = {key for key, row in tx.receipts.at(taken).items() if row.plan_id} if taken else set()
    return {key for key, acts in journal.items() if _text(acts) != _text(acts, retractions)}


def _text(acts: Iterable[MemoryAct], given_back: Collection[int] = ()) -> str | None:
    state = state_of(act._replace(trash=None) if act.trash in given_back else act for act in acts)
    return None if state is None else state.text
