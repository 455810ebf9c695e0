"""Memories whose time has passed: by their own date, or because they were not seen for `ttl_days`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from memsweep.model.plan import Found, Survey
from memsweep.model.times import to_micros

if TYPE_CHECKING:
    from memsweep.collector.strategies.rule import Options


def find(survey: Survey, options: Options) -> Iterator[Found]:
    now = to_micros(options.now)
    oldest = None if options.ttl_days is None else options.micros_ago(options.ttl_days)
    for row in survey.memories:
        if row.expires_at is not None and row.expires_at <= now:
            yield Found("memory", row.key, "expired", {"expires_at": row.expires_at})
        elif oldest is not None:
            # Rows from before there was a last_seen_at count from their creation.
            seen = row.created_at if row.last_seen_at is None else row.last_seen_at
            if seen < oldest:
                yield Found("memory", row.key, "not_seen", {"last_seen_at": seen, "ttl_days": options.ttl_days})
