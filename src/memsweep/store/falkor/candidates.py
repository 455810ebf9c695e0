"""Finding chunks by words and by meaning."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import repeat
from operator import neg
from typing import Any, NamedTuple

from memsweep.model.frozen import replace
from memsweep.model.search import Candidate, Filters, HeldBack, Owner, Place, place_at
from memsweep.model.workspace import model_from
from memsweep.store.falkor import cypher, gc_cypher, origins
from memsweep.store.falkor.ranking import WordRanking
from memsweep.store.falkor.searching import Where, owner_of, where_of
from memsweep.store.falkor.transaction import GraphHandle
from memsweep.store.falkor.vectors import VectorSet, cosines
from memsweep.store.falkor.wire import Query, Row, rows_of
from memsweep.store.falkor.words import any_of
from memsweep.store.file.words import depth_of
from memsweep.store.refusals import other_query_model

Spot = tuple[Place | None, bool, Owner | None]  # its place, whether it is code, where it is from if that was said
_ANYWHERE: Spot = None, False, None


class _Known(NamedTuple):
    """The facts at a revision before chunks are looked at: words to ask for, keys of chunks that do not count, the
    first expiry, whether there is code, keys of the nearest, whether those are all.
    """

    revision: int
    words: dict[str, int]
    hidden: frozenset[int]
    first_expiry: int | None
    any_code: bool
    near: list[int]
    all_of_them: bool


class _Seen(NamedTuple):
    """The chunks that were looked at, at a revision: the terms of those found by words, the cosines of near ones."""

    revision: int
    terms: dict[int, str]
    near: dict[int, float]


def candidates(
    graph: GraphHandle,
    ranking: WordRanking,
    vectors: VectorSet,
    query: str,
    vector: bytes,
    filters: Filters,
    depth: int,
) -> list[Candidate]:
    """Three times there and back: what both ways must know, what they find, the vectors of what only words found."""
    _check_dimension(graph, vector)
    where = where_of(graph, filters)
    reach = depth + depth // 4  # of those that are near nearly all pass
    known = _first_look(graph, ranking, vectors, query, vector, reach)
    at: dict[int, Spot] = {}
    seen = _second_look(graph, known, vector, where, _words_reach(depth, ranking), at, of_all=_all_pass(filters, known))
    if seen.revision != known.revision:  # something was written since the workspace was opened
        graph.meta()
        _check_dimension(graph, vector)
        known = _first_look(graph, ranking, vectors, query, vector, reach)
        seen = _second_look(graph, known, vector, where, _words_reach(depth, ranking), at, of_all=False)
    by_words = _by_words(graph, ranking, query, known.words, where, depth_of(depth, ranking.chunks), seen.terms, at)
    near, all_of_them = seen.near, known.all_of_them
    while len(near) < depth and not all_of_them:
        reach *= 8
        keys, all_of_them = _look_again(graph, vectors, vector, reach)
        near = _near(graph, vector, graph.ask_together(*_judging(keys, where)), at)
    near = _highest(near, depth)
    unscored = sorted(by_words.keys() - near.keys())
    rest = cosines(vector, graph.ask(cypher.EMBEDDINGS, refs=list(map(str, unscored)))) if unscored else {}
    return _all_of(by_words, near | rest, at)


def _all_of(by_words: Mapping[int, float], similarity: Mapping[int, float], at: Mapping[int, Spot]) -> list[Candidate]:
    found = sorted(by_words.keys() | similarity.keys())
    if not found:
        return []
    scores = (map(each.get, found, repeat(0.0)) for each in (by_words, similarity))
    rows = zip(found, *scores, *zip(*map(at.__getitem__, found), strict=True), strict=True)
    return list(map(tuple.__new__, repeat(Candidate), rows))  # a quarter of the time of one call for each


def _check_dimension(graph: GraphHandle, vector: bytes) -> None:
    """A query was embedded before: the workspace may have changed its model in between."""
    known = model_from(graph.seen.get("model"))
    if known is not None and known.dimension != len(vector):
        raise other_query_model(known)


def _words_reach(depth: int, ranking: WordRanking) -> int:
    """Return how many of those that the words found are looked at."""
    return 2 * depth_of(depth, ranking.chunks)


def _first_look(
    graph: GraphHandle, ranking: WordRanking, vectors: VectorSet, query: str, vector: bytes, reach: int
) -> _Known:
    seen = graph.seen
    counting = [graph.question(text, **values) for text, values in ranking.asked(query)]
    files, facts = graph.question(cypher.COUNT_FILES), graph.question(cypher.COUNT_RELATIONS)
    expiry = graph.question(cypher.FIRST_EXPIRY)
    look = vectors.look_near(seen["generation"], vector, reach)
    lacking = graph.question(look.lacking[0], **look.lacking[1])
    asked = [*counting, facts, files, expiry, lacking, *look.commands]
    replies = graph.look(seen["revision"], asked, steady=[*counting[:2], facts, files, expiry, lacking])
    *counts, _, ((code,),), ((first,),), behind = [rows_of(reply) for reply in replies[: len(counting) + 4]]
    words = ranking.words_for(query, counts)
    near = vectors.nearest(look, behind, replies[len(counting) + 4 :], vector, reach)
    hidden = frozenset(row[0] for row in counts[1]) if counts else frozenset[int]()
    return _Known(seen["revision"], words, hidden, first, code > 0, *near)


def _second_look(
    graph: GraphHandle, known: _Known, vector: bytes, where: Where, reach: int, at: dict[int, Spot], *, of_all: bool
) -> _Seen:
    """All of it at one moment. `of_all` says that no memory need be looked at, which would take twice as long; where
    all chunks are near it is done all the same, for then nothing is left to be asked about them."""
    matching = [_matching(known.words, None if of_all else where, reach)] if known.words else []
    alone = of_all and not known.all_of_them
    judging = [(cypher.NEAR_OF_ALL, {"refs": list(map(str, known.near))})] if alone else _judging(known.near, where)
    ((revision,),), *rows = graph.ask_together((gc_cypher.REVISION, {}), *matching, *judging)
    terms = _matched(graph, rows.pop(0), at) if matching else {}
    if of_all and known.hidden:
        terms = {key: text for key, text in terms.items() if key not in known.hidden}
    near = _near_alone(graph, vector, known.hidden, rows[0], at) if alone else _near(graph, vector, rows, at)
    return _Seen(revision, terms, near)


def _all_pass(filters: Filters, known: _Known) -> bool:
    """Return whether all chunks pass but hidden ones, if these were asked for, and none is code."""
    return bool(known.words) and not known.any_code and _asks_for_nothing(filters, known)


def _asks_for_nothing(filters: Filters, known: _Known) -> bool:
    """Return whether only hidden chunks fail; the role of a file is looked at later."""
    back, first = filters.held_back or HeldBack(), known.first_expiry
    any_expired = first is not None and back.expired_by is not None and first <= back.expired_by
    if back.tiers or any_expired or (filters.include_stale and known.hidden):
        return False
    asked = replace(filters.asked, include_stale=False, include_expired=False, role=None, include_tests=True)
    return asked == Filters()


def _look_again(graph: GraphHandle, vectors: VectorSet, vector: bytes, reach: int) -> tuple[list[int], bool]:
    look = vectors.look_near(graph.seen["generation"], vector, reach)
    (lacking,) = graph.ask_all(look.lacking)
    return vectors.nearest(look, lacking, graph.link.read_all(look.commands), vector, reach)


def _matching(words: Mapping[str, int], where: Where | None, reach: int) -> Query:
    """Return the query for what the words find among all chunks, or among those that pass."""
    asked: dict[str, Any] = {"words": any_of(list(words)), "reach": reach}
    return (cypher.BEST_OF_ALL, asked) if where is None else (cypher.best_of(where[0]), {**asked, **where[1]})


def _matched(graph: GraphHandle, rows: Sequence[Row], at: dict[int, Spot]) -> dict[int, str]:
    """The terms of what the words found, by key; where each is goes into `at`."""
    ((keys, texts, spots),) = rows
    terms = dict(zip(map(int, keys.split(" ")), texts.split("|"), strict=True)) if keys else {}
    terms.pop(-1, None)
    at |= dict.fromkeys(terms, _ANYWHERE) | _spots(graph, spots)
    return terms


def _judging(keys: Sequence[int], where: Where) -> list[Query]:
    """Return the queries for those that are live and pass, and for their vectors."""
    return [(cypher.live_of(where[0]), {"keys": keys, **where[1]}), (cypher.EMBEDDINGS, {"refs": list(map(str, keys))})]


def _by_words(
    graph: GraphHandle,
    ranking: WordRanking,
    query: str,
    words: dict[str, int],
    where: Where,
    depth: int,
    terms: dict[int, str],
    at: dict[int, Spot],
) -> dict[int, float]:
    """The best of the full text that pass; looks further only where many of the best do not."""
    reach = 2 * depth
    while len(terms) < depth and sum(words.values()) > reach:
        reach *= 8
        (rows,) = graph.ask_all(_matching(words, where, reach))
        terms = _matched(graph, rows, at)
    return _highest(ranking.scores(query, words, terms), depth)


def _highest(scores: Mapping[int, float], count: int) -> dict[int, float]:
    """So many of them; of equals, those with the lower key."""
    return {key: -score for score, key in sorted(zip(map(neg, scores.values()), scores, strict=True))[:count]}


def _near(graph: GraphHandle, query: bytes, rows: Sequence[list[Row]], at: dict[int, Spot]) -> dict[int, float]:
    """The cosines of those that are live and pass."""
    live, embeddings = rows
    at |= _spots(graph, live)
    passing = {row[0] for row in live}
    return {key: score for key, score in cosines(query, embeddings).items() if key in passing and score > 0}


def _near_alone(
    graph: GraphHandle, query: bytes, hidden: Collection[int], rows: Sequence[Row], at: dict[int, Spot]
) -> dict[int, float]:
    """The same where all pass but those that are hidden."""
    ((*_, spots),) = rows
    near = {key: score for key, score in cosines(query, rows).items() if key not in hidden and score > 0}
    at |= dict.fromkeys(near, _ANYWHERE) | _spots(graph, spots)
    return near


def _spots(graph: GraphHandle, rows: Sequence[Row]) -> dict[int, Spot]:
    """By key; what does not say which memory it is of is no code."""
    tiers = origins.tiers_of(graph, {row[5] for row in rows if len(row) > 3})
    found: dict[int, Spot] = {}
    for key, stream, position, *owner in rows:
        place = None if stream is None else place_at(stream, position)
        found[key] = (place, owner[1] is not None, owner_of(tiers, *owner)) if owner else (place, False, None)
    return found
