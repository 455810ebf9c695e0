"""Memories without chunks: nothing can find them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from memsweep.model.plan import Found, Survey

if TYPE_CHECKING:
    from memsweep.collector.strategies.rule import Options


def find(survey: Survey, options: Options) -> Iterator[Found]:
    return (Found("memory", row.key, "empty_memory") for row in survey.memories if not survey.chunk_counts.get(row.key))
