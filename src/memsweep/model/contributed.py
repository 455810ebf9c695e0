"""The contributions of an origin: whom a retraction is about, and what is left without them. Pure values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import NamedTuple

from memsweep.errors import BadInput
from memsweep.model.checks import only, plain_text
from memsweep.model.contribution import FactState
from memsweep.model.origin import TIERS, Origin
from memsweep.model.superseding import Bases
from memsweep.model.times import parse_time, to_micros


@dataclass(frozen=True, slots=True)
class OriginFilter:
    """A filter for contributions: all that is given must apply."""

    session: str | None = None
    client: str | None = None
    tier: str | None = None
    source: str | None = None
    """The `source` of memories."""
    since: datetime | None = None
    until: datetime | None = None

    def among(self, known: Mapping[int, Origin]) -> list[int] | None:
        """The origins that are meant; nothing where any is, also one that nobody knows."""
        if self.session is None and self.client is None and self.tier is None:
            return None
        return [key for key, origin in known.items() if self._is(origin)]

    def _is(self, origin: Origin) -> bool:
        asked = ((self.session, origin.session), (self.client, origin.client), (self.tier, origin.tier))
        return all(wanted is None or wanted == there for wanted, there in asked)

    def has_time(self, at: int) -> bool:
        return (self.since is None or at >= to_micros(self.since)) and (
            self.until is None or at <= to_micros(self.until)
        )

    @property
    def is_of_any_time(self) -> bool:
        return self.since is None and self.until is None

    def has_memory(self, source: str, created_at: int) -> bool:
        return (self.source is None or source == self.source) and self.has_time(created_at)


def make_wanted(value: object) -> OriginFilter:
    """From an object such as `{"session": "ses_…"}`; at least one field decides whose things go."""
    known = [field.name for field in fields(OriginFilter)]
    if not isinstance(value, Mapping):
        raise BadInput(f"origin must be an object with {', '.join(known)}, not {value!r:.60}.")
    only(value, known, "origin")
    given = {name: item for name, item in value.items() if item not in (None, "")}
    if not given:
        raise BadInput(
            f"strategy 'origin' needs to know whose things to take back: one of {', '.join(known)}.",
            hint="get_memory shows the origin of a memory.",
        )
    texts = {
        name: plain_text(given[name], f"origin.{name}")
        for name in ("session", "client", "tier", "source")
        if name in given
    }
    if texts.get("tier", TIERS[0]) not in TIERS:
        raise BadInput(f"origin.tier must be one of {', '.join(TIERS)}, not {texts['tier']!r:.40}.")
    times = {
        name: parse_time(given[name], name, end_of_day=name == "until") for name in ("since", "until") if name in given
    }
    wanted = OriginFilter(**texts, **times)  # type: ignore[arg-type]  # texts and times
    if wanted.since and wanted.until and wanted.since > wanted.until:
        raise BadInput(f"since {given['since']} is after until {given['until']}.")
    return wanted


class FactWithout(NamedTuple):
    """A relation, and what it would be without some contributions; nothing if it would not be."""

    key: int
    version: int
    before: FactState
    after: FactState | None
    acts: frozenset[int]
    is_trashed: bool = False


@dataclass(frozen=True, slots=True)
class MemoryWithout:
    """A memory that stays without some acts."""

    key: int
    acts: frozenset[int]
    text_changes: bool
    """It gets back a text that it had."""
    mentions: tuple[tuple[int, int], ...] = ()
    """The chunk and the entity of mentions that go."""
    unmentioned: frozenset[int] = frozenset()
    """Entities that it mentions nowhere then."""
    links: Mapping[int, Bases] = field(default_factory=dict)
    """What supersedes it, and which of those who say so are taken back."""
    trash: int | None = None
    """The receipt that holds it: it is in the trash, and would come back with what those did to it."""
    version: int = 0


class MemoryGone(NamedTuple):
    """A memory of which nothing is left: the acts that said it, and who of those said what supersedes what.

    Another retraction that is undone may say it again, and these must not come back with it.
    """

    acts: frozenset[int]
    links: dict[int, Bases]
    """What supersedes it."""
    superseded: dict[int, Bases]
    """What it supersedes."""


@dataclass(frozen=True, slots=True)
class Contributed:
    """The contributions that go with an origin, by key."""

    memories: Mapping[int, MemoryGone] = field(default_factory=dict)
    staying: tuple[MemoryWithout, ...] = ()
    entities: frozenset[int] = frozenset()
    """Those that nobody else has handed in: they go if nothing else holds them."""
    facts: tuple[FactWithout, ...] = ()
    segments: tuple[tuple[int, int], ...] = ()
    """Each with its window."""
