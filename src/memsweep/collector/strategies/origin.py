"""Retract what one origin brought: memories, facts, segments, and entities that nothing else holds.

Facts and memories that others know too fall back to what they would be without it, what it ended holds again, and what
it said to be superseded is current again. What these are is read before; without that there is nothing to find.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from memsweep.collector.strategies.rule import liveness, protection
from memsweep.model.plan import Found, Survey

if TYPE_CHECKING:
    from memsweep.collector.retraction import Contributed
    from memsweep.collector.strategies.rule import Options


def find(survey: Survey, options: Options) -> Iterator[Found]:
    if options.contributed is not None:
        yield from options.contributed.found
        for key in _entities(survey, options.contributed, options):
            yield Found("entity", key, "brought")


def _entities(survey: Survey, gone: Contributed, options: Options) -> list[int]:
    """Return those that had a root, and have none without what goes; what others passed keeps its own."""
    facts = gone.going("relation")
    links = [(row.subject, row.object) for row in survey.relations]
    left = [(row.subject, row.object) for row in survey.relations if row.key not in facts]
    going = gone.going("memory") - {row.key for row in survey.memories if protection(row, options)}
    before = liveness(survey, options, links=links)
    mine = [
        row._replace(explicit=row.explicit and row.key not in gone.entities, created_at=0) for row in survey.entities
    ]
    kept = replace(
        survey,
        entities=mine,
        mentions=[pair for pair in survey.mentions if pair[0] not in going and pair not in gone.unmentioned],
        stated=[each for each in survey.stated if each[0] not in going],
    )
    return sorted(liveness(kept, options, links=left).dead - before.dead)
