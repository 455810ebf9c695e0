"""Entities without a mention and without a relation, and with nothing else to keep them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING

from memsweep.collector.strategies.rule import held
from memsweep.model.plan import Found, Survey

if TYPE_CHECKING:
    from memsweep.collector.strategies.rule import Options


def find(survey: Survey, options: Options) -> Iterator[Found]:
    kept = held(survey, options)
    kept.update(chain.from_iterable(survey.links()))
    return (Found("entity", row.key, "orphaned_entity") for row in survey.entities if row.key not in kept)
