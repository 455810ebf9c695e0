"""Memories that say the same: equal text, or equal but for case, spacing and punctuation, or nearly so.

Never code files. The best of a group is kept, and every other names it: a pinned one first, then one that
does not expire, then the oldest, because that is the one whose id others know. Nearness is no chain: what
goes is near to what is kept, not only to something else that goes.
"""

from __future__ import annotations

import re
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from memsweep.model.plan import Found, MemoryRow, Survey
from memsweep.model.reach import components

if TYPE_CHECKING:
    from memsweep.gc.strategies.rule import Options

NEAR = 0.9  # share of three-word runs that two texts have in common
_FEWEST_WORDS = 8  # shorter texts say too little to be called nearly the same
_HASHES = 32
_BAND = 4
_WORD = re.compile(r"\w+")
_PRIME = (1 << 61) - 1


def find(survey: Survey, options: Options) -> Iterator[Found]:
    rows = {row.key: row for row in survey.memories if not row.is_code}
    words = {key: _words(survey.texts[key]) for key in rows if key in survey.texts}
    runs = {key: _runs(text) for key, text in words.items() if len(text) >= _FEWEST_WORDS}
    exact = _chains(_groups((row.content_hash, row.key) for row in rows.values()))
    folded = _chains(_groups((text, key) for key, text in words.items() if text))

    def near(left: int, right: int) -> bool:
        return words[left] == words[right] or (left in runs and right in runs and _alike(runs[left], runs[right]))

    for group in _clusters(list(rows), [*exact, *folded, *_near_pairs(runs)]):
        while group:
            best = min(group, key=lambda key: _worse(rows[key]))
            group.remove(best)
            same = {key for key in group if rows[key].content_hash == rows[best].content_hash}
            alike = {key for key in group if key in same or near(key, best)}
            for key in sorted(alike):
                yield Found("memory", key, "duplicate" if key in same else "near_duplicate", {"kept": best})
            group -= alike


def _worse(row: MemoryRow) -> tuple[bool, bool, int, int]:
    return not row.pinned, row.expires_at is not None, row.created_at, row.key


def _words(text: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(text.casefold()))


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


def _runs(words: tuple[str, ...]) -> frozenset[tuple[str, ...]]:
    return frozenset(zip(words, words[1:], words[2:], strict=False))


def _alike(left: frozenset[tuple[str, ...]], right: frozenset[tuple[str, ...]]) -> bool:
    return len(left & right) >= NEAR * len(left | right)


def _near_pairs(runs: Mapping[int, frozenset[tuple[str, ...]]]) -> Iterator[tuple[int, int]]:
    """Pairs above the threshold; texts meet only where a band of their signatures is equal."""
    buckets: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for key, mine in runs.items():
        for band in _bands(mine):
            buckets[band].append(key)
    checked: set[tuple[int, int]] = set()
    for bucket in buckets.values():
        first = bucket[0]  # the others of a bucket meet each other in another one, or through the first
        for other in bucket[1:]:
            if (first, other) not in checked:
                checked.add((first, other))
                if _alike(runs[first], runs[other]):
                    yield first, other


def _bands(runs: frozenset[tuple[str, ...]]) -> Iterator[tuple[int, ...]]:
    hashes = [zlib.crc32(" ".join(run).encode("utf-8", "replace")) for run in runs]
    signature = [min((a * h + b) % _PRIME for h in hashes) for a, b in _MULTIPLIERS]
    for start in range(0, _HASHES, _BAND):
        yield (start, *signature[start : start + _BAND])


_MULTIPLIERS = tuple((2 * n * 0x9E3779B97F4A7C15 % _PRIME + 1, n * 0xC2B2AE3D27D4EB4F % _PRIME) for n in range(1, 33))
