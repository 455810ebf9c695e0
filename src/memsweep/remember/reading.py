"""A second look at the best of a ranking, by a model that reads query and passage together."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from memsweep.model.frozen import replace
from memsweep.model.search import Filters
from memsweep.remember.fusion import Row
from memsweep.remember.relevance import MOST_WORDS

if TYPE_CHECKING:
    from memsweep.embed.protocol import Reader
    from memsweep.store.protocol import Store

READ = 20
"""How many of the best are read: more cost time and gain nothing."""
_POINT = 0.2
"""What a point of a reading is worth beside a score that is 1 for the best."""
_SAYS_SOMETHING = 0.0
"""A reading above it is evidence, even for what neither words nor meaning speak for."""


def read_the_best(
    store: Store,
    reader: Reader | None,
    query: str,
    asked: Sequence[str],
    filters: Filters,
    rankings: Sequence[list[Row]],
    similarity: Mapping[int, float],
) -> tuple[list[list[Row]], dict[int, float]]:
    """The rankings with their best in the order of a reader, and what it said of each.

    Code is not read, for the model knows prose alone; nor anything for a long query, which is no question, or for one
    without words. `asked`: the words of the query that say something. Where there are few memories all are read, even
    those that neither words nor meaning found.
    """
    readings: dict[int, float] = {}
    if reader is None or not asked or max(len(asked), len(query.split())) > MOST_WORDS:
        return list(rankings), readings
    again = []
    for rows in rankings:
        keys = _to_read(rows, similarity)
        texts = _prose(store, keys)
        if 0 < len(texts) < READ:
            unfound = _unfound(store, filters, {row[1] for row in rows}, READ - len(texts))
            texts |= _prose(store, unfound)
            rows = [*rows, *((0.0, key, 0.0, 0.0, 0.0) for key in unfound)]
        if texts:
            readings |= zip(texts, reader.read(query, list(texts.values())), strict=True)
        again.append(reordered(rows, readings))
    return again, readings


def _to_read(rows: Sequence[Row], similarity: Mapping[int, float]) -> list[int]:
    """The best, and if they are few the closest of those that have no score."""
    scored = [row[1] for row in rows if row[0] < 0]
    rest = sorted((row[1] for row in rows if row[0] >= 0), key=lambda key: -similarity.get(key, 0.0))
    return [*scored, *rest][:READ]


def _unfound(store: Store, filters: Filters, found: Collection[int], most: int) -> list[int]:
    """Memories that neither words nor meaning found, the newest first."""
    newest = store.newest(replace(filters, kind="memory"), len(found) + most)
    return [each.key for each in newest if each.key not in found][:most]


def _prose(store: Store, keys: Sequence[int]) -> dict[int, str]:
    passages = store.passages(keys) if keys else {}
    return {key: passages[key].text for key in keys if key in passages and passages[key].code is None}


def reordered(rows: Sequence[Row], readings: Mapping[int, float]) -> list[Row]:
    """The rows that were read by their score and their reading, before the others; their scores keep to their range."""
    read = [row for row in rows if row[1] in readings and (row[0] < 0 or readings[row[1]] > _SAYS_SOMETHING)]
    spoken_for = [row[0] for row in read if row[0] < 0]
    if not spoken_for:
        return list(rows)
    best, least = min(spoken_for), max(spoken_for)
    worth = {row[1]: round(row[0] / best + _POINT * readings[row[1]], 3) for row in read}
    low, high = min(worth.values()), max(worth.values())
    scale = (best - least) / (high - low) if high > low else 0.0
    read.sort(key=lambda row: -worth[row[1]])  # what is worth the same stays in its order
    again = [(least + scale * (worth[row[1]] - low), *row[1:]) for row in read]
    return again + [row for row in rows if row[1] not in worth]
