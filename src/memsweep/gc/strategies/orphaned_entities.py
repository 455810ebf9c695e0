"""Entities without a mention and without a relation, and with nothing else to keep them."""

from __future__ import annotations

from collections.abc import Iterator

from memsweep.gc.roots import rooted_entities
from memsweep.gc.strategies.rule import Options
from memsweep.model.plan import Found, Survey


def find(survey: Survey, options: Options) -> Iterator[Found]:
    held = rooted_entities(survey)
    for left, right in survey.edges:
        held.add(left)
        held.add(right)
    return (Found("entity", row.key, "orphaned_entity") for row in survey.entities if row.key not in held)
