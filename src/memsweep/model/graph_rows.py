"""Rows of the knowledge graph as merges, undo and purge see them, live or in the trash. Times are as stored."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from memsweep.model import forms as f
from memsweep.model.columns import JSON, KEY, LINK, MAYBE_LINK, WORD

Name = tuple[str, str]
"""A name and a type, in the form under which they are compared."""


Place = tuple[int, str, int]
"""The subject, the relation and the object of a fact."""


ENDS = ("subject", "object")
"""The columns of a fact that lead to entities, by which moves name them, too."""


class Strength(NamedTuple):
    """The weight of a relation, and its reasons; times as they are stored."""

    weight: float | None
    last_seen: int
    evidence: int
    explicit: int


class EntityRecord(NamedTuple):
    key: int
    id: str
    name: str
    name_key: str
    type: str
    type_key: str
    confidence: float
    last_seen: int
    explicit: bool
    """Handed in by somebody, not found in a text."""
    pinned: bool
    version: int
    trash: int | None
    """The receipt that holds it; nothing if it is live."""
    origin: int | None = None
    """Who alone has handed it in, if somebody has."""

    @property
    def full_name(self) -> Name:
        return self.name_key, self.type_key

    @property
    def strength(self) -> tuple[Any, ...]:
        """Yes and no are numbers in what a merge writes down."""
        return self.confidence, self.last_seen, int(self.explicit), int(self.pinned)

    def strengthened(self, strength: tuple[Any, ...], version: int) -> EntityRecord:
        confidence, last_seen, explicit, pinned = strength
        return self._replace(
            confidence=confidence, last_seen=last_seen, explicit=bool(explicit), pinned=bool(pinned), version=version
        )


class RelationRecord(NamedTuple):
    key: int
    id: str
    subject: int
    object: int
    kind: str
    weight: float | None
    last_seen: int
    evidence: int
    explicit: bool
    version: int
    trash: int | None
    invalid_at: int | None

    @property
    def is_current(self) -> bool:
        return self.trash is None and self.invalid_at is None

    @property
    def place(self) -> Place:
        return self.subject, self.kind, self.object

    @property
    def ends(self) -> tuple[int, int]:
        return self.subject, self.object

    @property
    def strength(self) -> Strength:
        return Strength(self.weight, self.last_seen, self.evidence, int(self.explicit))

    def between(self, subject: int, target: int) -> RelationRecord:
        return self._replace(subject=subject, object=target)

    def strengthened(self, strength: Strength) -> RelationRecord:
        weight, last_seen, evidence, explicit = strength
        return self._replace(
            weight=weight, last_seen=last_seen, evidence=evidence, explicit=bool(explicit), version=self.version + 1
        )


class Source(NamedTuple):
    """A memory that states a relation, and whether it is live."""

    relation: int
    memory: int
    lives: bool


class RelationChange(NamedTuple):
    """A change of one relation and of its sources."""

    before: RelationRecord
    after: RelationRecord
    unstated_by: tuple[int, ...] = ()
    newly_stated_by: tuple[Source, ...] = ()


class Mention(NamedTuple):
    chunk: int
    entity: int


class Alias(NamedTuple):
    """Another name of an entity; `receipt` is the merge that made it one."""

    name_key: Annotated[str, WORD.but(found_by="name_key")]
    type_key: Annotated[str, WORD]
    name: Annotated[str, WORD]
    entity: Annotated[int, LINK.but(refers="entity")]
    receipt: Annotated[int | None, MAYBE_LINK]

    @property
    def full_name(self) -> Name:
        return self.name_key, self.type_key


UNMENTIONED = "unmentioned"
"""A move of this kind says which chunk mentioned which entity, and whose mention it was, until that was taken back."""


_NUMBER = MAYBE_LINK.but(fits=f.or_null(f.whole()), remedy=f.drop)


class Move(NamedTuple):
    """One thing that a merge or a split moved, as it wrote it down; what the numbers are depends on the kind.

    | kind              | a            | b               | c                            | said                     |
    | mention           | chunk        | source          | target, if that is new       | owner, if not the memory's|
    | subject, object   | relation     | source          |                              |                          |
    | strength          | relation     | other relation  |                              | strengths before, after  |
    | source            | relation     | memory          |                              |                          |
    | alias             | source       |                 |                              | name, type               |
    | name              | old entity   | old receipt     |                              | name, type, as written   |
    | target            | target       | source          | version after                | strength, version before |
    | split             | old entity   | new entity      | version after                | the same, and when       |
    | split subject, …  | relation     |                 | old entity                   |                          |
    | split mention     | chunk        |                 | old entity                   |                          |
    | split name        | as for name  |                 |                              |                          |

    `place` tells moves of one receipt apart and grows; who adds one leaves it to the engine.
    """

    receipt: Annotated[int, LINK.but(found_by="receipt", refers="receipt")]
    kind: Annotated[str, WORD]
    a: Annotated[int, LINK]
    b: Annotated[int | None, _NUMBER] = None
    c: Annotated[int | None, _NUMBER] = None
    said: Annotated[Any, JSON] = None
    place: Annotated[int, KEY.but(in_file="rowid")] = 0
