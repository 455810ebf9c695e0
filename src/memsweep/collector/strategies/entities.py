"""Entities and chunks that nothing holds, and facts that have faded away."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING

from memsweep.collector.strategies.rule import held, keeps_fact, liveness, protection
from memsweep.model.plan import Found, Survey, SurveyedEntity
from memsweep.model.reach import components

if TYPE_CHECKING:
    from memsweep.collector.strategies.rule import Options


_FADED = "faded_relation"


def orphaned_chunks(survey: Survey, options: Options) -> Iterator[Found]:
    """Chunks without a memory."""
    return (Found("chunk", chunk, "orphaned_chunk") for chunk, _ in survey.lone_chunks)


def orphaned_entities(survey: Survey, options: Options) -> Iterator[Found]:
    """Entities without a mention and without a relation, and with nothing else to keep them."""
    kept = held(survey, options)
    kept.update(chain.from_iterable(survey.links()))
    return (Found("entity", row.key, "orphaned_entity") for row in survey.entities if row.key not in kept)


def unreachable_entities(survey: Survey, options: Options) -> Iterator[Found]:
    """Entities in a connected component without a root: dead cycles included, however long.

    Those that are only there because they are protected are named too: the plan lists them as protected.
    """
    dead, protected = liveness(survey, options)
    return (
        Found("entity", row.key, "unreachable_entity")
        for row in survey.entities
        if row.key in dead or row.key in protected
    )


def decayed(survey: Survey, options: Options) -> Iterator[Found]:
    """Facts that have faded away: relations below a weight, and entities nothing needs or has seen for long.

    An entity goes if no live memory speaks of it, it was not seen lately, and no relation is left to it: with the faded
    ones gone, it is alone. Faded itself, it goes at once; otherwise as an orphan, and so does a group of entities that
    nothing outside holds. A weight that is not known, and a live memory that states a relation, protect the relation.
    """
    kept_subjects = {row.key for row in survey.entities if protection(row, options)}
    counts_now, threshold = options.fader(options.fading.rates.edge), options.fading.edge_threshold
    left: list[tuple[int, int]] = []
    spoken_of = {entity for _, entity in survey.mentions}
    for row in survey.relations:
        _, _, subject, target, weight, last_seen, _, stated = row
        if stated:
            spoken_of.update((subject, target))
        if weight is None or keeps_fact(_FADED, stated=stated) or (now := counts_now(weight, last_seen)) >= threshold:
            left.append((subject, target))
            continue
        if subject in kept_subjects:  # named, so that the plan says what protects it
            left.append((subject, target))
        yield Found("relation", row.key, _FADED, {"weight": round(now, 4)})
    yield from _faded_entities(survey, left, spoken_of, options)


def _faded_entities(
    survey: Survey, left: list[tuple[int, int]], spoken_of: set[int], options: Options
) -> Iterator[Found]:
    oldest = options.micros_ago(options.fading.max_age_days)
    related = {end for ends in left for end in ends}
    alone = [row for row in survey.entities if row.key not in related and row.key not in spoken_of]
    for row in alone:
        if row.last_seen > oldest:
            continue
        if options.has_faded(row.confidence, row.type_key, row.last_seen):
            yield Found("entity", row.key, "faded_entity")
        elif options.fading.include_orphans:
            yield Found("entity", row.key, "orphan_not_seen")
    if options.fading.include_orphans:
        grouped = [row for row in survey.entities if row.key in related]
        yield from _dead_groups(grouped, left, spoken_of, oldest, options)


def _dead_groups(
    grouped: list[SurveyedEntity], left: list[tuple[int, int]], spoken_of: set[int], oldest: int, options: Options
) -> Iterator[Found]:
    """Entities that are related only among themselves, all unseen for long, with no root among them."""
    parts = components([row.key for row in grouped], left)
    alive = {
        part
        for row, part in zip(grouped, parts, strict=True)
        if row.key in spoken_of or row.explicit or row.last_seen > oldest or protection(row, options)
    }
    for row, part in zip(grouped, parts, strict=True):
        if part not in alive:
            yield Found("entity", row.key, "orphan_not_seen")
