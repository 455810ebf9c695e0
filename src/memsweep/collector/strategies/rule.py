"""The options of a rule, beside the survey."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from memsweep.model.decay import Rates, faded
from memsweep.model.plan import PERMANENT_TYPES, Survey, SurveyedEntity, SurveyedMemory, spoken_of
from memsweep.model.reach import components
from memsweep.model.times import to_micros

if TYPE_CHECKING:
    from memsweep.collector.retraction import Contributed, OriginFilter


class Liveness(NamedTuple):
    """`dead`: nothing holds their component. `protected`: nothing holds it, but
    they are protected, and it with them."""

    dead: set[int]
    protected: set[int]


def protection(row: SurveyedMemory | SurveyedEntity, options: Options) -> str:
    """Why no plan may take it, whatever a rule says; empty where nothing forbids it."""
    if row.pinned:
        return "pinned"
    if isinstance(row, SurveyedEntity) and row.type_key in PERMANENT_TYPES:
        return "permanent type"
    if options.grace_days > 0 and row.created_at > options.micros_ago(options.grace_days):
        return "within the grace period"
    return ""


def keeps_fact(reason: str, *, stated: bool) -> bool:
    """Return whether it stays because a live memory states it: it has not faded. What was replaced goes anyway."""
    return stated and reason == "faded_relation"


def held(survey: Survey, options: Options, without: Collection[int] = (), *, explicit: bool = True) -> set[int]:
    """Entities that a live memory other than those in `without` speaks of, or (`explicit`) that were given explicitly.

    Having been given explicitly holds an entity until it has faded away, or until what spoke of it is gone.
    """
    gone = set(without)
    roots = spoken_of(survey.mentions, survey.stated, gone)
    if explicit:
        lost = _lost_with(survey, gone)
        roots.update(
            row.key
            for row in survey.entities
            if row.explicit
            and row.key not in lost
            and not options.has_faded(row.confidence, row.type_key, row.last_seen)
        )
    return roots


def _lost_with(survey: Survey, gone: Collection[int]) -> set[int]:
    """Entities that these memories mention or state something of, and that no fact of its own keeps."""
    if not gone:
        return set()
    touched = {entity for memory, entity in survey.mentions if memory in gone}
    touched |= {end for memory, *ends in survey.stated if memory in gone for end in ends}
    return touched - {end for ends in survey.edges for end in ends}


def liveness(
    survey: Survey,
    options: Options,
    without: Collection[int] = (),
    *,
    explicit: bool = True,
    links: Collection[tuple[int, int]] | None = None,
) -> Liveness:
    """Return the liveness of entities once these memories are gone, with the relations that only they state.

    Or once no more than these `links` are left.
    """
    gone = set(without)
    nodes = [entity.key for entity in survey.entities]
    standing_for = components(nodes, survey.links(gone) if links is None else links)
    roots = held(survey, options, gone, explicit=explicit)
    alive = {part for node, part in zip(nodes, standing_for, strict=True) if node in roots}
    protected = [
        (entity.key, part)
        for entity, part in zip(survey.entities, standing_for, strict=True)
        if part not in alive and protection(entity, options)
    ]
    alive.update(part for _, part in protected)
    dead = {node for node, part in zip(nodes, standing_for, strict=True) if part not in alive}
    return Liveness(dead, {key for key, _ in protected})


_MICROS_A_DAY = 86_400_000_000


@dataclass(frozen=True, slots=True)
class Fading:
    """When a fact has faded away: how fast it does, below which value, and after how many days unseen at least."""

    rates: Rates = field(default_factory=Rates)
    node_threshold: float = 0.1
    edge_threshold: float = 0.05
    include_orphans: bool = True
    max_age_days: float = 30.0


@dataclass(frozen=True, slots=True)
class Options:
    """`now` is handed in; `ttl_days`: not seen for so long is expired; `grace_days` protects what is younger."""

    now: datetime
    ttl_days: float | None = None
    grace_days: float = 0.0
    fading: Fading = field(default_factory=Fading)
    wanted: OriginFilter | None = None
    """Whose things are taken back, if that was asked for."""
    contributed: Contributed | None = None
    """And what these are."""

    def micros_ago(self, days: float) -> int:
        """A moment as the rows have it; before the year 1, if it must be."""
        return to_micros(self.now) - round(days * _MICROS_A_DAY)

    def days_since(self, micros: int) -> float:
        return max(0.0, (to_micros(self.now) - micros) / _MICROS_A_DAY)

    def fader(self, rate: float) -> Callable[[float, int], float]:
        """Return a fast `faded` of one rate: the present value by the stored one and when it was confirmed."""
        now = to_micros(self.now)

        def left(base: float, last_seen: int) -> float:
            return base * rate ** ((now - last_seen) / _MICROS_A_DAY) if last_seen < now else base

        return left

    def has_faded(self, confidence: float, type_key: str, last_seen: int) -> bool:
        """Return whether an entity counts less now than the threshold."""
        left = faded(confidence, self.fading.rates.of_key(type_key), self.days_since(last_seen))
        return left < self.fading.node_threshold
