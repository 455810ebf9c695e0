"""Memories that are garbage by their own rows: their file is gone, their time has passed, nothing can find them.

And what another one has replaced, which takes facts along, and what an origin brought.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from memsweep.collector.strategies.rule import liveness, protection
from memsweep.model.plan import Found, Survey
from memsweep.model.times import to_micros

if TYPE_CHECKING:
    from memsweep.collector.retraction import Contributed
    from memsweep.collector.strategies.rule import Options


DEFAULT_DAYS = 30.0


def stale_code(survey: Survey, options: Options) -> Iterator[Found]:
    """Code memories whose file has left a scanned scope."""
    return (Found("memory", row.key, "stale_file") for row in survey.memories if row.is_code and row.stale)


def missing_files(survey: Survey, options: Options) -> Iterator[Found]:
    """Code memories whose file does not exist now.

    The survey says which were found absent on disk. What could not be read, or lies under a root that is missing or
    empty, is unknown and not among them.
    """
    return (
        Found("memory", row.key, "missing_file")
        for row in survey.memories
        if row.is_code and row.key in survey.missing_files
    )


def expired(survey: Survey, options: Options) -> Iterator[Found]:
    """Memories whose time has passed: by their own date, or because they were not seen for `ttl_days`."""
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


def empty_memories(survey: Survey, options: Options) -> Iterator[Found]:
    """Memories without chunks: nothing can find them."""
    return (Found("memory", row.key, "empty_memory") for row in survey.memories if not survey.chunk_counts.get(row.key))


def superseded(survey: Survey, options: Options) -> Iterator[Found]:
    """Facts and memories that another one replaced long ago; with the entities that only those facts held."""
    oldest = options.micros_ago(DEFAULT_DAYS if options.ttl_days is None else options.ttl_days)
    yield from _superseded_memories(survey, oldest)
    # What follows the memories is found by the planner.
    yield from _superseded_facts(replace(survey, edges=(), stated=()), options, oldest)


def _superseded_memories(survey: Survey, oldest: int) -> Iterator[Found]:
    """Each names the last that took its place, and the first moment at which one did."""
    last: dict[int, int] = {}
    since: dict[int, int] = {}
    for old, new, at in survey.supersessions:
        last[old] = max(new, last.get(old, new))
        since[old] = min(at, since.get(old, at))
    for old, at in since.items():
        if at <= oldest:
            yield Found("memory", old, "superseded_memory", {"superseded_by": last[old], "superseded_at": at})


def _superseded_facts(survey: Survey, options: Options, oldest: int) -> Iterator[Found]:
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


def contributed(survey: Survey, options: Options) -> Iterator[Found]:
    """Everything that one origin brought: memories, facts, segments, and entities that nothing else holds.

    Facts and memories that others know too fall back to what they would be without it, what it ended holds again, and
    what it said to be superseded is current again. What these are is read before; without that nothing is found.
    """
    if options.contributed is not None:
        yield from options.contributed.found
        for key in _contributed_entities(survey, options.contributed, options):
            yield Found("entity", key, "brought")


def _contributed_entities(survey: Survey, gone: Contributed, options: Options) -> list[int]:
    """Return those that had a root, and have none without what goes; what others passed keeps its own."""
    facts = gone.going("relation")
    links = [(row.subject, row.object) for row in survey.relations]
    left = [(row.subject, row.object) for row in survey.relations if row.key not in facts]
    going = gone.going("memory") - {row.key for row in survey.memories if protection(row, options)}
    before = liveness(survey, options, links=links)
    mine = [
        row._replace(explicit=row.explicit and row.key not in gone.entities, created_at=0) for row in survey.entities
    ]
    kept = replace(
        survey,
        entities=mine,
        mentions=[pair for pair in survey.mentions if pair[0] not in going and pair not in gone.unmentioned],
        stated=[each for each in survey.stated if each[0] not in going],
    )
    return sorted(liveness(kept, options, links=left).dead - before.dead)
