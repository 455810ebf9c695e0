"""Several entities become one, or a part of one becomes an entity of its own. Reads and decides first, writes last.

What a merge touches is read once and changed in memory as if it were done step by step. It writes down every single
thing that it moves; undoing its receipt goes through that list backwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from memsweep.errors import BadInput, Conflict
from memsweep.graph.relating import find
from memsweep.model.graph import Merged, Split
from memsweep.model.graph_rows import ENDS, Alias, EntityRecord, Mention, Move, Name, RelationRecord
from memsweep.model.memory import NamedThing
from memsweep.model.merging import (
    SPLIT,
    SPLIT_ENDS,
    SPLIT_MENTION,
    SPLIT_NAME,
    RelationSet,
    given_by_split,
    highest,
    is_made_one,
)
from memsweep.model.plan import PlanDraft, PlanItem, Totals
from memsweep.model.text import name_key
from memsweep.model.times import to_micros
from memsweep.store import plans
from memsweep.store.plans import MERGE, Planning
from memsweep.store.receipts import NewReceipt
from memsweep.store.records import NewEntity

if TYPE_CHECKING:
    from memsweep.model.plan import Operation
    from memsweep.store.changes import Changes
    from memsweep.store.graph import Graph


_NO_RECEIPT = 0
"""Of a merge that is only looked at."""


def plan_merge(
    store: Graph, names: Sequence[str], into: str, plan_id: str, lifetime: timedelta, doing: Operation
) -> Merged:
    """Save a plan of what a merge would move; nothing is moved."""
    with store.changing() as tx:
        target = find(tx, into)
        sources = _sources(tx, names, target)
        merging = _Merge(tx, target, sources, doing)
        merging.run(_NO_RECEIPT)
        entities = tx.entities.at([*sources, target])
        items = [PlanItem("entity", key, entities[key].version, "merged", {"into": target}) for key in sources]
        totals = Totals(entities=len(items), relations=merging.relations)
        plans.save(tx, PlanDraft(tuple(items), (), (), 0.0, 0), totals, Planning(plan_id, MERGE, doing.now, lifetime))
        tx.audit(doing.event("plan", plan_id, reason=MERGE, ids=merging.ids))
    return Merged(merging.target.id, merging.target.name, merging.names, *merging.moved, plan_id=plan_id)


def merge(
    store: Graph, names: Sequence[str], into: str, plan_id: str | None, receipt_id: str, doing: Operation
) -> Merged:
    """Make several entities one; their names become other names of it. Undoing the receipt takes them apart."""
    with store.changing() as tx:
        plan, target, sources = _wanted(tx, names, into, plan_id, doing)
        merging = _Merge(tx, target, sources, doing)
        totals = Totals(entities=len(sources), relations=merging.relations)
        receipt = tx.receipts.add(
            NewReceipt(receipt_id, "merge", MERGE, doing.actor, doing.now, plan_id=plan_id, totals=totals)
        )
        merging.run(receipt)
        merging.write(tx, receipt)
        if plan is not None:
            tx.plans.use(plan, receipt)
        counts = {"entities": totals.entities, "relations": totals.relations}
        tx.audit(doing.event("merge", merging.target.id, counts, receipt_id, merging.ids))
    return Merged(merging.target.id, merging.target.name, merging.names, *merging.moved, plan_id or "", receipt_id)


def _sources(tx: Changes, names: Sequence[str], target: int) -> list[int]:
    keys = list(dict.fromkeys(find(tx, name) for name in names))
    if not keys or target in keys:
        raise BadInput("name the entities to merge, and a different one to merge them into.")
    return keys


def _wanted(
    tx: Changes, names: Sequence[str], into: str, plan_id: str | None, doing: Operation
) -> tuple[int | None, int, list[int]]:
    """The key of the plan if there is one, what is kept, and what goes."""
    if plan_id is None:
        target = find(tx, into)
        return None, target, _sources(tx, names, target)
    saved, plan = plans.load(tx, plan_id)
    if plan.strategy != MERGE:
        raise Conflict(f"plan {plan.id} is for {plan.strategy}; it merges nothing.")
    plans.refuse_unusable(plan, saved.receipt_id, doing.now)
    items = tx.plans.items(saved.key)
    plans.refuse_altered(plan, items)
    target = items[0].evidence["into"]
    _refuse_changed(tx, plan_id, items, target)
    return saved.key, target, [item.key for item in items]


def _refuse_changed(tx: Changes, plan_id: str, items: Sequence[PlanItem], target: int) -> None:
    """Half a merge would be worse than none."""
    entities = tx.entities.at([*(item.key for item in items), target])
    versions = {key: each.version for key, each in entities.items() if each.trash is None}
    if any(versions.get(item.key) != item.version for item in items):
        raise Conflict(f"an entity of plan {plan_id} has changed since; nothing was merged.", hint="Make a new plan.")
    if target not in versions:
        raise Conflict(f"the target of plan {plan_id} is gone; nothing was merged.", hint="Make a new plan.")


class _Merge:
    """One merge under way: read when it is made, then run in memory, then written."""

    def __init__(self, tx: Changes, target: int, sources: Sequence[int], doing: Operation) -> None:
        entities = tx.entities.at([*sources, target])
        self.target, self._sources = entities[target], [entities[source] for source in sources]
        self._doing = doing
        relations = tx.relations.touching(sources)
        kinds = {each.kind for each in relations}
        every = {each.key: each for each in (*relations, *(tx.relations.current_at(target, kinds) if kinds else ()))}
        self._set = RelationSet(every.values(), tx.relations.sources(every.keys()))
        self.relations = sum(each.trash is None for each in relations)
        self._mentions = tx.mentions.count(sources)
        self._chunks = _Chunks(tx, target, sources)
        self._aliases = _Aliases(tx, self._sources)
        self._moves: list[Move] = []
        self._joined = 0

    @property
    def moved(self) -> tuple[int, int, int]:
        """Of what lives: mentions, relations, and those of them that were there twice; what is in the trash moves too.

        Known once it has run.
        """
        return self._mentions, self.relations, self._joined

    @property
    def ids(self) -> tuple[str, ...]:
        """Of all that it makes one."""
        return (*(source.id for source in self._sources), self.target.id)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(source.name for source in self._sources)

    def run(self, receipt: int) -> None:
        """Everything of every entity to the target, written down under the receipt."""
        for source in self._sources:
            self._take(source, receipt)

    def write(self, tx: Changes, receipt: int) -> None:
        keys = [source.key for source in self._sources]
        tx.mentions.add(self._chunks.added, self._chunks.owners)
        tx.mentions.drop_of(keys)
        tx.relations.write(self._set.changes())
        tx.aliases.put(self._aliases.changed())
        tx.entities.set([self.target])
        tx.entities.trash(keys, receipt)
        tx.moves.add(self._moves)

    def _take(self, source: EntityRecord, receipt: int) -> None:
        for chunk, shared in self._chunks.take(source.key):
            owner = self._chunks.owners.get(Mention(chunk, source.key))
            said = None if owner is None else [owner]
            self._note(receipt, "mention", chunk, source.key, None if shared else self.target.key, said)
        for key in self._set.at(source.key):
            self._take_relation(receipt, source.key, key)
        for name in self._aliases.repoint(source.key, self.target.key):
            self._note(receipt, "alias", source.key, said=list(name))
        if (other := self._aliases.named(source.full_name)) is not None:
            self._note(receipt, "name", other.entity, other.receipt, said=[*source.full_name, other.name])
        self._aliases.add(source, self.target.key, receipt)
        self._strengthen_target(receipt, source)

    def _note(
        self, receipt: int, kind: str, a: int, b: int | None = None, c: int | None = None, said: Any = None
    ) -> None:
        self._moves.append(Move(receipt, kind, a, b, c, said))

    def _take_relation(self, receipt: int, source: int, key: int) -> None:
        relation, target = self._set.relations[key], self.target.key
        subject, other = (target if end == source else end for end in relation.ends)
        is_empty = is_made_one(relation.ends, (subject, other))
        same = None if is_empty else self._set.equal_at(relation, subject, other)
        if same is not None:
            self._join(receipt, same, key)
        if same is not None or (relation.trash is None and is_empty):
            self._set.trash(key, receipt)
        for end, was in zip(ENDS, relation.ends, strict=True):
            if was == source:
                self._note(receipt, end, key, source)
        self._set.move(key, subject, other)

    def _join(self, receipt: int, same: int, gone: int) -> None:
        """Of two facts that are one now, the stronger counts; who stated the other states it."""
        before = self._set.relations[same].strength
        after = self._doing.join(before, self._set.relations[gone].strength)
        self._set.strengthen(same, after)
        self._note(receipt, "strength", same, gone, said=[*before, *after])
        for memory in self._set.hand_on_sources(gone, same):
            self._note(receipt, "source", same, memory)
        self._joined += 1

    def _strengthen_target(self, receipt: int, source: EntityRecord) -> None:
        before, version = self.target.strength, self.target.version
        self.target = self.target.strengthened(highest(before, source.strength), version + 1)
        self._note(receipt, "target", self.target.key, source.key, version + 1, [*before, version])


class _Chunks:
    """The chunks that mention the sources, and which of them mention the target."""

    def __init__(self, tx: Changes, target: int, sources: Sequence[int]) -> None:
        self._target = target
        self._of: dict[int, list[int]] = {source: [] for source in sources}
        for chunk, source in tx.mentions.of(sources):
            self._of[source].append(chunk)
        self._targets = tx.mentions.shared(sources, target)
        self.owners = tx.mentions.owners(sources)
        """Of mentions that are not their memories' own, also of those that are added."""
        self.added: list[Mention] = []

    def take(self, source: int) -> list[tuple[int, bool]]:
        """The chunks of a source, and whether each mentioned the target already."""
        taken = [(chunk, chunk in self._targets) for chunk in self._of[source]]
        added = {chunk: Mention(chunk, self._target) for chunk, shared in taken if not shared}
        self.added += added.values()
        known = ((new, self.owners.get(Mention(chunk, source))) for chunk, new in added.items())
        self.owners |= {new: owner for new, owner in known if owner is not None}
        self._targets.update(self._of[source])
        return taken


