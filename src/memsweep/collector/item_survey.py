"""Read what a verdict on one thing must see, and no more: asking all rules about everything takes seconds.

Each rule judges a memory by its own row, by what superseded it, and by the memories that say the same; the last are
looked up by their rarest words. An entity that a memory mentions which no rule takes is alive for every rule.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from memsweep.collector.selection import missing_files
from memsweep.collector.strategies.duplicates import comparable_memories
from memsweep.collector.strategies.rule import held, liveness, protection
from memsweep.collector.verdict import accusations
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
from memsweep.model.plan import Survey

if TYPE_CHECKING:
    from memsweep.collector.strategies.rule import Options
    from memsweep.store.changes import Changes
    from memsweep.store.items import Items

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
