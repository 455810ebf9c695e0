"""Chunks without a memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from memsweep.model.plan import Found, Survey

if TYPE_CHECKING:
    from memsweep.collector.strategies.rule import Options


def find(survey: Survey, options: Options) -> Iterator[Found]:
    return (Found("chunk", chunk, "orphaned_chunk") for chunk, _ in survey.lone_chunks)
