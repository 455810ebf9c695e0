"""The values of remembering: memories as answers show them, their chunks, the names and facts that came with them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypedDict, get_type_hints

from memsweep.model.checks import NUMBER, TEXT, DoorArgument, fields, flag, items_of
from memsweep.model.decay import DEFAULT_EDGE_RATE
from memsweep.model.frozen import field, frozen
from memsweep.model.origin import UNKNOWN, Origin
from memsweep.model.workspace import EmbeddingModel as EmbeddingModel
from memsweep.model.workspace import Workspace as Workspace

if TYPE_CHECKING:
    from memsweep.model.audit import AuditEvent


@frozen
class CodePlace:
    """The file that a memory is of, when it was last seen to be so, and of a passage the symbol in it."""

    path: str
    file_path: str
    language: str
    lines: int
    verified_at: datetime | None
    symbol: str = ""
    kind: str = ""


@frozen
class ShownMemory:
    """The parts of a memory that every answer shows, by the names of its columns."""

    tags: tuple[str, ...]
    source: str
    created_at: datetime
    updated_at: datetime
    last_seen_at: datetime
    """When it was last remembered, recalled, or found on disk."""
    expires_at: datetime | None
    stale: bool
    pinned: bool
    released_at: datetime | None
    """When somebody let it out of quarantine."""
    thread_id: str | None
    origin: Origin
    code: CodePlace | None


if TYPE_CHECKING:
    from memsweep.model.revision import Piece

CODE_SOURCE = "code_indexer"
DEFAULT_TYPE = "Concept"
"""Of an entity that nobody gave a type."""


@frozen
class NamedThing:
    """An entity as it was handed in, or found by rule; without a type it is whichever entity has the name."""

    name: str
    type: str = DEFAULT_TYPE


@frozen
class Fact:
    """A relation between two named things, as it was handed in; without a weight the text only mentions it."""

    subject: NamedThing
    relation: str
    object: NamedThing
    weight: float | None = None


ENTITY = {"anyOf": [TEXT, fields(["name"], name=TEXT, type=TEXT)]}
RELATION = fields(
    ["from", "relation", "to"], from_=TEXT, relation=TEXT, to=TEXT, weight=NUMBER, from_type=TEXT, to_type=TEXT
)


class Remembering(TypedDict, total=False):
    """The arguments on a text to remember, at every door."""

    tags: Annotated[
        Iterable[str] | None, DoorArgument(list[str] | None, option=("--tag", "-t"), help="A tag; can be repeated.")
    ]
    source: Annotated[str, DoorArgument(str, "", option=("--source",), help="Where it came from.")]
    metadata: Annotated[
        Mapping[str, Any] | None,
        DoorArgument(
            dict[str, Any] | None, option=("--metadata",), metavar="JSON", help="A JSON object to store with it."
        ),
    ]
    thread_id: Annotated[
        str | None,
        DoorArgument(
            str | None,
            about="the conversation this is a turn of",
            option=("--thread",),
            help="The conversation it is a turn of.",
        ),
    ]
    entities: Annotated[
        Iterable[str | Mapping[str, Any]] | None,
        DoorArgument(
            list[str | dict[str, Any]] | None,
            schema=items_of(ENTITY),
            option=("--entity",),
            help="A name it mentions; can be repeated.",
        ),
    ]
    relations: Annotated[
        Iterable[Mapping[str, Any]] | None,
        DoorArgument(list[dict[str, Any]] | None, schema=items_of(RELATION), about="facts that the text states"),
    ]
    expires_at: Annotated[
        str | datetime | None,
        DoorArgument(
            str | None,
            schema={"format": "date-time"},
            option=("--expires",),
            metavar="DATE",
            help="When it expires and may be collected.",
        ),
    ]
    pinned: Annotated[bool, DoorArgument(bool, False, option=("--pin",), help="Never collect it.", check=flag)]
    scope: Annotated[
        str,
        DoorArgument(
            Literal["project", "personal"],
            "project",
            about="personal: preferences, people, habits; found in every project",
            option=("--scope",),
            metavar="project|personal",
            help="personal: preferences, people, habits; found in every project.",
        ),
    ]
    tier: Annotated[
        str,
        DoorArgument(
            str,
            "",
            about="lower trust: tool or import",
            option=("--tier",),
            help="agent, tool or import, if it does not come from a person.",
        ),
    ]
    supersedes: Annotated[
        Iterable[str] | None,
        DoorArgument(
            list[str] | None,
            about="ids of memories that this one replaces",
            option=("--supersedes",),
            metavar="ID",
            help="A memory that this one replaces; can be repeated.",
        ),
    ]


@cache
def arguments_of(said: type[Any]) -> dict[str, DoorArgument]:
    """Return how the doors take what a dictionary declares."""
    hints = get_type_hints(said, include_extras=True)
    return {
        name: next(each for each in hint.__metadata__ if isinstance(each, DoorArgument)) for name, hint in hints.items()
    }


@frozen
class MemoryDraft:
    """A caller's request to remember a text, checked."""

    text: str
    tags: tuple[str, ...] = ()
    source: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    thread_id: str | None = None
    entities: tuple[NamedThing, ...] | None = None
    facts: tuple[Fact, ...] = ()
    expires_at: datetime | None = None
    pinned: bool = False
    supersedes: tuple[str, ...] = ()
    """The ids of memories whose place it takes."""

    @property
    def said(self) -> list[str]:
        """Its text, and every name that was handed in with it."""
        ends = [end for fact in self.facts for end in (fact.subject, fact.object)]
        return [self.text, *(thing.name for thing in (*(self.entities or ()), *ends))]


