"""What a verdict on one thing must see, and no more: asking all rules about everything takes seconds.

Each rule judges a memory by its own row, by what superseded it, and by the memories that say the same; the last are
looked up by their rarest words. An entity that a memory mentions which no rule takes is alive for every rule.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from memsweep.gc.disk import missing_files
from memsweep.gc.verdict import accusations
from memsweep.model.likeness import Comparable, comparable, fewest, nearly_same, outline, telling_words
from memsweep.model.plan import Survey

if TYPE_CHECKING:
    from memsweep.gc.strategies.rule import Options
    from memsweep.store.ports.items import ItemReads

_MOST_LOOKED_AT = 3_000  # beyond that, a look at everything is no slower
_MOST_ALIKE = 200
_MOST_WITNESSES = 20


def around_memory(rows: ItemReads, key: int) -> Survey | None:
    """A survey in which every rule says of a memory what it says of it among all; None where only all will do."""
    own = rows.survey_of([key])
    superseded = any(old == key for old, _, _ in own.supersessions)
    if own.memories[0].is_code or superseded:
        return replace(own, missing_files=frozenset(_missing(rows, key)))
    texts = _alike(rows, key)
    if texts is None:
        return None
    return replace(rows.survey_of(texts), texts=texts)


def around_entity(rows: ItemReads, key: int, options: Options, workspace_id: str) -> Survey | None:
    """What keeps an entity, if it is a memory that no rule takes; None where only a look at everything can tell."""
    own = rows.survey_of([], [key])
    for memory in _newest(own.mentions, key):
        survey = around_memory(rows, memory)
        if survey is not None and not accusations(survey, "memory", memory, options, workspace_id):
            return own
    return None


def _newest(mentions: Sequence[tuple[int, int]], entity: int) -> list[int]:
    return sorted({memory for memory, mentioned in mentions if mentioned == entity}, reverse=True)[:_MOST_WITNESSES]


def _missing(rows: ItemReads, key: int) -> set[int]:
    found = rows.describe({"memory": [key]})["memory", key]
    return set() if found.root is None or found.path is None else missing_files([(key, found.root, found.path)])


def _alike(rows: ItemReads, start: int) -> dict[int, str] | None:
    """The texts that hang together with one by being the same or nearly so; None where they cannot be looked up."""
    texts = rows.texts([start])
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


def _candidates(rows: ItemReads, key: int, text: Comparable) -> set[int] | None:
    telling = telling_words(text)
    words = fewest(telling, rows.count_words((*telling.needed, *telling.others)), _MOST_LOOKED_AT)
    if words is None:
        return rows.same_text([key]) if not text.words else None
    return rows.with_any_word(words) | rows.same_text([key])


def _not_compared(rows: ItemReads, keys: Collection[int]) -> set[int]:
    """Code files, and what was superseded."""
    seen = rows.survey_of(keys)
    return {row.key for row in seen.memories if row.is_code} | {old for old, _, _ in seen.supersessions if old in keys}
