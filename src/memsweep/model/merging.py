"""Decide which facts a merge or a split moved and put away, and who may bring them back. Pure.

A merge writes down every single thing it moves, under its receipt. It *stands* until that receipt is undone or
purged. What it put away (facts that are there twice now, facts between two that are one now) belongs to it: no
other undo brings that back. A relation that comes back to where a standing merge moved it is treated as
if it had been there when the merge was made: it says what another says, or nothing at all, so the merge keeps it,
and taking that merge apart gives it back.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from memsweep.model.decay import age_days, faded
from memsweep.model.frozen import field, frozen
from memsweep.model.graph_rows import ENDS, Move, Place, RelationChange, RelationRecord, Source, Strength
from memsweep.model.times import from_micros

Values = tuple[Any, ...]


def joined(kept: Strength, other: Strength, edge_rate: float, now: datetime) -> Strength:
    """Of two facts that are one now the stronger counts; whoever stated either has stated it."""
    weight, seen = kept.weight, kept.last_seen
    if other.weight is not None and weight is not None and _now(other, edge_rate, now) > _now(kept, edge_rate, now):
        weight, seen = other.weight, other.last_seen
    return Strength(weight, seen, kept.evidence + other.evidence, max(int(kept.explicit), int(other.explicit)))


def is_made_one(before: tuple[int, int], after: tuple[int, int]) -> bool:
    """A fact between two that are one now says nothing; one of an entity with itself still does."""
    return after[0] == after[1] and before[0] != before[1]


def _now(strength: Strength, edge_rate: float, now: datetime) -> float:
    assert strength.weight is not None
    return faded(strength.weight, edge_rate, age_days(from_micros(strength.last_seen), now))


# what an undo brings back


class MovedEnd(NamedTuple):
    """A standing merge gave a relation another end; `was` is the entity that it began or ended at."""

    receipt: int
    end: str
    relation: int
    was: int


@frozen
class Contender:
    """A relation that comes back, or one that lives where another comes back to.

    `trash` is the receipt that holds it, or nothing; `moves` are those of merges that stand.
    """

    key: int
    id: str
    subject: int
    kind: str
    object: int
    is_valid: bool
    trash: int | None
    moves: tuple[MovedEnd, ...] = ()

    @property
    def place(self) -> Place:
        return self.subject, self.kind, self.object

    def before(self, merge: int) -> Place:
        """Return its place before a merge."""
        ends = {"subject": self.subject, "object": self.object}
        for move in sorted(self.moves, reverse=True):
            if move.receipt >= merge:
                ends[move.end] = move.was
        return ends["subject"], self.kind, ends["object"]

    def is_moved_by(self, merge: int) -> bool:
        return any(move.receipt == merge for move in self.moves)


@frozen
class PutAway:
    """A relation that a standing merge keeps; `kept` says the same, if anything does."""

    relation: Contender
    merge: int
    kept: Contender | None

    def why(self, receipt_id: str) -> str:
        """Return a sentence on why it is away, given the id of the merge's receipt."""
        says = "its ends are one entity" if self.kept is None else f"it says the same as {self.kept.id}"
        return f"{says} while the merge {receipt_id} stands; undoing that brings it back"


@frozen
class Settled:
    """The decision about contenders: those neither back nor put away stay in the trash."""

    back: frozenset[int]
    put_away: tuple[PutAway, ...]
    clashing: tuple[Contender, ...]
    """Of this receipt, and made again meanwhile."""


def settle(contenders: Iterable[Contender], receipt: int) -> Settled:
    """Of relations that would say the same, one lives: which, and where the others go."""
    back: set[int] = set()
    away: list[PutAway] = []
    clashing: list[Contender] = []
    places: dict[Place, list[Contender]] = defaultdict(list)
    for each in sorted(contenders, key=lambda contender: contender.key):
        if each.subject == each.object and (merge := _made_one(each)):
            away.append(PutAway(each, merge, None))
        elif each.is_valid:
            places[each.place].append(each)
        elif each.trash is not None:
            back.add(each.key)
    for rivals in places.values():
        kept = _kept(rivals)
        back |= {kept.key} if kept.trash is not None else set()
        for each in rivals:
            if each is not kept and (merge := _brought_together(each, kept)):
                away.append(PutAway(each, merge, kept))
            elif each is not kept and each.trash == receipt:
                clashing.append(each)
    # What another receipt holds stays there; undoing that one looks at it again.
    mine = tuple(each for each in away if each.relation.trash in (receipt, None))
    return Settled(frozenset(back), mine, tuple(clashing))


def _kept(rivals: Sequence[Contender]) -> Contender:
    """The one that was there first: merges are looked at from the last one backwards, and who one moved gives way.

    Of equals the one that lives stays, and then the newest.
    """
    left = list(rivals)
    for merge in _merges_of(rivals):
        if len({each.before(merge) for each in left}) > 1:
            unmoved = [each for each in left if not each.is_moved_by(merge)]
            first = min(left, key=_precedence).before(merge)
            left = unmoved or [each for each in left if each.before(merge) == first]
    return min(left, key=_precedence)