ENOUGH_EVIDENCE = 2
"""A capitalised word is taken for a name once it was seen so often in the middle of a sentence."""
RULE_CONFIDENCE = 0.8
"""How sure that makes us."""


@frozen
class NewMention:
    """A named thing and the chunks (by index) that speak of it.

    `evidence` is how often the text shows the name where only a name is written so; a name found by
    rule becomes an entity once the workspace has seen enough of it. An explicit one needs none.
    """

    id: str
    thing: NamedThing
    chunks: tuple[int, ...]
    explicit: bool
    evidence: int = 0


@frozen
class NewFact:
    """A fact ready to be written; both its ends are among the mentions."""

    id: str
    fact: Fact


class StatedIn(NamedTuple):
    """The memory that names and facts are stated in, its chunks, and whose statement that is.

    `other` is that origin again, where the text is somebody else's.
    """

    memory: int
    chunks: list[int]
    origin: int | None
    other: int | None = None


@frozen
class NewMemory:
    """Everything one `add` writes, in one transaction."""

    id: str
    draft: MemoryDraft
    content_hash: bytes
    chunks: tuple[Piece, ...]
    mentions: tuple[NewMention, ...]
    facts: tuple[NewFact, ...]
    now: datetime
    edge_rate: float = DEFAULT_EDGE_RATE
    actor: str = ""
    origin: Origin = UNKNOWN

    def events(self, done: Remembered, entities: Sequence[str]) -> Iterator[AuditEvent]:
        """Yield the log's events about it and about those whose place it took; `entities` are new.

        Marking a known text as seen is no event.
        """
        from memsweep.model.audit import AuditEvent  # late: a search writes none

        known, older, own = done.duplicate_of is not None, self.draft.supersedes, done.memory_id
        if not known or entities or self.facts:
            counts = {"memories": int(not known), "chunks": done.chunks_created, "entities": len(entities)}
            yield AuditEvent(self.now, self.actor, "add", own, counts, ids=(own, *entities))
        if older:
            yield AuditEvent(self.now, self.actor, "supersede", own, {"memories": len(older)}, ids=(own, *older))


@frozen
class Similar:
    """A memory that a new text seems to repeat or to contradict, by the beginning of its text."""

    memory_id: str
    text: str
    kind: Literal["repeats", "contradicts"]
    differs: tuple[tuple[str, str], ...]
    """Each place as the new text and as this memory has it; none where only the form differs."""


@frozen
class Remembered:
    """The result of an `add`."""

    memory_id: str
    chunks_created: int
    entities_created: int
    duplicate_of: str | None = None
    supersedes: tuple[str, ...] = ()
    similar: tuple[Similar, ...] = ()
    redacted: tuple[str, ...] = ()
    """The kinds of secrets that were not stored."""
    warnings: tuple[str, ...] = ()


@frozen
class Superseding:
    """The memory at the other end of a link, and since when one of the two has superseded the other."""

    memory_id: str
    at: datetime


@frozen
class Memory(ShownMemory):
    """A whole memory, as it is given back."""

    id: str
    text: str
    metadata: Mapping[str, Any]
    version: int
    chunk_count: int
    entities: tuple[NamedThing, ...]
    quarantine: str = ""
    """How long it stays out of search, in words; empty if it does not."""
    expired: bool = False
    revisions: int = 0
    """How many earlier forms of it are kept."""
    revised_at: datetime | None = None
    supersedes: tuple[Superseding, ...] = ()
    superseded_by: tuple[Superseding, ...] = ()
    """Both: the live ones of its whole chain, the nearest first."""


def vector_bytes(chunks: int, model: EmbeddingModel | None, index_bytes: int) -> int:
    """Return the size of a workspace's vectors: one byte a dimension and chunk, and the index that searches read."""
    return index_bytes + (chunks * model.dimension if model else 0)


@frozen
class Stats:
    """Counts and sizes of a workspace; trash is not counted."""

    workspace_id: str
    total_memories: int
    total_chunks: int
    total_entities: int
    total_relations: int
    stale_memories: int
    database_bytes: int
    vector_bytes: int
    engine: str
    model: EmbeddingModel | None
    oldest: datetime | None
    newest: datetime | None
    quarantined: int = 0
    """Memories that search leaves out until they are released."""
    warnings: tuple[str, ...] = ()


def no_stats(workspace_id: str, engine: str) -> Stats:
    """Of a workspace that nothing was stored in yet."""
    return Stats(workspace_id, 0, 0, 0, 0, 0, 0, 0, engine, None, None, None)
