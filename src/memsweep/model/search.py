"""What is asked of the memory and what it answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, NamedTuple, TypeVar

from memsweep.errors import BadInput
from memsweep.model.checks import fitting, flag, only, plain_text
from memsweep.model.conditions import Condition, make_conditions
from memsweep.model.frozen import field, fields_of, frozen, replace
from memsweep.model.origin import TIERS, UNKNOWN, Origin, stored_origin
from memsweep.model.roles import ROLES, Role
from memsweep.model.shown import ShownMemory
from memsweep.model.times import from_micros, moment_or_none, parse_time

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
class Passage(ShownMemory):
    """A chunk with what a reader needs of its memory."""

    key: int
    chunk_id: str
    memory_id: str
    text: str
    first_line: int
    last_line: int
    loose: Literal["fact", "segment"] | None = None
    """It is no chunk of a memory: `chunk_id` is the id of a relation or a segment, and `memory_id` is empty."""

    @property
    def kind(self) -> Kind:
        return self.loose or ("code" if self.code is not None else "memory")


class Passages(dict[int, Passage]):
    """Live ones that can be read, by key."""

    damaged = 0
    """How many more there are."""


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


Choice = TypeVar("Choice", bound=str)
_LONGEST = 4096  # of a path
_KNOWN = tuple(name for name in fields_of(Filters) if name != "held_back")


def make_filters(value: object = None) -> Filters:
    """Filters from an object such as `{"tags": ["api"], "date_from": "2026-01-01"}`."""
    if value is None:
        return Filters()
    if isinstance(value, Filters):
        value = {name: getattr(value, name) for name in _KNOWN}
    if not isinstance(value, Mapping):
        raise BadInput(f"filters must be an object, not {type(value).__name__}.")
    only(value, _KNOWN, "filters")
    given = {key: item for key, item in value.items() if item is not None}
    filters = Filters(
        tags=_tags(given.get("tags", ())),
        source=_text(given["source"], "source") if "source" in given else None,
        date_from=parse_time(given["date_from"], "date_from") if "date_from" in given else None,
        date_to=parse_time(given["date_to"], "date_to", end_of_day=True) if "date_to" in given else None,
        include_stale=flag(given.get("include_stale", False), "filters.include_stale"),
        path=_text(given["path"], "path") if "path" in given else None,
        language=_text(given["language"], "language").lower() if "language" in given else None,
        symbol_kind=_text(given["symbol_kind"], "symbol_kind").lower() if "symbol_kind" in given else None,
        as_of=parse_time(given["as_of"], "as_of", end_of_day=True) if "as_of" in given else None,
        tier=_tier(given["tier"]) if "tier" in given else None,
        client=_text(given["client"], "client") if "client" in given else None,
        session=_text(given["session"], "session") if "session" in given else None,
        kind=_one_of(given["kind"], "kind", KINDS) if "kind" in given else None,
        role=_one_of(given["role"], "role", ROLES) if "role" in given else None,
        include_tests=flag(given.get("include_tests", True), "filters.include_tests"),
        include_expired=flag(given.get("include_expired", False), "filters.include_expired"),
        metadata=make_conditions(given.get("metadata", {})),
    )
    if filters.date_from and filters.date_to and filters.date_from > filters.date_to:
        raise BadInput(f"date_from {given['date_from']} is after date_to {given['date_to']}.")
    return filters


def _tags(value: object) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, list | tuple):
        raise BadInput(f"filters.tags must be a list of tags, not {value!r:.80}.")
    return tuple(dict.fromkeys(_text(tag, "tags") for tag in value))


def _text(value: object, what: str) -> str:
    return fitting(plain_text(value, f"filters.{what}"), f"filters.{what}", _LONGEST).strip()


def _tier(value: object) -> str:
    if value not in (*TIERS, UNKNOWN.tier):
        raise BadInput(f"filters.tier must be one of {', '.join((*TIERS, UNKNOWN.tier))}, not {value!r:.80}.")
    return str(value)


def _one_of(value: object, what: str, known: Sequence[Choice]) -> Choice:
    found = [each for each in known if each == value]
    if not found:
        raise BadInput(f"filters.{what} must be {', '.join(known[:-1])} or {known[-1]}, not {value!r:.80}.")
    return found[0]