def _precedence(contender: Contender) -> tuple[bool, int]:
    return contender.trash is not None, -contender.key


def _brought_together(one: Contender, other: Contender) -> int:
    """The merge since which two relations are in one place; 0 if none brought them there."""
    return next((merge for merge in _merges_of((one, other)) if one.before(merge) != other.before(merge)), 0)


def _made_one(contender: Contender) -> int:
    """The merge since which a relation leads to where it begins; 0 if it always did."""
    for merge in _merges_of((contender,)):
        subject, _, target = contender.before(merge)
        if subject != target:
            return merge
    return 0


def _merges_of(contenders: Iterable[Contender]) -> list[int]:
    return sorted({move.receipt for each in contenders for move in each.moves}, reverse=True)


# taking a merge apart

MERGED_MENTION = "mention"
"""What a merge writes down of a mention."""


@frozen
class Step:
    """One change of a row by a merge: `before` and `after` are its values, `given` those that it took in.

    `versions` are the row's before and after, where it is known by them; else its values tell whether it has
    changed since. `place` is for the caller.
    """

    place: int
    receipt: int
    before: Values
    after: Values
    given: Values
    versions: tuple[int, int | None] | None = None

    @property
    def marks(self) -> tuple[Any, Any]:
        return (self.before, self.after) if self.versions is None else self.versions

    @property
    def order(self) -> tuple[int, int, int]:
        """Versions only grow, and so does the evidence of a relation."""
        return (self.before[2] if self.versions is None else self.versions[0]), self.receipt, self.place


@frozen
class Retraced:
    """Steps that are others now, and what the row is without those that were taken out, if nothing else changed it."""

    steps: tuple[Step, ...] = ()
    values: Values | None = None
    version: int | None = None


def without(steps: Sequence[Step], receipt: int, mark: Any, combine: Callable[[Values, Values], Values]) -> Retraced:
    """Take the steps of one merge out of those of all merges on one row.

    Later merges did theirs on top: they are counted again without it. Where something else has changed the row
    in between, it stays as it is from there on.
    """
    changed: list[Step] = []
    running: Values | None = None
    last: Any = None
    was: Any = None
    for step in sorted(steps, key=lambda each: each.order):
        if running is not None and step.marks[0] != last:
            return Retraced(tuple(changed))
        if step.receipt == receipt:
            running, was = (step.before, step.marks[0]) if running is None else (running, was)
        elif running is not None:
            after = combine(running, step.given)
            versions = None if step.versions is None else (was, step.versions[1])
            changed.append(Step(step.place, step.receipt, running, after, step.given, versions))
            running, was = after, changed[-1].marks[1]
        last = step.marks[1]
    if running is None or last != mark:
        return Retraced(tuple(changed))
    return Retraced(tuple(changed), running, was if isinstance(was, int) else None)


def highest(before: Values, given: Values) -> Values:
    return tuple(max(pair) for pair in zip(before, given, strict=True))


def given_by(before: Values, after: Values) -> Strength:
    """Return what a relation must have taken in, as far as its own values tell."""
    old, new = Strength(*before), Strength(*after)
    grew = (new.weight, new.last_seen) != (old.weight, old.last_seen)
    return Strength(new.weight if grew else None, new.last_seen, new.evidence - old.evidence, new.explicit)


class MovedMention(NamedTuple):
    """A chunk spoke of `source`, and speaks of `target` now; without one it spoke of that before."""

    chunk: int
    source: int
    target: int | None


@frozen
class MentionsBack:
    added: tuple[tuple[int, int], ...]
    dropped: tuple[tuple[int, int], ...]
    claimed: tuple[int, ...]
    """Moves of other merges for whose sake a mention stays."""


def mentions_back(moved: Iterable[MovedMention], shared: Mapping[int, int]) -> MentionsBack:
    """Undo moved mentions; `shared` are chunks another merge into the same entity took one of, too, with its move."""
    listed = list(moved)
    claimed = {each.chunk for each in listed if each.target is not None and each.chunk in shared}
    return MentionsBack(
        tuple((each.chunk, each.source) for each in listed),
        tuple((each.chunk, each.target) for each in listed if each.target is not None and each.chunk not in claimed),
        tuple(shared[chunk] for chunk in sorted(claimed)),
    )


class RelationStatement(NamedTuple):
    relation: int
    memory: int


class Joined(NamedTuple):
    """A standing merge joined `other` to `relation`."""

    receipt: int
    relation: int
    other: int


def statements_back(
    added: Iterable[RelationStatement], others: Iterable[Joined], stated: Collection[RelationStatement]
) -> tuple[list[RelationStatement], list[tuple[int, RelationStatement]]]:
    """Return which statements that a merge added go, and which stay because another merge adds them now.

    `others` are what other merges joined to the same relations, `stated` who states what those were.
    """
    listed = list(others)
    dropped: list[RelationStatement] = []
    handed_on: list[tuple[int, RelationStatement]] = []
    for each in added:
        for other in listed:
            if other.relation == each.relation and RelationStatement(other.other, each.memory) in stated:
                handed_on.append((other.receipt, each))
                break
        else:
            dropped.append(each)
    return dropped, handed_on


