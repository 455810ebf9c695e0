"""Entities and facts that somebody states, confirms or corrects. Reads and decides first, writes last."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memsweep.model.contribution import Contribution, FactState, outcome
from memsweep.model.decay import CONFIRM_GAIN, CORRECT_LOSS, age_days, faded
from memsweep.model.graph import (
    GraphBatch,
    Reinforced,
    Reinforcement,
    Related,
    RelationDraft,
    RelationOutcome,
    RelationState,
    unknown_entity,
)
from memsweep.model.graph_rows import Alias
from memsweep.model.ids import findable
from memsweep.model.memory import DEFAULT_TYPE, NamedThing
from memsweep.model.text import case_key, name_key
from memsweep.model.times import from_micros, micros_or_none, to_micros
from memsweep.store.journals import contribute, note
from memsweep.store.records import by_certainty, in_any_case
from memsweep.store.refusals import unknown_relation, unknown_source
from memsweep.store.rows import Find, Values, Where
from memsweep.store.things.graph import EntityRow, RelationRow, RelationSource
from memsweep.store.things.memories import MemoryRow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from memsweep.model.plan import Operation
    from memsweep.store.changes import Changes

_SEEN = ("explicit", "confidence", "last_seen", "origin", "version")
_STATED = ("weight", "last_seen", "evidence", "explicit", "invalid_at", "version")
_HOLDS: Where = ("invalid_at", "null", None)


@dataclass(eq=False, slots=True)
class Handled:
    """An entity or a relation of one batch, as it is by now."""

    row: Any
    is_new: bool = False
    is_changed: bool = False

    def change(self, **values: Any) -> None:
        self.row = self.row._replace(version=self.row.version + 1, **values)
        self.is_changed = True


Place = tuple[Handled, str, Handled]


def relate(
    tx: Changes, batch: GraphBatch, doing: Operation, new_id: Callable[[str], str], origin: int | None
) -> Related:
    """Create or strengthen, all of it or nothing."""
    at = to_micros(doing.now)
    names = _Names(tx, batch, at, new_id, origin)
    ends = names.of(batch)
    facts = _Facts(tx, ends, batch.relations, origin, at)
    outcomes = []
    for draft, (subject, target) in zip(batch.relations, ends, strict=True):
        place = subject, name_key(draft.relation), target
        outcomes.append(facts.state(place, draft, doing.rates.edge, names.memory(draft), new_id))
    names.write()
    facts.write()
    return Related(tuple(names.created), tuple(outcomes))


def reinforce(tx: Changes, asked: Reinforcement, origin: int | None) -> Reinforced:
    """Confirm or correct a known relation."""
    ends = [find(tx, name) for name in (asked.subject, asked.object)]
    wanted: tuple[Where, ...] = (("subject", "=", ends[0]), ("relation_key", "=", name_key(asked.relation)), _HOLDS)
    found = tx.rows.ask(Find(RelationRow, wanted, near="live"))[0]
    relation = next((each for each in found if each.object == ends[1]), None)
    if relation is None:
        raise unknown_relation(asked.subject, asked.relation, asked.object)
    entities = {row.key: Handled(row) for row in tx.rows.find(EntityRow, ("key", "in", ends))}
    act = reinforcing(relation.key, asked, state_of(relation), origin)
    after = contribute(tx.rows, act)
    if act.act == "confirm":
        for end in ends:
            _see(entities[end], act.at, act.origin)
        _write_seen(tx, entities.values())
    return reinforced(relation.id, act, after)


def find(tx: Changes, name: str) -> int:
    """The key of a live entity, by a name or an id."""
    found = tx.entities.find(name)
    if found is None:
        raise unknown_entity(name)
    return found


def _see(entity: Handled, at: int, origin: int | None) -> None:
    """Confirm an entity. One that two origins have handed in is neither's alone."""
    row = entity.row
    sole = row.origin if row.origin == origin else 0
    entity.change(explicit=True, confidence=1.0, last_seen=max(row.last_seen, at), origin=sole)


def _write_seen(tx: Changes, entities: Iterable[Handled]) -> None:
    changed = [each.row for each in entities if each.is_changed and not each.is_new]
    tx.rows.change(EntityRow, _SEEN, {row.key: [getattr(row, name) for name in _SEEN] for row in changed}, bin="live")


def state_of(row: Any) -> FactState:
    return FactState(*(getattr(row, name) for name in FactState._fields))