class _Aliases:
    """The other names of some entities, and those that are their own names."""

    def __init__(self, tx: Changes, entities: Sequence[EntityRecord]) -> None:
        names = {entity.full_name for entity in entities}
        found = tx.aliases.at({entity.key for entity in entities}, names)
        self._rows: dict[Name, Alias] = {alias.full_name: alias for alias in found}
        self._changed: dict[Name, None] = {}

    def repoint(self, source: int, target: int) -> list[Name]:
        """Point the other names of the source at the target; which those are."""
        mine = sorted(name for name, alias in self._rows.items() if alias.entity == source)
        self._rows |= {name: self._rows[name]._replace(entity=target) for name in mine}
        self._changed |= dict.fromkeys(mine)
        return mine

    def named(self, name: Name) -> Alias | None:
        """Return the alias that a name is already."""
        return self._rows.get(name)

    def add(self, source: EntityRecord, target: int, receipt: int) -> None:
        known = self._rows.get(source.full_name)
        name = source.name if known is None else known.name
        self._rows[source.full_name] = Alias(*source.full_name, name, target, receipt)
        self._changed[source.full_name] = None

    def changed(self) -> Iterator[Alias]:
        return (self._rows[name] for name in self._changed)


# A part of an entity becomes an entity of its own. Reads and decides first, writes last.
#
# It writes down what it moved under its receipt; `memsweep.collector.unmerge` takes that back.