# purging


@frozen
class HeldRelation:
    """A relation that a merge put away."""

    key: int
    subject: int
    object: int
    trash: int


@frozen
class AfterPurge:
    kept: tuple[HeldRelation, ...] = ()
    """With the receipt and the ends that they have now."""
    freed: frozenset[int] = field(default_factory=frozenset)


def after_purge(
    held: Iterable[HeldRelation], moves: Iterable[MovedEnd], receipts: Collection[int], entities: Collection[int]
) -> AfterPurge:
    """Return the fate of facts that merges put away, when receipts, and entities with them, are freed.

    A merge that is freed is final: what it put away goes with it, unless an earlier one that stands moved that,
    too. Of one that stands nothing goes with the entity that it was merged into: it has its own end back.
    """
    by_relation: dict[int, list[MovedEnd]] = defaultdict(list)
    for move in moves:
        if move.receipt not in receipts:
            by_relation[move.relation].append(move)
    kept: list[HeldRelation] = []
    freed: set[int] = set()
    for each in held:
        standing = by_relation.get(each.key, [])
        earlier = [move.receipt for move in standing if move.receipt < each.trash]
        trash = each.trash if each.trash not in receipts else max(earlier, default=None)
        subject, target = (_end_left(each, end, standing, entities) for end in ENDS)
        if trash is None or subject is None or target is None:
            freed.add(each.key)
        else:
            kept.append(HeldRelation(each.key, subject, target, trash))
    return AfterPurge(tuple(kept), frozenset(freed))


def freed_with(held: Iterable[HeldRelation], moves: Iterable[MovedEnd], receipts: Collection[int]) -> set[int]:
    """Relations in any trash whose ends are one entity for good, now that the merges of these receipts are final."""
    by_relation: dict[int, list[MovedEnd]] = defaultdict(list)
    for move in moves:
        by_relation[move.relation].append(move)
    freed: set[int] = set()
    for each in held:
        mine = by_relation.get(each.key, [])
        standing = [move for move in mine if move.receipt not in receipts]
        if each.subject == each.object and _loop_since(each, mine) and not _loop_since(each, standing):
            freed.add(each.key)
    return freed


def _loop_since(held: HeldRelation, moves: Sequence[MovedEnd]) -> int:
    return _made_one(Contender(held.key, "", held.subject, "", held.object, True, held.trash, tuple(moves)))


def _end_left(held: HeldRelation, end: str, moves: Iterable[MovedEnd], entities: Collection[int]) -> int | None:
    """The end that a relation has when these entities are gone; nothing if it cannot be."""
    now: int | None = getattr(held, end)
    mine = sorted((move for move in moves if move.end == end), reverse=True)
    for move in mine:
        if now not in entities:
            break
        now = move.was
    return None if now in entities else now


# Some relations of a graph: read once, given other ends or strengths in memory, and written at the end. Pure.


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


# A part of an entity that became an entity of its own, and what of it can go back. Pure.
#
# A split *stands* until its receipt is undone or purged, as a merge does. Undoing it gives back what it moved, and what
# came to the new entity since stays there.


SPLIT = "split"
SPLIT_ENDS = ("split subject", "split object")
SPLIT_MENTION = "split mention"
SPLIT_NAME = "split name"
_CERTAIN = 1.0


class Parts(NamedTuple):
    """The two entities of a split."""

    old: int
    new: int


def given_by_split(at: int) -> tuple[Any, ...]:
    """The strength that naming an entity gives it: somebody has looked at it."""
    return _CERTAIN, at, int(True), int(False)


def places_back(
    relations: Iterable[RelationRecord], moves: Iterable[Move], new: int, there: Collection[int]
) -> dict[int, Place]:
    """Return the old places of relations that a split moved and that are still at `new`; only to ends in `there`."""
    was: dict[int, dict[str, int | None]] = defaultdict(dict)
    for move in moves:
        was[move.a][move.kind] = move.c
    found = {}
    for each in relations:
        wanted = (
            was[each.key].get(kind) if end == new else None for kind, end in zip(SPLIT_ENDS, each.ends, strict=True)
        )
        subject, target = (end if back is None else back for back, end in zip(wanted, each.ends, strict=True))
        if (subject, target) != each.ends and {subject, target} <= {*there, *each.ends}:
            found[each.key] = (subject, each.kind, target)
    return found


def clashing(
    places: Mapping[int, Place], relations: Iterable[RelationRecord], taken: Iterable[RelationRecord]
) -> dict[int, RelationRecord]:
    """Of current relations that would go back, those where another says the same by now, and which that is."""
    there = {each.place: each for each in taken if each.key not in places}
    found = {}
    for each in sorted(relations):
        if each.key not in places or not each.is_current:
            continue
        if (other := there.get(places[each.key])) is not None:
            found[each.key] = other
        else:
            there[places[each.key]] = each
    return found
