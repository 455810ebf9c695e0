"""The values of a search: filters, hits, pages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, NamedTuple

from memsweep.errors import BadInput
from memsweep.model.checks import (
    FLAG,
    TEXT,
    TIME,
    DoorArgument,
    Schema,
    fitting,
    flag,
    items_of,
    one_of,
    only,
    plain_text,
)
from memsweep.model.conditions import Condition, make_conditions
from memsweep.model.frozen import field, frozen, replace
from memsweep.model.memory import ShownMemory
from memsweep.model.origin import TIERS, UNKNOWN, Origin, stored_origin
from memsweep.model.roles import ROLES, Role
from memsweep.model.times import from_micros, moment_or_none, parse_time, to_micros

MAX_LIMIT = 50  # hits on a page
SearchMode = Literal["precise", "deep"]
"""What answers a query and nothing else; or everything with a trace of evidence, best first, to page through."""
MODES: tuple[SearchMode, ...] = ("precise", "deep")
Kind = Literal["memory", "code", "fact", "segment"]
"""What a hit is: a memory, a piece of an indexed file, a relation of the graph, a segment of a context window."""
KINDS: tuple[Kind, ...] = ("memory", "code", "fact", "segment")


class HeldBack(NamedTuple):
    """The memories that nobody recalls: expired ones, and those of `tiers` made since a moment.

    With indexed `files` among them or not. Moments are microseconds.
    """

    tiers: tuple[str, ...] = ()
    since: int | None = None
    expired_by: int | None = None
    files: bool = True


class Comparison(NamedTuple):
    """A column of a memory, or of what it has, that a filter compares with a value."""

    name: str
    table: str
    column: str
    op: str
    value: Any


@frozen
class Filters:
    """The conditions of a hit. Tags: all of them. Path: a file, a folder, or a pattern with `*` and `?`.

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
    def comparisons(self) -> list[Comparison]:
        """Return what columns are compared with; moments as they are stored."""
        asked = [(name, each, getattr(self, name)) for name, each in FILTERS.items() if each.column]
        return [
            Comparison(name, *each.place, each.op, to_micros(value) if isinstance(value, datetime) else value)
            for name, each, value in asked
            if value is not None
        ]

    @property
    def any_role(self) -> bool:
        """Return whether files of every role may pass, and what is no file."""
        return self.role is None and self.include_tests

    @property
    def may_be_loose(self) -> bool:
        """Return whether something without tags, source or path may pass."""
        nothing_else = Filters(kind=self.kind, date_from=self.date_from, date_to=self.date_to, as_of=self.as_of)
        of_memories = {"include_stale": False, "include_expired": False, "include_tests": True}
        asked = replace(self.asked, **of_memories, tier=None, client=None, session=None)
        return asked == nothing_else

    def accept(self, origin: Origin) -> bool:
        """Return whether something from there may be a hit."""
        asked = ((self.tier, origin.tier), (self.client, origin.client), (self.session, origin.session))
        return all(wanted is None or wanted == there for wanted, there in asked)


# Where a chunk stands in an order: the turns of a thread, or the pieces of a long memory. One number, for a search
# handles hundreds of them; those next to it in its stream are the places next to it.
Place = int
_POSITION_BITS = 32


def place_at(stream: int, position: int) -> Place:
    return stream << _POSITION_BITS | position


def place_or_none(stream: int | None, position: int) -> Place | None:
    return None if stream is None else place_at(stream, position)


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


class Candidates(list[Candidate]):
    """Candidates by key, of one moment."""

    files = 0
    """How many files of code there are."""
    revision = ""
    """The revision of the workspace that they were found at."""


class FileWords(NamedTuple):
    """The number of files of code, and for each of some words the number of pieces by file that have it."""

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


_LONGEST = 4096  # of a path


def make_filters(value: object = None) -> Filters:
    """Check an object such as `{"tags": ["api"], "date_from": "2026-01-01"}`."""
    if value is None:
        return Filters()
    if isinstance(value, Filters):
        value = {name: getattr(value, name) for name in FILTERS}
    if not isinstance(value, Mapping):
        raise BadInput(f"filters must be an object, not {type(value).__name__}.")
    only(value, tuple(FILTERS), "filters")
    given = {name: item for name, item in value.items() if item is not None}
    filters = Filters(
        **{name: each.check(given[name], name) for name, each in FILTERS.items() if each.check and name in given}
    )
    if filters.date_from and filters.date_to and filters.date_from > filters.date_to:
        raise BadInput(f"date_from {given['date_from']} is after date_to {given['date_to']}.")
    return filters


