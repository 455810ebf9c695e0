"""Facts that another one has replaced, and that have been closed for long; with the entities that only they held."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from memsweep.gc.roots import liveness
from memsweep.model.plan import Found, Survey

if TYPE_CHECKING:
    from memsweep.gc.strategies.rule import Options

DEFAULT_DAYS = 30.0


def find(survey: Survey, options: Options) -> Iterator[Found]:
    oldest = options.micros_ago(DEFAULT_DAYS if options.ttl_days is None else options.ttl_days)
    closed = {row.key: row.invalid_at for row in survey.relations if row.invalid_at and row.invalid_at <= oldest}
    if not closed:
        return
    for key, invalid_at in closed.items():
        yield Found("relation", key, "superseded", {"invalid_at": invalid_at})
    before = liveness(survey, options, links=[(row.subject, row.object) for row in survey.relations])
    after = liveness(
        survey, options, links=[(row.subject, row.object) for row in survey.relations if row.key not in closed]
    )
    for key in sorted(after.dead - before.dead):
        yield Found("entity", key, "left_without_root")
