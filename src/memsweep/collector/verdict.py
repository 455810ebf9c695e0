"""Why something is alive or garbage: the same rules as the plans', asked about one thing. Pure."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from memsweep.collector.planner import make_plan
from memsweep.collector.strategies import STRATEGIES
from memsweep.collector.strategies.rule import held, protection
from memsweep.model.plan import NAMING_MEMORIES, Kind, PlanItem, Survey, SurveyedMemory, Verdict
from memsweep.model.text import counted
from memsweep.model.times import from_micros, iso
from memsweep.report.collector import why

if TYPE_CHECKING:
    from memsweep.collector.strategies.rule import Options

_SHOWN = 3


def judge(
    survey: Survey,
    kind: Kind,
    key: int,
    uid: str,
    options: Options,
    workspace_id: str,
    id_of: Callable[[int], str] = str,
) -> Verdict:
    """The verdict on a live memory or entity; `id_of` says how people know a memory."""
    accused = tuple(
        (name, why(item.reason, _readable(item.evidence, id_of)))
        for name, item in accusations(survey, kind, key, options, workspace_id)
    )
    if kind == "memory":
        row = next(row for row in survey.memories if row.key == key)
        reasons = (*_reasons_of_memory(row), *_reasons_of_links(survey, key, id_of))
        return Verdict(uid, kind, not accused, reasons, accused)
    path = _way_to_root(survey, key, options)
    reasons = tuple(_reasons_of_entity(survey, path, options, id_of))
    return Verdict(uid, kind, bool(path) or not accused, reasons, accused, path)


def accusations(
    survey: Survey, kind: Kind, key: int, options: Options, workspace_id: str
) -> list[tuple[str, PlanItem]]:
    """The strategies whose plans name a thing, with what they say of it."""
    return [
        (name, item)
        for name in STRATEGIES
        for item in make_plan(survey, name, options, workspace_id).items
        if (item.kind, item.key) == (kind, key)
    ]


def mentioned(survey: Survey, key: int, uid: str, options: Options, id_of: Callable[[int], str]) -> Verdict:
    """The verdict on an entity that a memory keeps which no rule takes."""
    return Verdict(uid, "entity", True, tuple(_reasons_of_entity(survey, (key,), options, id_of)), path=(key,))


def _readable(evidence: Mapping[str, Any], id_of: Callable[[int], str]) -> Mapping[str, Any]:
    """With the ids of the memories that it names."""
    return {name: id_of(value) if name in NAMING_MEMORIES else value for name, value in evidence.items()}


def _reasons_of_memory(row: SurveyedMemory) -> Iterable[str]:
    seen = iso(from_micros(row.created_at if row.last_seen_at is None else row.last_seen_at))
    if row.pinned:
        yield "It is pinned."
    if row.is_code:
        state = "had left the folder" if row.stale else "was there"
        yield f"Its file {state} when it was last looked for; last seen {seen}."
    else:
        yield f"It was remembered, and last seen {seen}."
    if row.expires_at is not None:
        yield f"It expires at {iso(from_micros(row.expires_at))}."


def _reasons_of_links(survey: Survey, key: int, id_of: Callable[[int], str]) -> Iterable[str]:
    newer = sorted((at, new) for old, new, at in survey.supersessions if old == key)
    older = sorted((old for old, new, _ in survey.supersessions if new == key), reverse=True)
    if newer:
        at, new = newer[0]
        yield f"Search leaves it out: {id_of(new)} superseded it at {iso(from_micros(at))}."
    if older:
        yield f"It supersedes {_memories(older, id_of)}."


def _reasons_of_entity(
    survey: Survey, path: tuple[int, ...], options: Options, id_of: Callable[[int], str]
) -> Iterable[str]:
    if not path:
        yield "Nothing keeps it: no mention, no pin, no fact handed in, and no way to anything that has one."
        return
    steps = len(path) - 1
    holder = next(row for row in survey.entities if row.key == path[-1])
    where = "It" if steps == 0 else f"An entity {steps} step{'' if steps == 1 else 's'} away"
    speaking = {memory for memory, mentioned in survey.mentions if mentioned == holder.key}
    stating = {memory for memory, *ends in survey.stated if holder.key in ends} - speaking
    if reason := protection(holder, options):
        yield f"{where} is {'of a permanent type' if reason == 'permanent type' else reason}."
    if holder.explicit:
        yield f"{where} was handed in explicitly."
    if speaking:
        yield f"{where} is mentioned by {_memories(speaking, id_of)}."
    if stating:
        yield f"{where} is part of a fact that is stated by {_memories(stating, id_of)}."


def _memories(keys: Collection[int], id_of: Callable[[int], str]) -> str:
    """Return the number of live memories and the newest of their ids."""
    named = [id_of(key) for key in sorted(keys, reverse=True)[:_SHOWN]]
    more = f" and {len(keys) - _SHOWN:,} more" if len(keys) > _SHOWN else ""
    return f"{counted(len(keys), 'live memory', 'live memories')}: {', '.join(named)}{more}"


def _way_to_root(survey: Survey, key: int, options: Options) -> tuple[int, ...]:
    """The shortest way to an entity that is a root, the thing itself first."""
    roots = held(survey, options) | {row.key for row in survey.entities if protection(row, options)}
    ways: Mapping[int, list[int]] = defaultdict(list)
    for left, right in survey.links():
        ways[left].append(right)
        ways[right].append(left)
    came_from: dict[int, int | None] = {key: None}
    waiting = deque([key])
    while waiting:
        here = waiting.popleft()
        if here in roots:
            return _trace(came_from, here)
        for there in sorted(ways[here]):
            if there not in came_from:
                came_from[there] = here
                waiting.append(there)
    return ()


def _trace(came_from: Mapping[int, int | None], end: int) -> tuple[int, ...]:
    way: list[int] = []
    step: int | None = end
    while step is not None:
        way.append(step)
        step = came_from[step]
    return tuple(reversed(way))
