"""One ranking of everything that a query found, whatever its kind, and the evidence for a part of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from memsweep.embed.protocol import Embedder, quantise
from memsweep.memory import other_hits
from memsweep.memory.choosing import Count, Judged
from memsweep.memory.files import by_file, settled, support_of
from memsweep.memory.fusion import FusionWeights, Row, fuse, places_around, shown, spread, weights_for
from memsweep.memory.relevance import relevance_of
from memsweep.model.frozen import replace
from memsweep.model.roles import role_of
from memsweep.model.search import Candidate, FileWords, Filters, Owner, Passage, Place, Ranked
from memsweep.numeric import mean

if TYPE_CHECKING:
    from memsweep.memory.judging import Judge
    from memsweep.store.protocol import Store
from collections.abc import Collection
from typing import TYPE_CHECKING

from memsweep.memory.relevance import MOST_WORDS

if TYPE_CHECKING:
    from memsweep.embed.protocol import Reader
    from memsweep.store.protocol import Store
from bisect import bisect_right

DEPTH = 100  # how many candidates words and meaning hand in each
_SPREAD_FROM = 30  # how many of the best may call in neighbours that nothing else found; more find no more
_HEAD = 5  # how many of a kind say how relevant it is
_WINDOW = 2000  # characters of a long query that are embedded at a time
_MOST_WINDOWS = 16
_MOST_PIECES = 3000  # of code that have the rarest words of a query, whose files are looked at; more find no more
_OF_CHUNKS = (None, "memory", "code")


class Found(NamedTuple):
    """A passage of a ranking with the words of the query that it has, and what they and its meaning are worth."""

    judged: Judged
    passage: Passage
    words: tuple[str, ...]
    similarity: float
    reading: float | None = None
    expired: bool = False


class Ranking(NamedTuple):
    """Candidates and their neighbours, best first; the cosines of the candidates; facts and segments by their keys;
    what a reader said of the best; how many there were to choose from.

    If `settled` is a number, only so many of the rows are sure to stand in their order.
    """

    rows: list[Row]
    similarity: Mapping[int, float]
    other_hits: Mapping[int, Found] = {}
    settled: int | None = None
    readings: Mapping[int, float] = {}
    chosen_from: Count = Count()

    def reaches(self, end: int) -> bool:
        return self.settled is None or end <= self.settled

    def with_evidence(self) -> Ranking:
        return self._replace(rows=[row for row in self.rows if row[0] < 0])


def rank(
    store: Store,
    embedder: Embedder,
    judge: Judge,
    query: str,
    filters: Filters,
    now: datetime,
    first: int | None = None,
    *,
    alone: bool = False,
) -> Ranking:
    """All that words or meaning found, and what stands beside it. Where there are several kinds, each has its own
    ranking, and the most relevant of it decides where that stands among the others.

    Who looks only at the `first` few may say so: where there is no code, the order of the rest is not worked out. The
    ranking may be of these `alone`.
    """
    (asked,) = store.matched_words(query, [query])
    others = _loose(store, embedder, judge, query, asked, filters, now)
    whole = _NOTHING if filters.kind not in _OF_CHUNKS else _of_chunks(store, embedder, query, asked, filters, first)
    rankings, similarity, count, settled = whole
    rankings, readings = read_the_best(store, judge.reader, query, asked, filters, rankings, similarity)
    several = len(rankings) + bool(others) > 1
    if several:
        apart = [Ranking(rows, similarity, readings=readings) for rows in rankings]
        rankings = [_by_relevance(store, judge, query, each) for each in apart]
    rows = [row for rows in rankings for row in rows]
    rows += [(-each.judged.relevance, key, 0.0, 0.0, 0.0) for key, each in others.items()]
    rows = sorted(rows, key=lambda row: row[0]) if several or others else rows
    if not alone:
        return Ranking(rows, similarity, others, settled, readings, count)
    similarity = {row[1]: similarity.get(row[1], 0.0) for row in rows[:first]}
    return Ranking(rows[:first], similarity, others, settled, readings, count)


def look_at(store: Store, judge: Judge, query: str, ranking: Ranking, part: slice) -> tuple[list[Found], int]:
    """The passages of a part of a ranking with their evidence, and how many more cannot be read."""
    window = shown(ranking.rows[part])
    keys = [item.key for item in window if item.key not in ranking.other_hits]
    passages = store.passages(keys)
    read = [(key, passages[key]) for key in keys if key in passages]
    similar = [(passage, ranking.similarity.get(key, 0.0)) for key, passage in read]
    judged = judge.odds(store, query, similar, [ranking.readings.get(key) for key, _ in read])
    by_key = {key: (passage, *said) for (key, passage), said in zip(read, judged, strict=True)}
    found = []
    for item in window:
        if item.key in ranking.other_hits:
            found.append(ranking.other_hits[item.key])
        elif item.key in by_key:
            passage, odds, words = by_key[item.key]
            similarity, reading = ranking.similarity.get(item.key, 0.0), ranking.readings.get(item.key)
            judgement = Judged(item, odds, passage.kind, reading is not None)
            found.append(Found(judgement, passage, words, similarity, reading))
    return found, store.unreadable([key for key in keys if key not in passages])


class _OfChunks(NamedTuple):
    """Memories and code: their rankings, if there are both, all cosines, how many there were to choose from, and how
    many rows are in their order."""

    rankings: list[list[Row]]
    similarity: dict[int, float]
    chosen_from: Count = Count()
    settled: int | None = None


_NOTHING = _OfChunks([], {})


def _of_chunks(
    store: Store, embedder: Embedder, query: str, asked: Sequence[str], filters: Filters, first: int | None
) -> _OfChunks:
    candidates = _candidates(store, query, _embedded(embedder, query), filters)
    weights = weights_for(embedder.model.name)
    ranked = fuse(candidates, weights)
    keys_at = _neighbourhood(store, candidates, ranked, filters, weights)
    ranked = spread(ranked, keys_at, weights)
    similarity = {key: close for key, _, close, _, _, _ in candidates}
    memories = sum(not is_code for _, _, _, _, is_code, _ in candidates)
    if first is not None and memories == len(candidates) and filters.any_role:
        lead = leading(ranked, first)
        owners = _owners(store, candidates, ranked[:lead])
        return _OfChunks(
            [settled(by_tier(ranked[:lead], owners), owners) + ranked[lead:]], similarity, Count(memories), first
        )
    owners = _owners(store, candidates, ranked)
    parts = [[each for each in candidates if each.is_code == is_code] for is_code in (False, True)]
    rankings = [spread(fuse(part, weights), keys_at, weights) for part in parts] if all(parts) else [ranked]
    allowed = [[row for row in rows if _has_role(owners.get(row[1]), filters)] for rows in rankings]
    any_code = any(owner.path is not None for owner in owners.values())
    words = store.file_words(query, _MOST_PIECES) if any_code else FileWords(0, [])
    said = support_of(words)
    ordered = [by_file(by_tier(rows, owners), owners, query, len(asked), said) for rows in allowed if rows]
    files = words.files if _takes_every_file(filters) else len(_files(owners, allowed))
    return _OfChunks(ordered, similarity, Count(memories, files))


def _takes_every_file(filters: Filters) -> bool:
    in_quarantine = filters.held_back is not None and bool(filters.held_back.tiers)
    return not in_quarantine and filters.asked == Filters(kind=filters.kind)


def _files(owners: Mapping[int, Owner], rankings: Sequence[Sequence[Row]]) -> set[int]:
    """The files that some rows are from."""
    found = (owners[row[1]] for rows in rankings for row in rows if row[1] in owners)
    return {owner.memory for owner in found if owner.path is not None}


def _owners(store: Store, candidates: Sequence[Candidate], rows: Sequence[Row]) -> dict[int, Owner]:
    """Where the chunks of some rows are from, which not every engine has said yet, nor of neighbours."""
    known = {key: owner for key, _, _, _, _, owner in candidates if owner is not None}
    unknown = [row[1] for row in rows if row[1] not in known]
    return known | store.owners(unknown) if unknown else known


def _candidates(store: Store, query: str, vector: bytes, filters: Filters) -> list[Candidate]:
    """Of memories and code, that of which there is less is looked for by itself, too: the other would crowd it out."""
    found = store.candidates(query, vector, filters, DEPTH)
    if filters.kind is None and len(found) >= DEPTH and (kind := store.smaller_kind()) is not None:
        known = {each.key for each in found}
        rest = store.candidates(query, vector, replace(filters, kind=kind), DEPTH)
        found = sorted([*found, *(each for each in rest if each.key not in known)])
    return found


def _has_role(owner: Owner | None, filters: Filters) -> bool:
    if filters.any_role:
        return True
    role = role_of(owner.path) if owner is not None and owner.path is not None else None
    return (filters.role in (None, role)) and (filters.include_tests or role != "test")


def _by_relevance(store: Store, judge: Judge, query: str, ranking: Ranking) -> list[Row]:
    """The rows of one kind, scored so that the best has the relevance of the most relevant of the first."""
    found, _ = look_at(store, judge, query, ranking, slice(_HEAD))
    most = max((relevance_of(each.judged.beside_others) for each in found), default=0.0)
    best = max((-row[0] for row in ranking.rows), default=0.0)
    scaled, last = [], -1.0
    for row in ranking.rows:  # in their order, which is not that of their scores where a file has many
        last = max(last, row[0] * most / best if best else 0.0)
        scaled.append((last, *row[1:]))
    return scaled


def _loose(
    store: Store, embedder: Embedder, judge: Judge, query: str, asked: Sequence[str], filters: Filters, now: datetime
) -> dict[int, Found]:
    """Facts and segments, with negative keys."""
    passages = other_hits.passages_of(store, filters, query, asked, now)
    if not passages:
        return {}
    words = store.matched_words(query, [each.text for each in passages])
    chosen = other_hits.most_alike(passages, map(len, words))
    similar = list(zip(chosen, other_hits.similarities(embedder, query, chosen), strict=True))
    found = {}
    for key, ((passage, similarity), (odds, matched)) in enumerate(
        zip(similar, judge.odds(store, query, similar), strict=True)
    ):
        item = Ranked(-1 - key, relevance_of(odds), 0.0, 0.0, 0.0)
        found[-1 - key] = Found(Judged(item, odds, passage.kind), passage, matched, similarity)
    return found


def _embedded(embedder: Embedder, query: str) -> bytes:
    """One vector for all of a query; a long one is the mean of its windows, so that its end counts as its beginning."""
    windows = [query[at : at + _WINDOW] for at in range(0, len(query), _WINDOW)]
    if len(windows) > _MOST_WINDOWS:
        windows = windows[: _MOST_WINDOWS // 2] + windows[-_MOST_WINDOWS // 2 :]
    (vector,) = quantise(mean(embedder.embed(windows)))
    return vector


def _neighbourhood(
    store: Store, candidates: Sequence[Candidate], ranking: Sequence[Row], filters: Filters, weights: FusionWeights
) -> dict[Place, int]:
    """The keys at the places of all candidates, and at those next to the best of them. Pieces of code are cut where
    something begins, so what stands beside one says nothing of it; `by_file` counts what else its file has."""
    place_of = {key: place for key, _, _, place, is_code, _ in candidates if place is not None and not is_code}
    known = {place: key for key, place in place_of.items()}
    speaking = (place_of.get(row[1]) for row in ranking[:_SPREAD_FROM])
    around = places_around((place for place in speaking if place is not None), weights)
    return known | store.at_places(around - known.keys(), filters) if around else known


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


WEIGHTS = {"person": 1.0, "agent": 0.98, "tool": 0.96}
OTHERS = 0.95
"""What an import or the web brought, and what nobody knows the origin of."""


_ROUNDED = 0.002  # more than what equal scores may differ by, where digits behind them do not count


def leading(rows: Sequence[Row], first: int) -> int:
    """How many rows of a ranking have to be weighed to know which are the first few, and in which order."""
    if len(rows) <= first:
        return len(rows)
    enough = OTHERS * rows[first - 1][0] + _ROUNDED  # scores are negative, the best first
    return bisect_right(rows, enough, key=lambda row: row[0])


def by_tier(rows: Sequence[Row], owners: Mapping[int, Owner]) -> list[Row]:
    """The ranking, with every score weighed by where its memory came from."""
    return sorted((row[0] * _weight(owners.get(row[1])), *row[1:]) for row in rows)


def _weight(owner: Owner | None) -> float:
    return OTHERS if owner is None else WEIGHTS.get(owner.tier, OTHERS)
