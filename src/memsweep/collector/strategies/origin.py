"""Retract what one origin brought: memories, facts, segments, and entities that nothing else holds.

Facts and memories that others know too fall back to what they would be without it, what it ended holds again, and what
it said to be superseded is current again. Whose things they are is in the survey; without that there is nothing to
find.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from memsweep.collector.strategies.rule import liveness, protection
from memsweep.model.contributed import Contributed, FactWithout, MemoryWithout
from memsweep.model.plan import IN_TRASH, Found, Survey

if TYPE_CHECKING:
    from memsweep.collector.strategies.rule import Options


def find(survey: Survey, options: Options) -> Iterator[Found]:
    if (brought := survey.brought) is None:
        return
    for key, gone in sorted(brought.memories.items()):
        yield Found(
            "memory", key, "brought", _said(acts=sorted(gone.acts), links=gone.links, superseded=gone.superseded)
        )
    for memory in brought.staying:
        yield _stays(memory)
    for fact in brought.facts:
        if fact.is_trashed:
            yield Found("relation", fact.key, IN_TRASH, {"acts": sorted(fact.acts), "version": fact.version})
        elif fact.after is None:
            yield Found("relation", fact.key, "brought", _said(acts=sorted(fact.acts)))
        elif fact.acts and fact.after != fact.before:
            yield _fallen(fact)
    for key in _entities(survey, brought, options):
        yield Found("entity", key, "brought")
    for key, window in brought.segments:
        yield Found("segment", key, "brought", {"window": window})


def _fallen(fact: FactWithout) -> Found:
    assert fact.after is not None, "it is still there"
    again = fact.before.invalid_at is not None and fact.after.invalid_at is None
    said = {"acts": sorted(fact.acts), "from": fact.before.weight, "to": fact.after.weight}
    return Found("relation", fact.key, "holds_again" if again else "falls_back", said)


def _stays(memory: MemoryWithout) -> Found:
    said = _said(
        acts=sorted(memory.acts),
        mentions=[list(pair) for pair in memory.mentions],
        unmentioned=sorted(memory.unmentioned),
        links=memory.links,
    )
    if memory.trash is not None:
        return Found("memory", memory.key, IN_TRASH, {**said, "trash": memory.trash, "version": memory.version})
    reason = "earlier_text" if memory.text_changes else "stays_without"
    if not memory.acts and not memory.mentions:
        reason = "current_again"
    return Found("memory", memory.key, reason, said)


def _said(**evidence: Any) -> dict[str, Any]:
    """Without what is empty; links by what they lead to or come from."""
    for name in evidence.keys() & {"links", "superseded"}:
        links = sorted(evidence[name].items())
        evidence[name] = {str(other): [sorted(basis) for basis in bases] for other, bases in links}
    return {name: value for name, value in evidence.items() if value}


def _entities(survey: Survey, brought: Contributed, options: Options) -> list[int]:
    """Return those that had a root, and have none without what goes; what others passed keeps its own."""
    gone = {fact.key for fact in brought.facts if fact.after is None}
    links = [(row.subject, row.object) for row in survey.relations]
    left = [(row.subject, row.object) for row in survey.relations if row.key not in gone]
    going = brought.memories.keys() - {row.key for row in survey.memories if protection(row, options)}
    unmentioned = {(memory.key, entity) for memory in brought.staying for entity in memory.unmentioned}
    before = liveness(survey, options, links=links)
    mine = [
        row._replace(explicit=row.explicit and row.key not in brought.entities, created_at=0) for row in survey.entities
    ]
    kept = replace(
        survey,
        entities=mine,
        mentions=[pair for pair in survey.mentions if pair[0] not in going and pair not in unmentioned],
        stated=[each for each in survey.stated if each[0] not in going],
    )
    return sorted(liveness(kept, options, links=left).dead - before.dead)
