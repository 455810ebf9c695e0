"""Judge one thing by what a verdict on it must see, and no more: asking all rules about everything takes seconds.

Each rule judges a memory by its own row, by what superseded it, and by the memories that say the same; the last are
looked up by their rarest words. An entity that a memory mentions which no rule takes is alive for every rule.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from memsweep.collector.planner import STRATEGIES, make_plan
from memsweep.collector.selection import missing_files
from memsweep.collector.strategies.duplicates import comparable_memories
from memsweep.collector.strategies.rule import held, liveness, protection
from memsweep.model.likeness import (
    Comparable,
    WordGroups,
    comparable,
    distinctive_words,
    fewest,
    nearly_same,
    outline,
    word_groups,
)
from memsweep.model.plan import NAMING_MEMORIES, Kind, PlanItem, Survey, SurveyedMemory, Verdict
from memsweep.model.text import counted
from memsweep.model.times import from_micros, iso
from memsweep.report.collector import why

if TYPE_CHECKING:
    from memsweep.collector.strategies.rule import Options
    from memsweep.store.changes import Changes
    from memsweep.store.items import Items


# Why something is alive or garbage: the same rules as the plans', asked about one thing. Pure.


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


_MOST_LOOKED_AT = 3_000  # beyond that, a look at everything is no slower
_COMMON = 3_000  # chunks that have a word
_MOST_ALIKE = 200
_FEW = 100
_MOST_WITNESSES = 20
_MOST_CONNECTED = 200


def around_memory(rows: Items, key: int) -> Survey | None:
    """A survey in which every rule says of a memory what it says of it among all; None where only all will do."""
    return _around(rows, [key], [])


def around_deletion(tx: Changes, memory: int, options: Options) -> Survey:
    """Return a survey in which a plan names what loses its last root with a memory: as much of the graph as it takes.

    From what the memory speaks of, it goes on through entities that nothing holds, as far as they may be dead.
    """
    facts = tx.relations.at([relation for relation, _ in tx.items.stated_by([memory])])
    border = {end for fact in facts for end in (fact.subject, fact.object)}
    border |= {mention.entity for mention in tx.acts.mentions([memory])}
    seen, found, judged = tx.items.survey_of([memory]), set[int](), _FEW
    while border:
        found |= border
        near = tx.items.survey_of([], border)
        seen = _together(seen, near)
        loose = border - held(near, options, [memory])
        if len(found) > judged:  # each time there are twice as many, so that to judge costs no more than to read
            loose &= liveness(seen, options, [memory]).dead
            judged = 2 * len(found)
        border = {end for _, *ends in tx.items.around(loose).relations for end in ends} - found
    return seen


def _together(one: Survey, other: Survey) -> Survey:
    return replace(
        one,
        entities=[*one.entities, *other.entities],
        mentions=[*one.mentions, *other.mentions],
        stated=[*one.stated, *other.stated],
        edges=[*one.edges, *other.edges],
    )


def is_kept(rows: Items, key: int, options: Options, workspace_id: str) -> Survey | None:
    """Return the survey of an entity that a memory mentions which no rule takes; else None."""
    own = rows.survey_of([], [key])
    for memory in _newest(own.mentions, key) if own.entities else ():  # it may have gone just now
        survey = around_memory(rows, memory)
        if survey is not None and not accusations(survey, "memory", memory, options, workspace_id):
            return own
    return None


def around_entity(rows: Items, key: int, options: Options) -> Survey | None:
    """All that is connected to an entity, with the memories that speak of it; None where that is much."""
    if (seen := _standing_alone(rows, key, options)) is not None:
        return seen
    connected = _connected(rows, key)
    if connected is None:
        return None
    seen = rows.survey_of([], connected)
    memories = {memory for memory, *_ in (*seen.mentions, *seen.stated)}
    return _around(rows, memories, connected) if len(memories) <= _MOST_WITNESSES else None


def _standing_alone(rows: Items, key: int, options: Options) -> Survey | None:
    """An entity that is a root whatever becomes of memories, with its own facts; None if it is none, or has many."""
    own = rows.survey_of([], [key])
    speaking = {memory for memory, *_ in (*own.mentions, *own.stated)}
    if key not in held(own, options, speaking) and not any(protection(row, options) for row in own.entities):
        return None
    ends = {key, *(end for row in own.relations for end in (row.subject, row.object))}
    return replace(own, entities=rows.survey_of([], ends).entities) if len(ends) <= _MOST_CONNECTED else None


def _around(rows: Items, memories: Collection[int], entities: Collection[int]) -> Survey | None:
    """These, and the memories without which no rule could tell whether it takes one of them."""
    own = rows.survey_of(memories)
    superseded = {old for old, _, _ in own.supersessions}
    texts: dict[int, str] = {}
    for row in own.memories:
        if not row.is_code and row.key not in superseded and row.key not in texts:
            alike = _alike(rows, row.key)
            if alike is None:
                return None
            texts |= alike
    files = [row.key for row in own.memories if row.is_code]
    seen = rows.survey_of({*memories, *texts}, entities)
    return replace(seen, texts=texts, missing_files=frozenset(_missing(rows, files)))


def _connected(rows: Items, key: int) -> set[int] | None:
    found = border = {key}
    while border:
        reached = {end for _, *ends in rows.around(border).relations for end in ends}
        border = reached - found
        found = found | border
        if len(found) > _MOST_CONNECTED:
            return None
    return found


def _newest(mentions: Sequence[tuple[int, int]], entity: int) -> list[int]:
    return sorted({memory for memory, mentioned in mentions if mentioned == entity}, reverse=True)[:_MOST_WITNESSES]


def _missing(rows: Items, files: Collection[int]) -> set[int]:
    found = rows.describe({"memory": files}) if files else {}
    places = [(key, each.root, each.path) for (_, key), each in found.items()]
    return missing_files((key, root, path) for key, root, path in places if root is not None and path is not None)


def _alike(rows: Items, start: int) -> dict[int, str] | None:
    """The texts that hang together with one by being the same or nearly so; None where they cannot be looked up."""
    texts = rows.texts([start])
    if start not in texts:  # it has gone just now
        return None
    shape = outline(texts[start])
    read = {start: comparable(texts[start])}
    found, waiting, passed_over = dict(texts), [start], set[int]()
    while waiting:
        here = waiting.pop()
        near = _candidates(rows, here, read[here])
        if near is None or len(found) > _MOST_ALIKE:
            return None
        fresh = near - read.keys() - passed_over
        texts |= rows.texts(fresh)
        read |= {key: comparable(texts[key]) for key in fresh if key in texts and outline(texts[key]) == shape}
        passed_over |= fresh - read.keys()
        new = {key for key in near & read.keys() - found.keys() if _is_same(texts, read, here, key)}
        new -= _not_compared(rows, new)
        found |= {key: texts[key] for key in new}
        waiting += new
    return found


def _is_same(texts: dict[int, str], read: dict[int, Comparable], left: int, right: int) -> bool:
    return texts[left] == texts[right] or nearly_same(read[left], read[right])


def _candidates(rows: Items, key: int, text: Comparable) -> set[int] | None:
    """Memories among which is every one that says the same; None if they are too many, or cannot be looked up."""
    distinctive = distinctive_words(text)
    counts = rows.count_words(distinctive.needed)
    if min(counts.values(), default=_FEW + 1) <= _FEW:
        distinctive = distinctive._replace(others=())  # they need not be counted
    counts |= rows.count_words(distinctive.others)
    words = fewest(distinctive, counts)
    if words is None:
        return rows.same_text([key]) if not text.words else None
    any_word = WordGroups((), tuple((word,) for word in words))
    if sum(counts[word] for word in words) <= _COMMON:
        return (rows.with_words(any_word) if words else set()) | rows.same_text([key])
    # They stand together in a chunk, unless there are several.
    found = rows.with_words(word_groups(distinctive, counts)) | rows.with_words(any_word, in_pieces=True)
    found |= rows.same_text([key])
    return found if len(found) <= _MOST_LOOKED_AT else None


def _not_compared(rows: Items, keys: Collection[int]) -> set[int]:
    seen = rows.survey_of(keys)
    return set(keys) - comparable_memories(seen).keys()
