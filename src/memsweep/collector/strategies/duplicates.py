"""Memories that say the same: equal text, equal but for case, spacing and punctuation, or nearly so.

Never code files, nor what search does not show: what was superseded, or has no chunks. One of a group is kept, and
every other names it. Of equal texts that is a pinned one first, then one that does not expire, then the oldest, because
that is the one whose id others know. Of two texts that differ, however little, the newer one is the revision: it is
never taken in favour of the older one. Nearness is no chain: what goes is near to what is kept, not only to something
else that goes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import nsmallest
from math import inf
from typing import TYPE_CHECKING

from memsweep.model.likeness import NEAR, Comparable, Run, comparable, nearly_same, outline
from memsweep.model.plan import Found, Survey, SurveyedMemory
from memsweep.model.reach import components

if TYPE_CHECKING:
    from memsweep.collector.strategies.rule import Options

_ROUNDING = 1e-9  # (1 - 0.9) * 10 is a little less than 1


def find(survey: Survey, options: Options) -> Iterator[Found]:
    rows = comparable_memories(survey)
    exact = _chains(_groups((row.content_hash, row.key) for row in rows.values()))
    texts = _worth_comparing({key: survey.texts[key] for key in rows if key in survey.texts}, exact)
    folded = _chains(_groups((text.words, key) for key, text in texts.items() if text.words))
    for group in _clusters(list(rows), [*exact, *folded, *_near_pairs(texts)]):
        yield from _taken_from(group, rows, texts)


def comparable_memories(survey: Survey) -> dict[int, SurveyedMemory]:
    hidden = {old for old, _, _ in survey.supersessions}
    return {
        row.key: row
        for row in survey.memories
        if not row.is_code and row.key not in hidden and survey.chunk_counts.get(row.key)
    }


def _worth_comparing(texts: Mapping[int, str], exact: Iterable[tuple[int, int]]) -> dict[int, Comparable]:
    """The texts with whose outline there is another one; of equal texts one is enough."""
    same_as = {other: first for first, other in exact}
    alike = _groups((outline(text), key) for key, text in texts.items() if key not in same_as)
    found = {key: comparable(texts[key]) for group in alike for key in group}
    return found | {key: found[first] for key, first in same_as.items() if first in found}


def _taken_from(
    group: set[int], rows: Mapping[int, SurveyedMemory], texts: Mapping[int, Comparable]
) -> Iterator[Found]:
    """Yield those that go of memories that are alike, the best first: each names what is kept in its place."""
    last_said = _last_said(rows[key] for key in group)

    def worse(key: int) -> tuple[bool, float, int, int, int]:
        row = rows[key]
        ends = inf if row.expires_at is None else row.expires_at
        return not row.pinned, -ends, -last_said[row.content_hash], row.created_at, key

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


def _last_said(rows: Iterable[SurveyedMemory]) -> dict[bytes, int]:
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
    """Pairs that are nearly the same, as many as connect all that are; only texts that state the same facts meet."""
    for facts in _groups((text.facts, key) for key, text in texts.items() if text.runs):
        different = {texts[key].words: key for key in facts}
        yield from _near_in(list(different.values()), texts)


def _near_in(group: Sequence[int], texts: Mapping[int, Comparable]) -> Iterator[tuple[int, int]]:
    """Texts that share as many runs have one of their rarest in common: no others are compared.

    Of a text's runs all but `NEAR` of them may be missing in the other, so one of the first that follow is in both.
    """
    common = Counter(run for key in group for run in texts[key].runs)
    buckets: dict[Run, list[int]] = defaultdict(list)
    part_of = {key: {key} for key in group}
    for key in sorted(group, key=lambda key: len(texts[key].runs)):
        runs = texts[key].runs
        for run in nsmallest(int((1 - NEAR) * len(runs) + _ROUNDING) + 1, runs, key=lambda run: (common[run], run)):
            for other in buckets[run]:
                if part_of[other] is not part_of[key] and nearly_same(texts[key], texts[other]):
                    _unite(part_of, key, other)
                    yield other, key
            buckets[run].append(key)


def _unite(part_of: dict[int, set[int]], left: int, right: int) -> None:
    small, large = sorted((part_of[left], part_of[right]), key=len)
    large |= small
    part_of.update(dict.fromkeys(small, large))