def _tags(value: object, what: str) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, list | tuple):
        raise BadInput(f"filters.{what} must be a list of tags, not {value!r:.80}.")
    return tuple(dict.fromkeys(_text(tag, what) for tag in value))


def _text(value: object, what: str) -> str:
    return fitting(plain_text(value, f"filters.{what}"), f"filters.{what}", _LONGEST).strip()


def _word(value: object, what: str) -> str:
    return _text(value, what).lower()


def _flag(value: object, what: str) -> bool:
    return flag(value, f"filters.{what}")


def _until(value: object, what: str) -> datetime:
    return parse_time(value, what, end_of_day=True)


def _tier(value: object, what: str) -> str:
    if value not in _TIERS:
        raise BadInput(f"filters.{what} must be one of {', '.join(_TIERS)}, not {value!r:.80}.")
    return str(value)


def _choice(known: Sequence[str]) -> Callable[[object, str], str]:
    def check(value: object, what: str) -> str:
        if value not in known:
            raise BadInput(f"filters.{what} must be {', '.join(known[:-1])} or {known[-1]}, not {value!r:.80}.")
        return str(value)

    return check


def _filter(
    check: Callable[[Any, str], Any], schema: Schema, option: tuple[str, ...] = (), help: str = "", **more: Any
) -> DoorArgument:
    kind: Any = list[str] | None if schema.get("type") == "array" else str | None
    if schema.get("type") == "boolean":
        kind, more["default"] = bool, more.get("default", False)
    return DoorArgument(**{"kind": kind, **more}, schema=schema, option=option, help=help, check=check)


_TIERS = (*TIERS, UNKNOWN.tier)
_MADE = {"column": "created_at"}
_AS_OF = "What was there then and had not been superseded yet."
_TIER_SAID = "Only what came from a person, agent, tool, import or unknown."
_WHERE = "Only with metadata such as ticket.id=42, state=open|new, score>3; can be repeated."
FILTERS: Mapping[str, DoorArgument] = {
    "tags": _filter(_tags, items_of(TEXT), ("--tag", "-t"), "Only with this tag; repeat it to require several."),
    "source": _filter(_text, TEXT, ("--source",), "Only from this source.", column="source"),
    "date_from": _filter(
        parse_time, TIME, ("--since",), "Only since this date.", metavar="DATE", column="created_at", op=">="
    ),
    "date_to": _filter(
        _until, TIME, ("--until",), "Only up to this date.", metavar="DATE", column="created_at", op="<="
    ),
    "include_stale": _filter(_flag, FLAG, ("--include-stale",), "Include stale memories.", of_lists=False),
    "include_expired": _filter(_flag, FLAG, ("--include-expired",), "Include what has expired."),
    "path": _filter(
        _text,
        {**TEXT, "description": "file, folder or pattern"},
        ("--path",),
        "Only code in this file or folder, or that a pattern matches.",
    ),
    "language": _filter(_word, TEXT, column="code_file.language"),
    "symbol_kind": _filter(_word, TEXT, of_lists=False, column="chunk.symbol_kind"),
    "as_of": _filter(
        _until,
        TIME,
        ("--as-of",),
        _AS_OF,
        metavar="DATE",
        of_lists=False,
        **_MADE,
        op="<=",
    ),
    "tier": _filter(_tier, one_of(_TIERS), ("--tier",), _TIER_SAID),
    "client": _filter(_text, TEXT, ("--client",), "Only what came from this client.", column="origin.client"),
    "session": _filter(_text, TEXT, ("--session",), "Only what came from this session.", column="origin.session"),
    "kind": _filter(
        _choice(KINDS),
        one_of(KINDS),
        ("--kind",),
        "Only memory, code, fact or segment; lists: memory or code.",
        metavar="KIND",
    ),
    "role": _filter(_choice(ROLES), one_of(ROLES), of_lists=False),
    "include_tests": _filter(
        _flag, FLAG, ("--tests/--no-tests",), "With or without tests.", default=True, of_lists=False
    ),
    "metadata": _filter(
        lambda value, _: make_conditions(value),
        {"type": "object", "additionalProperties": {}, "description": '{"ticket.id": 42, "score": {">=": 3}}'},
        ("--where",),
        _WHERE,
        metavar="CONDITION",
        kind=list[str] | None,
    ),
}
