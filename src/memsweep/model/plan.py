"""Plans, receipts and what they are made from. A plan is a value: exact, dated, hashed, used once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import chain
from operator import itemgetter
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from memsweep.model.audit import AuditEvent
from memsweep.model.decay import Rates
from memsweep.model.graph_rows import Strength
from memsweep.model.ids import ItemKind
from memsweep.model.merging import joined
from memsweep.model.times import CLOCK_TOLERANCE, iso

Kind = ItemKind

IN_TRASH = "in_trash"
"""The reason of items that are in the trash, and would come back as they should no longer be."""
CHANGES = frozenset({"falls_back", "holds_again", "stays_without", "earlier_text", "current_again", IN_TRASH})
"""Reasons of items that stay, as something else than they are."""
RETRACTED = CHANGES | {"brought"}
"""Reasons of facts that go, or change, with who said them."""

GONE_SINCE = "gone since the plan was made"
CHANGED_SINCE = "changed since the plan was made"
"""Why an item of a plan is skipped."""

# Facts of these types are never collected by themselves.
PERMANENT_TYPES = frozenset({"rule"})


# What evidence names these ways is a memory: by its key inside, by its id for people.
NAMING_MEMORIES = ("kept", "superseded_by")

_NOTHING: Mapping[str, Any] = MappingProxyType({})


class SurveyedMemory(NamedTuple):
    """A memory as strategies see it. Times are microseconds since 1970."""

    key: int
    version: int
    is_code: bool
    stale: bool
    pinned: bool
    created_at: int
    last_seen_at: int | None
    expires_at: int | None
    content_hash: bytes


class SurveyedEntity(NamedTuple):
    key: int
    version: int
    type_key: str
    pinned: bool
    explicit: bool
    """Whether it was given by itself, not only found in a text."""
    created_at: int
    confidence: float
    last_seen: int


class SurveyedRelation(NamedTuple):
    key: int
    version: int
    subject: int
    object: int
    weight: float | None
    last_seen: int
    invalid_at: int | None
    stated: bool
    """Whether a live memory says it."""


@dataclass(frozen=True, slots=True)
class Survey:
    """The live rows that the strategies asked for; what nobody asked for is empty."""

    memories: Sequence[SurveyedMemory] = ()
    chunk_counts: Mapping[int, int] = field(default_factory=dict)
    lone_chunks: Sequence[tuple[int, int]] = ()
    """Chunks and the memory they name, where that memory is not live."""
    entities: Sequence[SurveyedEntity] = ()
    """All of them; to a rule that needs no more, those of components that no live memory speaks of."""
    edges: Sequence[tuple[int, int]] = ()
    """The ends of relations that stand by themselves: of all, or of as many as connect the same entities."""
    stated: Sequence[tuple[int, int, int]] = ()
    """Relations that stand as long as a memory states them: that memory, and the ends; once for each such memory."""
    mentions: Sequence[tuple[int, int]] = ()
    """Which memory speaks of which entity."""
    relations: Sequence[SurveyedRelation] = ()
    texts: Mapping[int, str] = field(default_factory=dict)
    supersessions: Sequence[tuple[int, int, int]] = ()
    """A memory, the one that has superseded it, and since when."""
    missing_files: frozenset[int] = frozenset()

    def links(self, without: Collection[int] = ()) -> Iterator[tuple[int, int]]:
        """The ends of every relation that stands once these memories are gone."""
        stated = ((subject, target) for memory, subject, target in self.stated if memory not in without)
        return chain(self.edges, stated)


def spoken_of(
    mentions: Sequence[tuple[int, int]], stated: Sequence[tuple[int, int, int]], without: Collection[int] = ()
) -> set[int]:
    """Entities that a live memory, other than these, mentions or states something of."""
    if without:
        mentions = [each for each in mentions if each[0] not in without]
        stated = [each for each in stated if each[0] not in without]
    return {*map(itemgetter(1), mentions), *map(itemgetter(1), stated), *map(itemgetter(2), stated)}


class Found(NamedTuple):
    """One thing that a strategy calls garbage, and why."""

    kind: Kind
    key: int
    reason: str
    evidence: Mapping[str, Any] = _NOTHING


class PlanItem(NamedTuple):
    """Found, with the version it had then."""

    kind: Kind
    key: int
    version: int
    reason: str
    evidence: Mapping[str, Any] = _NOTHING


class Protected(NamedTuple):
    kind: Kind
    key: int
    reason: str


@dataclass(frozen=True, slots=True)
class Totals:
    memories: int = 0
    chunks: int = 0
    entities: int = 0
    relations: int = 0
    segments: int = 0

    def plus(self, other: Totals) -> Totals:
        return Totals(*(getattr(self, name) + getattr(other, name) for name in self.__slots__))


def counts_of(totals: Totals, *, segments: bool = False) -> dict[str, int]:
    """As they are stored and audited; segments where there are some, or where they are asked for."""
    names = ("memories", "chunks", "entities", "relations", *(("segments",) if segments or totals.segments else ()))
    return {name: getattr(totals, name) for name in names}


@dataclass(frozen=True, slots=True)
class PlanDraft:
    """A planner's decision, before it is saved."""

    items: tuple[PlanItem, ...]
    protected: tuple[Protected, ...]
    warnings: tuple[str, ...]
    share: float
    workspace_memories: int
    narrowed_from: str = ""
    """The plan that this is a part of."""
    excluded: tuple[tuple[Kind, int], ...] = ()
    """What was in that plan and stays, whatever else goes."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A saved plan; of one that was not made just now, items are read page by page."""

    id: str
    strategy: str
    created_at: datetime
    expires_at: datetime
    digest: str
    totals: Totals
    item_count: int
    protected: tuple[Mapping[str, Any], ...]
    warnings: tuple[str, ...]
    share: float
    workspace_memories: int
    narrowed_from: str = ""
    """The plan that this is a part of; the two are used once together."""
    receipt_id: str | None = None
    """Of its use."""
    items: tuple[PlanItem, ...] = field(default=(), repr=False, compare=False)
    """Where the plan was just made: by keys that are the engine's own."""


