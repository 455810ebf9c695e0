"""A part of an entity becomes an entity of its own. Reads and decides first, writes last.

It writes down what it moved under its receipt; `memsweep.collector.undo_split` takes that back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from memsweep.errors import BadInput, Conflict
from memsweep.graph.merge import find
from memsweep.model.graph import Split
from memsweep.model.graph_rows import Alias, EntityRecord, Mention, Move, Name, RelationRecord
from memsweep.model.memory import NamedThing
from memsweep.model.merging import SPLIT, SPLIT_ENDS, SPLIT_MENTION, SPLIT_NAME, RelationSet, given_by_split, highest
from memsweep.model.plan import Totals
from memsweep.model.text import name_key
from memsweep.model.times import to_micros
from memsweep.store.receipts import NewReceipt
from memsweep.store.records import NewEntity

if TYPE_CHECKING:
    from memsweep.model.plan import Operation
    from memsweep.store.changes import Changes
    from memsweep.store.graph import Graph


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


def look(store: Graph, wanted: SplitRequest) -> Split:
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