class _Names:
    """The entities that a batch names, and the memories that it comes from."""

    def __init__(
        self, tx: Changes, batch: GraphBatch, at: int, new_id: Callable[[str], str], origin: int | None
    ) -> None:
        self._tx, self._at, self._new_id, self._origin = tx, at, new_id, origin
        self.created: list[str] = []
        ends = [end for draft in batch.relations for end in (draft.subject, draft.object)]
        ids = {end for end in ends if isinstance(end, str)}
        said = ids | {end.name for end in (*batch.entities, *ends) if isinstance(end, NamedThing)}
        self._by_key: dict[int, Handled] = {}
        self._cased: dict[str, list[Handled]] = {}
        self._by_name: dict[str, list[Handled]] = defaultdict(list)
        self._once: dict[str, dict[str, Handled]] = defaultdict(dict)
        sources = {findable(draft.source) for draft in batch.relations if draft.source}
        names, aliases, by_id, memories = tx.rows.ask(
            Find(EntityRow, (("name_key", "in", {key(name) for name in said for key in (name_key, case_key)}),)),
            Find(Alias, (("name_key", "in", {name_key(name) for name in said}),), order=()),
            Find(EntityRow, (("id", "in", {findable(each) for each in ids}),)),
            Values(MemoryRow, ("id", "key"), (("id", "in", sources),)),
        )
        for row in names:
            self._by_name[row.name_key].append(self._same(row))
        self._ids = {row.id: self._same(row) for row in by_id}
        self._memories: dict[str, int] = dict(map(tuple, memories))
        loose = {end.name for end in (*batch.entities, *ends) if isinstance(end, NamedThing) and not end.type} | ids
        self._look_further(aliases, [name for name in loose if name not in self._ids and not self._named(name)])

    def _look_further(self, aliases: Sequence[Alias], missing: Sequence[str]) -> None:
        """A name that is no entity's may have been one's, or be that of one whose letter case differs."""
        once, *cased = self._tx.rows.ask(
            Find(EntityRow, (("key", "in", {alias.entity for alias in aliases}),)),
            *(Find(EntityRow, in_any_case(name)) for name in missing),
        )
        of = {row.key: self._same(row) for row in once}
        for alias in aliases:
            if alias.entity in of:
                self._once[alias.name_key][alias.type_key] = of[alias.entity]
        self._cased = {name: [self._same(row) for row in rows] for name, rows in zip(missing, cased, strict=True)}

    def _same(self, row: EntityRow) -> Handled:
        return self._by_key.setdefault(row.key, Handled(row))

    def _named(self, name: str) -> list[Handled]:
        return self._by_name.get(case_key(name)) or self._by_name.get(name_key(name)) or []

    def of(self, batch: GraphBatch) -> list[tuple[Handled, Handled]]:
        """Return the ends of each relation; what a batch names is made, or seen again."""
        for thing in batch.entities:
            self._entity(thing)
        return [self._ends(draft) for draft in batch.relations]

    def _ends(self, draft: RelationDraft) -> tuple[Handled, Handled]:
        ends = self._end(draft.subject), self._end(draft.object)
        self.memory(draft)
        return ends

    def memory(self, draft: RelationDraft) -> int | None:
        if not draft.source:
            return None
        if draft.source not in self._memories:
            raise unknown_source(draft.source)
        return self._memories[draft.source]

    def _end(self, end: NamedThing | str) -> Handled:
        if isinstance(end, NamedThing):
            return self._entity(end)
        found = self._ids.get(end) or self._surest(end)
        if found is None:
            raise unknown_entity(end)
        _see(found, self._at, self._origin)
        return found

    def _entity(self, thing: NamedThing) -> Handled:
        """Return the entity of that name (and type, if one is given), made or seen again."""
        found = self._surest(thing.name) if not thing.type else self._typed(thing.name, name_key(thing.type))
        if found is not None:
            _see(found, self._at, self._origin)
            return found
        kind, uid = thing.type or DEFAULT_TYPE, self._new_id("ent")
        named = (uid, thing.name, name_key(thing.name), kind, name_key(kind))
        made = Handled(EntityRow(*named, self._at, self._at, origin=self._origin), is_new=True)
        self.created.append(uid)
        self._by_name[made.row.name_key].append(made)
        return made

    def _typed(self, name: str, kind: str) -> Handled | None:
        named = (each for key in (case_key(name), name_key(name)) for each in self._by_name.get(key, ()))
        once = self._once.get(name_key(name), {}).get(kind)
        return next((each for each in named if each.row.type_key == kind), once)

    def _surest(self, name: str) -> Handled | None:
        """Return the surest of the entities that have a name, or had it."""
        once = self._once.get(name_key(name), {}).values()
        named = self._named(name) or [*once] or self._cased.get(name, [])
        return min(named, key=lambda each: by_certainty(each.row), default=None)

    def write(self) -> None:
        every = [each for named in self._by_name.values() for each in named]
        new = [each for each in every if each.is_new]
        for each, key in zip(new, self._tx.rows.add([each.row for each in new]), strict=True):
            each.row = each.row._replace(key=key)
        _write_seen(self._tx, self._by_key.values())