@dataclass(frozen=True, slots=True)
class TextComparison:
    """A memory and the one that is kept in its place: how both begin, and where they differ."""

    text: str
    kept_text: str
    differs: tuple[tuple[str, str], ...]
    """Each place as this memory and as the kept one has it; none where only the form differs."""


@dataclass(frozen=True, slots=True)
class PlanView:
    """One item as it is shown, with what its row says now."""

    kind: Kind
    id: str
    reason: str
    evidence: Mapping[str, Any]
    name: str | None = None
    entity_type: str | None = None
    file_path: str | None = None
    relative_path: str | None = None
    created_at: datetime | None = None
    chunk_count: int = 0
    text_length: int = 0
    relation: str | None = None
    ends: tuple[str, str] | None = None
    """Of a relation: the ids of the entities it is between."""
    beside: TextComparison | None = None
    """Of a near duplicate."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """The real result of an apply; undo takes its id."""

    id: str
    plan_id: str | None
    strategy: str
    totals: Totals
    skipped: tuple[tuple[str, str], ...]
    created_at: datetime
    changed: Totals = Totals()
    """What stays without what was taken back."""


@dataclass(frozen=True, slots=True)
class Deleted(Receipt):
    """One memory that was deleted, and what it mentioned or stated: names and ids."""

    gone: tuple[tuple[str, str], ...] = ()
    """What nothing else states."""
    kept: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    """Where something of it may still be."""


@dataclass(frozen=True, slots=True)
class Undone:
    totals: Totals
    conflicts: tuple[tuple[str, str], ...]
    summaries: tuple[str, ...] = ()
    """Summaries of what came back, which were moved to the trash for it."""
    receipt_id: str | None = None
    """Of the summaries, and of what memories were that were changed back."""
    changed_back: int = 0
    """Memories that are what they were before a change."""
    description: str = ""
    """Of the workspace, if it came back."""
    given_back: Totals = Totals()
    """What is again with what was taken back from it."""


def evidence_text(evidence: Mapping[str, Any]) -> str:
    """As JSON, in an order of its own; many items of a plan say the same."""
    if len(evidence) == 1:
        ((name, value),) = evidence.items()
        if isinstance(value, int | float | str):
            return _as_json(name, type(value).__name__, value)
    return json.dumps(dict(evidence), ensure_ascii=False, separators=(",", ":"), sort_keys=True)


@lru_cache(maxsize=10_000)
def _as_json(name: str, kind: str, value: float | str) -> str:
    """`kind` tells 1 from 1.0, which are equal."""
    return json.dumps({name: value}, ensure_ascii=False, separators=(",", ":"))


def why_unusable(plan: Plan, receipt_id: str | None, now: datetime) -> str:
    """Why a plan cannot be applied; empty if it can: it is used once, and while it is fresh.

    A plan from the future was made by a clock that was ahead. What that found too old may be young.
    """
    if receipt_id is not None:
        return f"was applied already (receipt {receipt_id})."
    if plan.expires_at < now:
        return f"expired at {iso(plan.expires_at)}; nothing was removed."
    if plan.created_at > now + CLOCK_TOLERANCE:
        return (
            f"was made at {iso(plan.created_at)}, when the clock was ahead: now it is {iso(now)}. Nothing was removed."
        )
    return ""


def digest_of(items: Sequence[PlanItem]) -> str:
    """Equal for equal items in equal order."""
    hasher = hashlib.blake2b(digest_size=16)
    for item in items:
        evidence = evidence_text(item.evidence) if item.evidence else ""
        hasher.update(f"{item.kind}\0{item.key}\0{item.version}\0{item.reason}\0{evidence}\n".encode())
    return hasher.hexdigest()


@dataclass(frozen=True, slots=True)
class Verdict:
    """Why something is alive, or why it is garbage, or where it went."""

    id: str
    kind: Kind
    alive: bool
    because: tuple[str, ...]
    garbage_for: tuple[tuple[str, str], ...] = ()
    """Strategy and reason."""
    path: tuple[int, ...] = ()
    """From the thing to what keeps it: entities by key."""


_NONE: Set[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Selection:
    """The items that go to the trash, come back, or are freed."""

    memories: Set[int] = _NONE
    chunks: Set[int] = _NONE
    entities: Set[int] = _NONE
    relations: Set[int] = _NONE

    @property
    def totals(self) -> Totals:
        return Totals(len(self.memories), len(self.chunks), len(self.entities), len(self.relations))

    def has(self, item: PlanItem) -> bool:
        """Return whether an item of a plan is among them."""
        sets = {"memory": self.memories, "chunk": self.chunks, "entity": self.entities, "relation": self.relations}
        return item.key in sets.get(item.kind, ())


# A plan as people look at it: what goes together is one group, and code is sorted by its folders.


@dataclass(frozen=True, slots=True)
class PlanGroup:
    """An item that a rule named, and what goes only because it does."""

    root: PlanView
    followers: int = 0
    first: tuple[PlanView, ...] = ()
    """Some of these followers."""
    folder: str | None = None
    """Of an indexed file, below its root folder; empty for that folder itself."""


@dataclass(frozen=True, slots=True)
class Folder:
    """The groups of one folder, on all pages."""

    root: str
    path: str
    files: int
    chunks: int
    followers: int


@dataclass(frozen=True, slots=True)
class PlanGroups:
    """A page of groups: first the files by folder and name, then all else in the order of the plan."""

    groups: tuple[PlanGroup, ...]
    total: int
    folders: tuple[Folder, ...] = ()
    """All folders of the plan, in the order of the groups."""


@dataclass(frozen=True, slots=True)
class Preview:
    """The result that a collection by one strategy would have now; nothing is saved."""

    strategy: str
    totals: Totals
    """Of what a plan would name; chunks and facts that go along are not counted."""
    item_count: int = 0
    protected: int = 0
    groups: tuple[PlanGroup, ...] = ()
    """The first ones, in the order of a plan."""
    warnings: tuple[str, ...] = ()
    share: float = 0.0
    workspace_memories: int = 0
    problem: str = ""
    """Why nothing can be planned."""


@dataclass(frozen=True, slots=True)
class PlanDifference:
    """The items of a later plan that an earlier one did not name, and the other way round."""

    added: tuple[PlanView, ...]
    gone: tuple[PlanView, ...]
    added_count: int
    gone_count: int
    same_count: int


# Receipts as a history: what each did, how much of it is still in the trash, and what has become of it. Pure.


State = Literal["applied", "partly undone", "undone", "purged"]
_COUNTED = Totals.__slots__
_HOLD_NOTHING = ("unmerge",)


class Held(NamedTuple):
    """The contents of a receipt now."""

    memories: int = 0
    chunks: int = 0
    entities: int = 0
    relations: int = 0
    segments: int = 0
    revisions: int = 0
    stashed: int = 0
    """Segments in the stash of a context window, which is no trash."""
    letters: int = 0
    """Of all texts."""

    @property
    def items(self) -> int:
        """The chunks of a memory are no items of their own, but what is alone is."""
        things = self.memories + self.entities + self.relations + self.segments + self.revisions + self.stashed
        return things or self.chunks


@dataclass(frozen=True, slots=True)
class StoredReceipt:
    """A receipt as an engine keeps it."""

    key: int
    id: str
    plan_id: str | None
    action: str
    strategy: str
    actor: str
    created_at: datetime
    counts: Mapping[str, Any]
    skipped: int
    undone_at: datetime | None
    purged_at: datetime | None


@dataclass(frozen=True, slots=True)
class ReceiptDetails:
    """An operation that was done, and its state now."""

    id: str
    plan_id: str | None
    action: str
    strategy: str
    actor: str
    door: str
    client: str
    created_at: datetime
    state: State
    totals: Totals
    skipped: int
    undone_at: datetime | None = None
    purged_at: datetime | None = None
    held: Held = field(default_factory=Held)
    bytes: int = 0
    """About what is in the trash: texts, a letter as one byte, and vectors."""
    days_left: float | None = None
    """Until a schedule purges it; None where none does, or nothing is left to purge."""

    @property
    def can_be_undone(self) -> bool:
        """Return whether something can be brought back; a split holds nothing, and still can be taken back."""
        return self.state in ("applied", "partly undone") and bool(self.held.items or self.action in _HOLD_NOTHING)


@dataclass(frozen=True, slots=True)
class ReceiptPage:
    receipts: Sequence[ReceiptDetails]
    next_cursor: str | None = None


def details_of(
    row: StoredReceipt, held: Held, now: datetime, vector_bytes: int, purge_days: float | None
) -> ReceiptDetails:
    door, _, client = row.actor.partition(":")
    left = None
    if purge_days is not None and held.items and row.purged_at is None:
        left = max(0.0, (row.created_at + timedelta(days=purge_days) - now) / timedelta(days=1))
    totals = totals_of(row)
    return ReceiptDetails(
        id=row.id,
        plan_id=row.plan_id,
        action=row.action,
        strategy=row.strategy,
        actor=row.actor,
        door=door,
        client=client,
        created_at=row.created_at,
        state=receipt_state(row, totals, held),
        totals=totals,
        skipped=row.skipped,
        undone_at=row.undone_at,
        purged_at=row.purged_at,
        held=held,
        bytes=held.letters + held.chunks * vector_bytes,
        days_left=left,
    )


def receipt_state(row: StoredReceipt, moved: Totals, held: Held) -> State:
    """Items can come back one by one, without the receipt being undone; and an undo may leave some behind."""
    if row.purged_at is not None:
        return "purged"
    if row.undone_at is not None:
        return "partly undone" if held.items else "undone"
    if (moved.memories > held.memories or moved.entities > held.entities) and not held.revisions:
        return "partly undone" if held.items else "undone"
    return "applied"


def still_gone(receipts: Iterable[StoredReceipt], held: Mapping[int, Held]) -> Totals:
    """Return what prunes and deletions took that is in the trash or purged; a merge or an edit takes nothing away."""
    gone = Totals()
    for each in receipts:
        if each.action not in ("prune", "delete"):
            continue
        if each.purged_at is None:
            kept = held.get(each.key, Held())
            gone = gone.plus(Totals(memories=kept.memories, entities=kept.entities, relations=kept.relations))
        elif each.undone_at is None:
            gone = gone.plus(totals_of(each))
    return gone


def totals_of(row: StoredReceipt) -> Totals:
    return Totals(*(_count_of(row.counts.get(name)) for name in _COUNTED))


def _count_of(value: object) -> int:
    return value if isinstance(value, int) else 0


# The context of every change of a workspace: who makes it, and when.


@dataclass(frozen=True, slots=True)
class Operation:
    actor: str
    now: datetime
    rates: Rates = field(default_factory=Rates)

    def join(self, kept: Strength, other: Strength) -> Strength:
        """Of two facts that are one now, the stronger counts as of this moment."""
        return joined(kept, other, self.rates.edge, self.now)

    def event(
        self,
        action: str,
        subject: str,
        counts: Mapping[str, Any] | None = None,
        reason: str = "",
        ids: Iterable[str] = (),
    ) -> AuditEvent:
        return AuditEvent(self.now, self.actor, action, subject, counts or {}, reason, tuple(ids))

    def counted(
        self, action: str, subject: str, totals: Totals, reason: str = "", ids: Iterable[str] = ()
    ) -> AuditEvent:
        return self.event(action, subject, counts_of(totals, segments=True), reason, ids)