class SplitRequest(NamedTuple):
    """A request for an entity of its own: split out of which, its name, its relations and mentions."""

    entity: str
    thing: NamedThing
    relations: Sequence[str]
    memories: Sequence[str]


class _Part(NamedTuple):
    """The parts of a request, as they are in the store."""

    old: EntityRecord
    kind: str
    name: Name
    relations: list[RelationRecord]
    mentions: list[Mention]
    owners: dict[Mention, int]
    aliases: list[Alias]
    """What the name stood for until now."""


def look_at_split(store: Graph, wanted: SplitRequest) -> Split:
    """Return what a split would move; nothing is moved."""
    with store.changing() as tx:
        part = _find(tx, wanted)
    return Split("", wanted.thing.name, len(part.relations), len(part.mentions))


def split(store: Graph, wanted: SplitRequest, new_id: str, receipt_id: str, doing: Operation) -> Split:
    """Make a new entity of some relations of another, and of its mentions in some memories."""
    with store.changing() as tx:
        part = _find(tx, wanted)
        sources = tx.relations.sources({each.key for each in part.relations})
        totals = Totals(relations=len(part.relations))
        receipt = tx.receipts.add(NewReceipt(receipt_id, "unmerge", "unmerge", doing.actor, doing.now, totals=totals))
        tx.aliases.drop([part.name])
        at = to_micros(doing.now)
        new = tx.entities.add(NewEntity(new_id, wanted.thing.name, part.name[0], part.kind, part.name[1], at))
        old = part.old
        tx.entities.set([old.strengthened(highest(old.strength, given_by_split(at)), old.version + 1)])
        moving = RelationSet(part.relations, sources)
        for each in part.relations:
            moving.move(each.key, *(new if end == old.key else end for end in each.ends))
        tx.relations.write(moving.changes())
        owners = {Mention(chunk, new): owner for (chunk, _), owner in part.owners.items()}
        tx.mentions.add([Mention(chunk, new) for chunk, _ in part.mentions], owners)
        tx.mentions.drop(part.mentions)
        tx.moves.add(list(_moves(part, receipt, new, at)))
        counts = {"relations": len(part.relations)}
        tx.audit(doing.event("unmerge", new_id, counts, receipt_id, ids=(old.id, new_id)))
    return Split(new_id, wanted.thing.name, len(part.relations), len(part.mentions), receipt_id)


