"""Entities in a connected component without a root: dead cycles included, however long."""

from __future__ import annotations

from collections.abc import Iterator

from memsweep.gc.roots import rooted_entities
from memsweep.gc.strategies.rule import Options
from memsweep.model.plan import Found, Survey
from memsweep.model.reach import unreachable


def find(survey: Survey, options: Options) -> Iterator[Found]:
    dead = unreachable([row.key for row in survey.entities], survey.edges, rooted_entities(survey))
    return (Found("entity", row.key, "unreachable_entity") for row in survey.entities if row.key in dead)
