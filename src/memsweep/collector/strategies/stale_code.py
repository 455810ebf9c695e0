"""Code memories whose file has left a scanned scope."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from memsweep.model.plan import Found, Survey

if TYPE_CHECKING:
    from memsweep.collector.strategies.rule import Options


def find(survey: Survey, options: Options) -> Iterator[Found]:
    return (Found("memory", row.key, "stale_file") for row in survey.memories if row.is_code and row.stale)
