"""Code memories whose file does not exist now.

The survey says which were found absent on disk. What could not be read, or lies under a root that is
missing or empty, is unknown and not among them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from memsweep.model.plan import Found, Survey

if TYPE_CHECKING:
    from memsweep.collector.strategies.rule import Options


def find(survey: Survey, options: Options) -> Iterator[Found]:
    return (
        Found("memory", row.key, "missing_file")
        for row in survey.memories
        if row.is_code and row.key in survey.missing_files
    )
