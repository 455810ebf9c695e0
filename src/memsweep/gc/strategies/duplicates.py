"""Memories that say the same: equal text, equal but for case, spacing and punctuation, or nearly so.

Never code files, nor what was superseded, which search does not show. One of a group is kept, and every other names it.
Of equal texts that is a pinned one first, then one that does not expire, then the oldest, because that is the one whose
id others know. Of two texts that differ, however little, the newer one is the revision: it is never taken in favour of
the older one. Nearness is no chain: what goes is near to what is kept, not only to something else that goes.
"""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from memsweep.model.likeness import Comparable, Run, comparable, nearly_same
from memsweep.model.plan import Found, MemoryRow, Survey
from memsweep.model.reach import components

if TYPE_CHECKING:
    from memsweep.gc.strategies.rule import Options

_HASHES = 32
_BAND = 4
_PRIME = (1 << 61) - 1
_Mark = tuple[object, ...]


def find(survey: Survey, options: Options) -> Iterator[Found]:
    superseded = {old for old, _, _ in survey.supersessions}
    rows = {row.key: row for row in survey.memories if not row.is_code and row.key not in superseded}
    texts = {key: comparable(survey.texts[key]) for key in rows if key in survey.texts}
    exact = _chains(_groups((row.content_hash, row.key) for row in rows.values()))
    folded = _chains(_groups((text.words, key) for key, text in texts.items() if text.words))
    for group in _clusters(list(rows), [*exact, *folded, *_near_pairs(texts)]):
        yield from _taken_from(group, rows, texts)


def _taken_from(group: set[int], rows: Mapping[int, MemoryRow], texts: Mapping[int, Comparable]) -> Iterator[Found]:
    """What goes of memories that are alike, the best first: each names what is kept in its place."""
    last_said = _last_said(rows[key] for key in group)

    def worse(key: int) -> tuple[bool, bool, int, int, int]:
        row = rows[key]
        return not row.pinned, row.expires_at is not None, -last_said[row.content_hash], row.created_at, key

    for best in sorted(group, key=worse):
        if best not in group:
            continue
        group.remove(best)
        mine = rows[best].content_hash
        same = {key for key in group if rows[key].content_hash == mine}
        older = {key for key in group - same if last_said[rows[key].content_hash] <= last_said[mine]}
        near = {key for key in older if key in texts and best in texts and nearly_same(texts[key], texts[best])}
        for key in sorted(same | near):
            yield Found("memory", key, "duplicate" if key in same else "near_duplicate", {"kept": best})
        group -= same | near


def _last_said(rows: Iterable[MemoryRow]) -> dict[bytes, int]:
    """When each text was remembered last."""
    newest: dict[bytes, int] = {}
    for row in rows:
        newest[row.content_hash] = max(row.created_at, newest.get(row.content_hash, row.created_at))
    return newest


def _groups(pairs: Iterable[tuple[object, int]]) -> list[list[int]]:
    groups: dict[object, list[int]] = defaultdict(list)
    for mark, key in pairs:
        groups[mark].append(key)
    return [group for group in groups.values() if len(group) > 1]


def _chains(groups: Iterable[list[int]]) -> list[tuple[int, int]]:
    return [(group[0], other) for group in groups for other in group[1:]]


def _clusters(keys: list[int], pairs: list[tuple[int, int]]) -> list[set[int]]:
    groups: dict[int, set[int]] = defaultdict(set)
    for key, standing_for in zip(keys, components(keys, pairs), strict=True):
        groups[standing_for].add(key)
    return [group for group in groups.values() if len(group) > 1]


def _near_pairs(texts: Mapping[int, Comparable]) -> Iterator[tuple[int, int]]:
    """Pairs that are nearly the same; texts meet only where they state the same facts and share a band of hashes."""
    buckets: dict[_Mark, list[int]] = defaultdict(list)
    for facts in _groups((text.facts, key) for key, text in texts.items() if text.runs):
        for key in facts:
            for band in _bands(texts[key].runs):
                buckets[texts[key].facts, *band].append(key)
    checked: set[tuple[int, int]] = set()
    for bucket in buckets.values():
        first = bucket[0]  # the others of a bucket meet each other in another one, or through the first
        for other in bucket[1:]:
            if (first, other) not in checked:
                checked.add((first, other))
                if nearly_same(texts[first], texts[other]):
                    yield first, other


def _bands(runs: frozenset[Run]) -> Iterator[tuple[int, ...]]:
    hashes = [zlib.crc32(" ".join(run).encode("utf-8", "replace")) for run in runs]
    signature = [min((a * h + b) % _PRIME for h in hashes) for a, b in _MULTIPLIERS]
    for start in range(0, _HASHES, _BAND):
        yield (start, *signature[start : start + _BAND])


_MULTIPLIERS = tuple((2 * n * 0x9E3779B97F4A7C15 % _PRIME + 1, n * 0xC2B2AE3D27D4EB4F % _PRIME) for n in range(1, 33))
