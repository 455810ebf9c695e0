"""The reasons that keep an entity alive, and that protect from plans. Each predicate exists once. Pure."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, NamedTuple

from memsweep.model.plan import PERMANENT_TYPES, Survey, SurveyedEntity, SurveyedMemory, spoken_of
from memsweep.model.reach import components

if TYPE_CHECKING:
    from memsweep.collector.strategies.rule import Options


class Liveness(NamedTuple):
    """`dead`: nothing holds their component. `spared`: nothing holds it, but they are protected, and it with them."""

    dead: set[int]
    spared: set[int]


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