class _Facts:
    """The current relations that a batch may be about, and what is stated."""

    def __init__(
        self,
        tx: Changes,
        ends: Sequence[tuple[Handled, Handled]],
        drafts: Sequence[RelationDraft],
        origin: int | None,
        at: int,
    ) -> None:
        self._tx, self._origin, self._at = tx, origin, at
        known = {end.row.key: end for both in ends for end in both if not end.is_new}
        subjects = {subject.row.key for subject, _ in ends if not subject.is_new}
        kinds = {name_key(draft.relation) for draft in drafts}
        wanted: tuple[Where, ...] = (("subject", "in", subjects), ("relation_key", "in", kinds), _HOLDS)
        found = tx.rows.ask(Find(RelationRow, wanted, near="live"))[0] if subjects else []
        self._known: dict[Any, Handled] = {
            (known[row.subject], row.relation_key, known.get(row.object, row.object)): Handled(row) for row in found
        }
        self._closed: list[Handled] = []
        self._acts: list[tuple[Handled, Contribution]] = []
        self._stated: list[tuple[Handled, int]] = []
        self._ends: dict[Handled, Place] = {}

    def state(
        self, place: Place, draft: RelationDraft, rate: float, memory: int | None, new_id: Callable[[str], str]
    ) -> RelationOutcome:
        closed = self._close_others(place) if draft.replaces else []
        known = self._known.get(place)
        before = None if known is None else state_of(known.row)
        act = stating(0, draft, rate, self._at, before, self._origin, memory)
        after = outcome(act)
        state: RelationState = "created" if known is None else "strengthened"
        if known is None:
            valid = self._at if act.valid_at is None else act.valid_at
            said = (draft.weight, None, 1, not draft.source, self._at, self._at, valid, None)
            row = RelationRow(new_id("rel"), 0, 0, draft.relation, place[1], *said, 1, None, self._origin, None, 0)
            known = self._known[place] = Handled(row, is_new=True)
            self._ends[known] = place
        else:
            known.change(**dict(zip(FactState._fields[:4], after[:4], strict=True)))
        self._acts.append((known, act))
        if memory is not None:
            self._stated.append((known, memory))
        subject, target = place[0].row.name, place[2].row.name
        weight = after.weight or 0.0
        return RelationOutcome(known.row.id, subject, draft.relation, target, state, weight, tuple(closed))

    def _close_others(self, place: Place) -> list[str]:
        """End what the subject has of this kind with anything else, and return the ids of those."""
        others = [each for each in self._known if each[:2] == place[:2] and each[2] is not place[2]]
        closed = sorted((self._known.pop(each) for each in others), key=lambda each: (each.is_new, each.row.key))
        for each in closed:
            self._acts.append((each, ending(0, self._at, state_of(each.row), self._origin)))
            each.change(invalid_at=self._at)
        self._closed += closed
        return [each.row.id for each in closed]

    def write(self) -> None:
        rows, every = self._tx.rows, [*self._known.values(), *self._closed]
        new = [each for each in every if each.is_new]
        for each in new:
            subject, _, target = self._ends[each]
            each.row = each.row._replace(subject=subject.row.key, object=target.row.key)
        for each, key in zip(new, rows.add([each.row for each in new]), strict=True):
            each.row = each.row._replace(key=key)
        changed = [each.row for each in every if each.is_changed and not each.is_new]
        rows.change(
            RelationRow, _STATED, {row.key: [getattr(row, name) for name in _STATED] for row in changed}, bin="live"
        )
        note(rows, [act._replace(relation=known.row.key) for known, act in self._acts])
        sources = [RelationSource(known.row.key, memory) for known, memory in self._stated]
        rows.put(sources, replace=False, live=("memory", "relation"))


def stating(
    relation: int,
    draft: RelationDraft,
    rate: float,
    at: int,
    before: FactState | None,
    origin: int | None,
    memory: int | None,
) -> Contribution:
    """A fact is stated by itself, or read in a text."""
    return Contribution(
        relation=relation,
        act="mention" if draft.mention else "state",
        at=at,
        rate=rate,
        value=draft.weight,
        explicit=not draft.source,
        valid_at=micros_or_none(draft.valid_at),
        origin=origin,
        memory=memory,
        before=before,
    )


def reinforcing(relation: int, asked: Reinforcement, before: FactState, origin: int | None) -> Contribution:
    """A known fact is confirmed or corrected."""
    usual = CONFIRM_GAIN if asked.kind == "confirm" else CORRECT_LOSS
    act = Contribution(relation, asked.kind, to_micros(asked.now), asked.rate, origin=origin, before=before)
    return act._replace(value=usual if asked.amount is None else asked.amount, explicit=True)


def reinforced(uid: str, act: Contribution, after: FactState) -> Reinforced:
    """Return the weight of a fact before and after an act, at that moment."""
    assert act.before is not None, "only a known fact is reinforced"
    now = from_micros(act.at)
    counts = [
        faded(1.0 if state.weight is None else state.weight, act.rate, age_days(from_micros(state.last_seen), now))
        for state in (act.before, after)
    ]
    return Reinforced(uid, *counts)


def ending(relation: int, at: int, before: FactState, origin: int | None) -> Contribution:
    """A fact holds no more, because another took its place."""
    return Contribution(relation, "end", at, origin=origin, before=before)
