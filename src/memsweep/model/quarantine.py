"""Decide what stays out of search: quarantined until released or its time is over, or expired. Pure.

A memory is held back by the tier of its origin. A fact is, while everybody who states or confirms it is of such a tier;
an entity, while all that speaks of it is held back.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from memsweep.model.frozen import frozen, replace
from memsweep.model.search import Filters, HeldBack
from memsweep.model.times import days_ago, to_micros

if TYPE_CHECKING:
    from memsweep.model.listing import ListedMemory
    from memsweep.model.memory import Memory


@frozen
class Quarantine:
    """Tiers whose memories are held back, for how many days (0: until they are released), and if files are, too."""

    tiers: tuple[str, ...] = ()
    days: float = 30.0
    files: bool = True

    def held_back(self, now: datetime) -> HeldBack:
        """Return what is left out at a moment."""
        since = to_micros(days_ago(now, self.days)) if self.tiers and self.days else None
        return HeldBack(tuple(self.tiers), since, to_micros(now), self.files)

    def until(self, memory: Memory | ListedMemory, now: datetime) -> str:
        """Return how long a memory stays in quarantine, in words; empty if it is in none."""
        if memory.origin.tier not in self.tiers or memory.released_at is not None:
            return ""
        if not self.days:
            return "until it is released"
        end = memory.created_at + timedelta(days=self.days)
        return f"until {end:%Y-%m-%d %H:%M} UTC, or until it is released" if end > now else ""


def leaving_out(filters: Filters, back: HeldBack) -> Filters:
    """The filters with what is left out beside what they ask for; as of a date, what had expired by then."""
    if filters.include_expired:
        back = back._replace(expired_by=None)
    elif filters.as_of is not None:
        back = back._replace(expired_by=to_micros(filters.as_of))
    return replace(filters, held_back=back)


class Provenance(NamedTuple):
    """The origin of something, when it was made, and when it was released; times are microseconds."""

    origin: int | None
    created_at: int
    released_at: int | None = None


class FactProvenance(NamedTuple):
    """A live relation: who made it, and the origins of all who have stated or confirmed it since that is kept."""

    id: str
    made: Provenance
    stated_by: Collection[int | None] = ()


class EntityProvenance(NamedTuple):
    """A live entity: who made it, the facts at it, the memories that mention it, each with who mentions it there."""

    key: int
    made: Provenance
    facts: Sequence[str] = ()
    mentions: Sequence[tuple[Provenance, int | None]] = ()


def with_mentions(
    entities: Iterable[tuple[int, Provenance, Sequence[str]]], mentions: Iterable[Sequence[Any]]
) -> list[EntityProvenance]:
    """Entities with the facts at them, and who mentions them.

    A row of `mentions` is an entity, the provenance of the memory, and by whom it is mentioned there.
    """
    found: dict[int, list[tuple[Provenance, int | None]]] = defaultdict(list)
    for entity, *memory, by in mentions:
        found[entity].append((Provenance(*memory), by))
    return [EntityProvenance(key, made, facts, found[key]) for key, made, facts in entities]


class HeldTiers:
    """The items that are held back at a moment, by the origins of the tiers in quarantine."""

    def __init__(self, origins: Collection[int], since: int | None) -> None:
        self._origins, self._since = frozenset(origins), since

    def facts(self, found: Iterable[FactProvenance]) -> set[str]:
        return {fact.id for fact in found if self._is_held(fact.made) and self._origins.issuperset(fact.stated_by)}

    def entities(self, found: Iterable[EntityProvenance], facts: Collection[str]) -> set[int]:
        """`facts` are those that are held back."""
        return {
            entity.key
            for entity in found
            if self._is_held(entity.made)
            and all(fact in facts for fact in entity.facts)
            and all(self._is_held(memory) or by in self._origins for memory, by in entity.mentions)
        }

    def _is_held(self, made: Provenance) -> bool:
        is_recent = self._since is None or made.created_at > self._since
        return made.released_at is None and is_recent and made.origin in self._origins