def _find(tx: Changes, wanted: SplitRequest) -> _Part:
    key = find(tx, wanted.entity)
    old = tx.entities.at([key])[key]
    kind = wanted.thing.type or old.type
    name = (name_key(wanted.thing.name), name_key(kind))
    for taken in tx.entities.live_named([name]).values():
        raise Conflict(f"{wanted.thing.name!r:.60} exists already as {taken.id}.", hint="Choose another name or type.")
    relations = _chosen(tx, key, set(wanted.relations))
    mentions = tx.mentions.in_memories(key, wanted.memories)
    if not relations and not mentions:
        raise BadInput("no part of the entity was chosen; nothing was changed.", hint="Name some relations.")
    owners = tx.mentions.owners([key]) if mentions else {}
    return _Part(old, kind, name, relations, mentions, owners, tx.aliases.at(names=[name]))


def _moves(part: _Part, receipt: int, new: int, at: int) -> Iterator[Move]:
    old = part.old
    yield Move(receipt, SPLIT, old.key, new, old.version + 1, [*old.strength, old.version, at])
    for each in part.relations:
        for kind, end in zip(SPLIT_ENDS, each.ends, strict=True):
            if end == old.key:
                yield Move(receipt, kind, each.key, c=old.key)
    for chunk, _ in part.mentions:
        yield Move(receipt, SPLIT_MENTION, chunk, c=old.key)
    for alias in part.aliases:
        yield Move(receipt, SPLIT_NAME, alias.entity, alias.receipt, said=[*alias.full_name, alias.name])


def _chosen(tx: Changes, entity: int, ids: set[str]) -> list[RelationRecord]:
    found = [each for each in tx.relations.by_id(ids) if entity in each.ends]
    if len(found) < len(ids):
        raise BadInput(
            f"{len(ids) - len(found)} of these relations are not about the entity; nothing was changed.",
            hint="get_related shows its relations with their ids.",
        )
    return found
