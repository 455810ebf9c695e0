"""A second look at the best of a ranking, by a model that reads query and passage together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

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
    store: Store, reader: Reader | None, query: str, asked: Sequence[str], rankings: Sequence[list[Row]]
) -> tuple[list[list[Row]], dict[int, float]]:
    """The rankings with their best in the order of a reader, and what it said of each.

    Code is not read, for the model knows prose alone; nor anything for a long query, which is no question, or for one
    without words. `asked`: the words of the query that say something.
    """
    readings: dict[int, float] = {}
    if reader is None or not asked or max(len(asked), len(query.split())) > MOST_WORDS:
        return list(rankings), readings
    for rows in rankings:
        keys = [row[1] for row in rows[:READ]]
        passages = store.passages(keys)
        texts = {key: passages[key].text for key in keys if key in passages and passages[key].code is None}
        if texts:
            readings |= zip(texts, reader.read(query, list(texts.values())), strict=True)
    return [reordered(rows, readings) for rows in rankings], readings


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
