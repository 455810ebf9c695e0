"""Facts and memories that another one replaced long ago; with the entities that only those facts held."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from memsweep.collector.strategies.rule import liveness, protection
from memsweep.model.plan import Found, Survey

if TYPE_CHECKING:
    from memsweep.collector.strategies.rule import Options

DEFAULT_DAYS = 30.0
MEMORY = "superseded_memory"


def find(survey: Survey, options: Options) -> Iterator[Found]:
    oldest = options.micros_ago(DEFAULT_DAYS if options.ttl_days is None else options.ttl_days)
    yield from _memories(survey, oldest)
    # What follows the memories is found by the planner.
    yield from _facts(replace(survey, edges=(), stated=()), options, oldest)


def _memories(survey: Survey, oldest: int) -> Iterator[Found]:
    """Each names the last that took its place, and the first moment at which one did."""
    last: dict[int, int] = {}
    since: dict[int, int] = {}
    for old, new, at in survey.supersessions:
        last[old] = max(new, last.get(old, new))
        since[old] = min(at, since.get(old, at))
    for old, at in since.items():
        if at <= oldest:
            yield Found("memory", old, MEMORY, {"superseded_by": last[old], "superseded_at": at})


def _facts(survey: Survey, options: Options, oldest: int) -> Iterator[Found]:
    closed = {row.key: row.invalid_at for row in survey.relations if row.invalid_at and row.invalid_at <= oldest}
    if not closed:
        return
    for key, invalid_at in closed.items():
        yield Found("relation", key, "superseded", {"invalid_at": invalid_at})
    kept_subjects = {row.key for row in survey.entities if protection(row, options)}  # and with them what they say
    stays = [row for row in survey.relations if row.key not in closed or row.subject in kept_subjects]
    before = liveness(survey, options, links=[(row.subject, row.object) for row in survey.relations])
    after = liveness(survey, options, links=[(row.subject, row.object) for row in stays])
    for key in sorted(after.dead - before.dead):
        yield Found("entity", key, "left_without_root")
