"""A part of an entity becomes an entity of its own. Reads and decides first, writes last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from memsweep.errors import BadInput, Conflict
from memsweep.graph.merge import find
from memsweep.model.graph import Split
from memsweep.model.graph_rows import Mention, RelationRecord
from memsweep.model.memory import NamedThing
from memsweep.model.relation_set import RelationSet
from memsweep.model.text import name_key
from memsweep.model.times import to_micros
from memsweep.store.ports.graph import NewEntity

if TYPE_CHECKING:
    from memsweep.model.operation import Operation
    from memsweep.store.changes import Changes
    from memsweep.store.ports.graph_store import Graph


def split(
    store: Graph,
    entity: str,
    thing: NamedThing,
    relations: Sequence[str],
    memories: Sequence[str],
    new_id: str,
    doing: Operation,
) -> Split:
    """Make a new entity of some relations of another, and of its mentions in some memories."""
    at = to_micros(doing.now)
    with store.changing() as tx:
        key = find(tx, entity)
        old = tx.entities.at([key])[key]
        kind = thing.type or old.type
        name = (name_key(thing.name), name_key(kind))
        for taken in tx.entities.live_named([name]).values():
            raise Conflict(f"{thing.name!r:.60} exists already as {taken.id}.", hint="Choose another name or type.")
        chosen = _chosen(tx, old.key, set(relations))
        sources = tx.relations.sources({each.key for each in chosen})
        mentions = tx.mentions.in_memories(old.key, memories)
        if not chosen and not mentions:
            raise BadInput("nothing of the entity was chosen; nothing was changed.", hint="Name some relations.")
        tx.aliases.drop([name])
        new = tx.entities.add(NewEntity(new_id, thing.name, name[0], kind, name[1], at))
        seen = old._replace(confidence=1.0, last_seen=max(old.last_seen, at), explicit=True, version=old.version + 1)
        tx.entities.set([seen])
        moving = RelationSet(chosen, sources, living={new})
        for each in chosen:
            moving.move(each.key, *(new if end == old.key else end for end in each.ends))
        tx.relations.write(moving.changes())
        tx.mentions.add(Mention(chunk, new) for chunk, _ in mentions)
        tx.mentions.drop(mentions)
        tx.audit(doing.event("unmerge", new_id, reason=old.id, ids=(old.id, new_id)))
    return Split(new_id, thing.name, len(chosen), len(mentions))


def _chosen(tx: Changes, entity: int, ids: set[str]) -> list[RelationRecord]:
    found = [each for each in tx.relations.by_id(ids) if entity in each.ends]
    if len(found) < len(ids):
        raise BadInput(
            f"{len(ids) - len(found)} of these relations are not about the entity; nothing was changed.",
            hint="get_related shows its relations with their ids.",
        )
    return found
