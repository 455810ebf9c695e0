"""Entities in a connected component without a root: dead cycles included, however long.

Those that are only there because they are protected are named too: the plan lists them as protected.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from memsweep.collector.strategies.rule import liveness
from memsweep.model.plan import Found, Survey

if TYPE_CHECKING:
    from memsweep.collector.strategies.rule import Options


def find(survey: Survey, options: Options) -> Iterator[Found]:
    dead, spared = liveness(survey, options)
    return (
        Found("entity", row.key, "unreachable_entity")
        for row in survey.entities
        if row.key in dead or row.key in spared
    )
