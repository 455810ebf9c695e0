"""Entities, facts and what made them: declared for every engine. Pure."""

from typing import Annotated, NamedTuple

from memsweep.model import columns as c
from memsweep.model import forms as f
from memsweep.model.columns import declare
from memsweep.model.contribution import Contribution
from memsweep.model.graph_rows import Alias, Move
from memsweep.store.things.memories import CHUNK, MEMORY


class EntityRow(NamedTuple):
    id: Annotated[str, c.uid("ent_lost{}")]
    name: Annotated[str, c.WORD.but(remedy=f.same_or_drop("name_key"), in_words=True)]
    name_key: Annotated[str, c.WORD.but(remedy=f.key_of("name"), in_words=True, found_by="name_key")]
    type: Annotated[str, c.WORD.but(remedy=f.same_or_drop("type_key"), in_words=True)]
    type_key: Annotated[str, c.WORD.but(remedy=f.key_of("type"), in_words=True)]
    created_at: Annotated[int, c.MOMENT.but(remedy=f.like("last_seen"))]
    last_seen: Annotated[int, c.MOMENT.but(remedy=f.like("created_at"))]
    confidence: Annotated[float, c.SHARE.but(remedy=f.to(1.0), default=1.0)] = 1.0
    current: Annotated[float | None, c.MAYBE_SHARE.but(computed=True)] = None
    explicit: Annotated[bool, c.KEPT.but(stored="handed_in")] = True
    """Handed in by somebody, not found in a text."""
    pinned: Annotated[bool, c.KEPT] = False
    version: Annotated[int, c.VERSION] = 1
    trash: Annotated[int | None, c.TRASH] = None
    origin: Annotated[int | None, c.MAYBE_LINK] = None
    key: Annotated[int, c.KEY] = 0


class RelationRow(NamedTuple):
    """A fact. A graph keeps it as an edge, whose ends are its subject and its object."""

    id: Annotated[str, c.uid("rel_lost{}")]
    subject: Annotated[int, c.LINK.but(beside=True)]
    object: Annotated[int, c.LINK.but(beside=True)]
    relation: Annotated[str, c.WORD.but(remedy=f.same_or_drop("relation_key"), in_words=True)]
    relation_key: Annotated[str, c.WORD.but(remedy=f.key_of("relation"), in_words=True)]
    weight: Annotated[float | None, c.MAYBE_SHARE]
    current: Annotated[float | None, c.MAYBE_SHARE.but(computed=True)]
    evidence: Annotated[int, c.COUNT.but(remedy=f.to(1), default=1)]
    explicit: Annotated[bool, c.KEPT.but(stored="handed_in")]
    created_at: Annotated[int, c.MOMENT.but(remedy=f.like("last_seen"))]
    last_seen: Annotated[int, c.MOMENT.but(remedy=f.like("created_at"))]
    valid_at: Annotated[int | None, c.MAYBE_MOMENT]
    invalid_at: Annotated[int | None, c.MAYBE_MOMENT]
    version: Annotated[int, c.VERSION]
    trash: Annotated[int | None, c.TRASH]
    origin: Annotated[int | None, c.MAYBE_LINK]
    released_at: Annotated[int | None, c.MAYBE_MOMENT]
    key: Annotated[int, c.KEY]


class MentionLink(NamedTuple):
    """An entity that a piece of a memory names. In the trash if one of its ends is: only a file says so of the link."""

    chunk: Annotated[int, c.LINK]
    entity: Annotated[int, c.LINK]
    trash: Annotated[int | None, c.TRASH.but(beside=True)]
    origin: Annotated[int | None, c.MAYBE_LINK]
    """Whose it is, if not the memory's own."""


class RelationSource(NamedTuple):
    """A memory that states a fact. In a graph it leads to where the fact begins, and has the key of the fact."""

    relation: Annotated[int, c.LINK]
    memory: Annotated[int, c.LINK]


class NameSeen(NamedTuple):
    """A name that is only counted yet."""

    name_key: Annotated[str, c.WORD.but(found_by="name_key")]
    name: Annotated[str, c.WORD]
    evidence: Annotated[int, c.NUMBER.but(remedy=f.drop)]
    chunks: Annotated[list[int], c.NUMBERS.but(remedy=f.drop)]


ENTITY = declare(EntityRow, "entity", "Entity", bins=True)
RELATION = declare(
    RelationRow,
    "relation",
    "Relation",
    bins=True,
    edge=("RELATED_TO", "WAS_RELATED_TO"),
    ends={"subject": ENTITY, "object": ENTITY},
)
MENTION = declare(MentionLink, "mention", "", bins=True, edge=("MENTIONS",), ends={"chunk": CHUNK, "entity": ENTITY})
CONTRIBUTION = declare(Contribution, "contribution", "Contribution")
RELATION_SOURCE = declare(
    RelationSource, "relation_source", "", edge=("STATES",), ends={"memory": MEMORY, "relation": RELATION}
)
ALIAS = declare(Alias, "alias", "Alias", known_by=("name_key", "type_key"))
MERGE_MOVE = declare(Move, "merge_move", "MergeMove", known_by=("receipt",))
NAME_SEEN = declare(NameSeen, "name_seen", "NameSeen", known_by=("name_key",))
