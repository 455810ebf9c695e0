"""What is asked of the memory and what it answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, NamedTuple

from memsweep.model.code_place import CodePlace
from memsweep.model.conditions import Condition
from memsweep.model.frozen import field, frozen, replace
from memsweep.model.origin import UNKNOWN, Origin, stored_origin
from memsweep.model.roles import Role
from memsweep.model.times import from_micros, moment_or_none

MAX_LIMIT = 50  # hits on a page
SearchMode = Literal["precise", "deep"]
"""What answers a query and nothing else; or everything with a trace of evidence, best first, to page through."""
MODES: tuple[SearchMode, ...] = ("precise", "deep")
Kind = Literal["memory", "code", "fact", "segment"]
"""What a hit is: a memory, a piece of an indexed file, a relation of the graph, a segment of a context window."""
KINDS: tuple[Kind, ...] = ("memory", "code", "fact", "segment")


class HeldBack(NamedTuple):
    """What nobody recalls: memories of these tiers that were made after a moment (at any time without one), `files`
    of the index among them or not, and those that have expired by a moment. Moments are microseconds."""

    tiers: tuple[str, ...] = ()
    since: int | None = None
    expired_by: int | None = None
    files: bool = True


@frozen
class Filters:
    """What a hit must be. Tags: all of them. Path: a file, a folder, or a pattern with `*` and `?`.

    `as_of`: what was there at a moment and was not superseded yet; of facts, those that held then.
    Without a kind, segments are not looked at. A role is what a file of code is for.
    """

    tags: tuple[str, ...] = ()
    source: str | None = None
    date_from: datetime | None = None
    date_to: datetime | None = None
    include_stale: bool = False
    path: str | None = None
    language: str | None = None
    symbol_kind: str | None = None
    as_of: datetime | None = None
    tier: str | None = None
    client: str | None = None
    session: str | None = None
    kind: Kind | None = None
    role: Role | None = None
    include_tests: bool = True
    include_expired: bool = False
    metadata: tuple[Condition, ...] = ()
    held_back: HeldBack | None = field(default=None, repr=False)
    """Set by the service, and never by who asks."""

    @property
    def asked(self) -> Filters:
        """The same without what is held back."""
        return replace(self, held_back=None)

    @property
    def any_role(self) -> bool:
        """Whether files of every role may pass, and what is no file."""
        return self.role is None and self.include_tests

    @property
    def may_be_loose(self) -> bool:
        """Whether something without tags, source or path may pass."""
        nothing_else = Filters(kind=self.kind, date_from=self.date_from, date_to=self.date_to, as_of=self.as_of)
        of_memories = {"include_stale": False, "include_expired": False, "include_tests": True}
        asked = replace(self.asked, **of_memories, tier=None, client=None, session=None)
        return asked == nothing_else

    def accept(self, origin: Origin) -> bool:
        """Whether something from there may be a hit."""
        asked = ((self.tier, origin.tier), (self.client, origin.client), (self.session, origin.session))
        return all(wanted is None or wanted == there for wanted, there in asked)


# Where a chunk stands in an order: the turns of a thread, or the pieces of a long memory. One number, for a search
# handles hundreds of them; those next to it in its stream are the places next to it.
Place = int
_POSITION_BITS = 32


def place_at(stream: int, position: int) -> Place:
    return stream << _POSITION_BITS | position


def stream_and_position(place: Place) -> tuple[int, int]:
    return place >> _POSITION_BITS, place & ((1 << _POSITION_BITS) - 1)


class Owner(NamedTuple):
    """The memory that a chunk is part of, by key, the path of its file if it is code, and how far it is trusted; when
    it was made and a hash of the chunk, which decide between equals."""

    memory: int
    path: str | None
    tier: str = UNKNOWN.tier
    created_at: int = 0
    digest: bytes = b""


class Candidate(NamedTuple):
    """A chunk that the words or the meaning of a query found. Scores: higher is better, 0 is no match."""

    key: int
    words: float
    similarity: float
    place: Place | None
    is_code: bool = False
    owner: Owner | None = None
    """Where it is from, if the engine says so without being asked."""


class FileWords(NamedTuple):
    """How many files of code there are, and of each of some words how many pieces of which files, by key, have it."""

    files: int
    pieces: Sequence[Mapping[int, int]]


class Ranked(NamedTuple):
    """A candidate with its final score and the parts it is made of."""

    key: int
    score: float
    words: float
    meaning: float
    neighbours: float


class FactWords(NamedTuple):
    """The facts that are asked for: at entities with one of these names, or at those that somebody named with a name
    that begins so, or whose relation does, as it is written."""

    names: Sequence[str]
    names_begin: Sequence[str]
    relations_begin: Sequence[str]


class Statement(NamedTuple):
    """A fact, with the names of its ends and when it holds."""

    id: str
    subject: str
    relation: str
    object: str
    created_at: datetime
    last_seen: datetime
    valid_at: datetime | None
    invalid_at: datetime | None
    origin: Origin = UNKNOWN


def statement(row: Sequence[Any]) -> Statement:
    """As an engine keeps it: the texts, the times in microseconds, the fields of the origin."""
    uid, subject, relation, target, created, seen, valid, invalid, *origin = row
    return Statement(
        uid,
        subject,
        relation,
        target,
        created_at=from_micros(created),
        last_seen=from_micros(seen),
        valid_at=moment_or_none(valid),
        invalid_at=moment_or_none(invalid),
        origin=stored_origin(*origin),
    )


@frozen
class Passage:
    """A chunk with what a reader needs of its memory."""

    key: int
    chunk_id: str
    memory_id: str
    text: str
    first_line: int
    last_line: int
    source: str
    tags: tuple[str, ...]
    created_at: datetime
    thread_id: str | None
    stale: bool
    pinned: bool
    last_seen_at: datetime
    """As its memory has it; a file that was verified has been seen since."""
    code: CodePlace | None = None
    origin: Origin = UNKNOWN
    expires_at: datetime | None = None
    loose: Literal["fact", "segment"] | None = None
    """It is no chunk of a memory: `chunk_id` is the id of a relation or a segment, and `memory_id` is empty."""

    @property
    def kind(self) -> Kind:
        return self.loose or ("code" if self.code is not None else "memory")


@frozen
class Hit:
    """A passage, its score, why it was found, and the words of the query that stand in it.

    Scores compare the hits of one query. `relevance`, from 0 to 1, means the same for every query and workspace.
    """

    passage: Passage
    score: float
    why: str
    words: tuple[str, ...] = ()
    relevance: float = 0.0
    scope: str = ""
    """`personal` for what was found in the personal workspace."""
    expired: bool = False


@frozen
class Page:
    """One page of hits."""

    hits: tuple[Hit, ...]
    total: int
    next_cursor: str | None
    damaged: int = 0
    """How many hits were left out, for they cannot be read."""
    nearest: Hit | None = None
    """Where nothing is relevant: what came closest."""
    note: str = ""
    """What to know where nothing was found."""
