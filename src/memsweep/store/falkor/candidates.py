"""Finding chunks by words and by meaning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from memsweep.model.frozen import replace
from memsweep.model.search import Candidate, Filters, Owner, Place, place_at
from memsweep.store.falkor import cypher, gc_cypher, origins
from memsweep.store.falkor.ranking import Ranking
from memsweep.store.falkor.searching import Where, owner_of, where_of
from memsweep.store.falkor.transaction import GraphHandle
from memsweep.store.falkor.vectors import VectorSet, cosines
from memsweep.store.falkor.wire import Query, Row, rows_of
from memsweep.store.falkor.words import any_of
from memsweep.store.file.words import depth_of

Spot = tuple[Place | None, bool, Owner | None]  # its place, whether it is code, where it is from if that was said
_ANYWHERE: Spot = None, False, None


class _Known(NamedTuple):
    """What is known at a revision, before chunks are looked at: the words to ask for, the keys of chunks that do not
    count, whether there is code, the keys of what is nearest, and whether those are all."""

    revision: int
    words: dict[str, int]
    hidden: frozenset[int]
    any_code: bool
    near: list[int]
    all_of_them: bool


class _Seen(NamedTuple):
    """What was looked at: the terms of what the words found, what is near and passes, the vectors of that."""

    terms: dict[int, str]
    live: list[Row]
    embeddings: list[Row]


def candidates(
    graph: GraphHandle, ranking: Ranking, vectors: VectorSet, query: str, vector: bytes, filters: Filters, depth: int
) -> list[Candidate]:
    """Three times there and back: what both ways must know, what they find, the vectors of what only words found."""
    where = where_of(graph, filters)
    reach = depth + depth // 4  # of those that are near nearly all pass
    known = _first_look(graph, ranking, vectors, query, vector, reach)
    deep = depth_of(depth, ranking.chunks)
    at: dict[int, Spot] = {}
    terms, live, embeddings = _second_look(graph, known, filters, where, 2 * deep, at)
    by_words = _by_words(graph, ranking, known.words, where, deep, terms, at)
    near = _near(graph, vector, live, embeddings, at)
    all_of_them = known.all_of_them
    while len(near) < depth and not all_of_them:
        reach *= 8
        keys, all_of_them = _look_again(graph, vectors, vector, reach)
        live, embeddings = graph.ask_together(*_judging(keys, where))
        near = _near(graph, vector, live, embeddings, at)
    near = dict(sorted(near.items(), key=lambda item: (-item[1], item[0]))[:depth])
    unscored = sorted(by_words.keys() - near.keys())
    rest = graph.ask(cypher.EMBEDDINGS, refs=list(map(str, unscored))) if unscored else []
    similarity = near | cosines(vector, rest)
    found = sorted(by_words.keys() | near.keys())
    return [Candidate(key, by_words.get(key, 0.0), similarity.get(key, 0.0), *at[key]) for key in found]


def _first_look(
    graph: GraphHandle, ranking: Ranking, vectors: VectorSet, query: str, vector: bytes, reach: int
) -> _Known:
    counting = [graph.question(text, **values) for text, values in ranking.asked(query)]
    files, facts = graph.question(cypher.COUNT_FILES), graph.question(cypher.COUNT_RELATIONS)
    look = vectors.look_near(graph.seen["generation"], vector, reach)
    lacking = graph.question(look.lacking[0], **look.lacking[1])
    asked = [*counting, facts, files, lacking, *look.commands]
    seen, replies = graph.look(asked, steady=[*counting[:2], facts, files, lacking])
    *counts, _, ((code,),), behind = [rows_of(reply) for reply in replies[: len(counting) + 3]]
    words = ranking.words_for(query, counts)
    if seen["generation"] == look.generation:
        near = vectors.nearest(look, behind, replies[len(counting) + 3 :], vector, reach)
    else:
        near = _look_again(graph, vectors, vector, reach)
    hidden = frozenset(row[0] for row in counts[1]) if counts else frozenset[int]()
    return _Known(seen["revision"], words, hidden, code > 0, *near)


def _second_look(
    graph: GraphHandle, known: _Known, filters: Filters, where: Where, reach: int, at: dict[int, Spot]
) -> _Seen:
    """All of it at one moment.

    Where all chunks pass but those that are known not to count, and none is code, the words need not ask for the
    memories, which would take twice as long; unless something was written since the first look.
    """
    if not known.words:
        return _Seen({}, *graph.ask_together(*_judging(known.near, where)))
    of_all = not known.any_code and _asks_for_nothing(filters, known)
    matching = _matching(known.words, None if of_all else where, reach)
    ((revision,),), matches, *rest = graph.ask_together(
        (gc_cypher.REVISION, {}), matching, *_judging(known.near, where)
    )
    if of_all and revision != known.revision:
        (matches,) = graph.ask_all(_matching(known.words, where, reach))
    terms = _matched(graph, matches, at)
    return _Seen({key: text for key, text in terms.items() if key not in known.hidden} if of_all else terms, *rest)


def _asks_for_nothing(filters: Filters, known: _Known) -> bool:
    """Whether only what is hidden does not pass; the role of a file is looked at later."""
    if filters.include_stale and known.hidden:
        return False
    return replace(filters, include_stale=False, role=None, include_tests=True) == Filters()


def _look_again(graph: GraphHandle, vectors: VectorSet, vector: bytes, reach: int) -> tuple[list[int], bool]:
    look = vectors.look_near(graph.seen["generation"], vector, reach)
    (lacking,) = graph.ask_all(look.lacking)
    return vectors.nearest(look, lacking, graph.link.read_all(look.commands), vector, reach)


def _matching(words: Mapping[str, int], where: Where | None, reach: int) -> Query:
    """What the words find among all chunks, or among those that pass."""
    asked: dict[str, Any] = {"words": any_of(list(words)), "reach": reach}
    return (cypher.BEST_OF_ALL, asked) if where is None else (cypher.best_of(where[0]), {**asked, **where[1]})


def _matched(graph: GraphHandle, rows: Sequence[Row], at: dict[int, Spot]) -> dict[int, str]:
    """The terms of what the words found, by key; where each is goes into `at`."""
    ((found, spots),) = rows
    lines = (line.partition(" ") for line in found.split("|")) if found else ()
    terms = {int(key): text for key, _, text in lines}
    at |= dict.fromkeys(terms, _ANYWHERE) | _spots(graph, spots)
    return terms


def _judging(keys: Sequence[int], where: Where) -> list[Query]:
    """Which of them are live and pass, and their vectors."""
    return [(cypher.live_of(where[0]), {"keys": keys, **where[1]}), (cypher.EMBEDDINGS, {"refs": list(map(str, keys))})]


def _by_words(
    graph: GraphHandle,
    ranking: Ranking,
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
    scores = ranking.scores(words, terms)
    return dict(sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:depth])


def _near(
    graph: GraphHandle, query: bytes, live: Sequence[Row], embeddings: Sequence[Row], at: dict[int, Spot]
) -> dict[int, float]:
    """The cosines of those that are live and pass."""
    at |= _spots(graph, live)
    passing = {row[0] for row in live}
    return {key: score for key, score in cosines(query, embeddings).items() if key in passing and score > 0}


def _spots(graph: GraphHandle, rows: Sequence[Row]) -> dict[int, Spot]:
    """By key; what does not say which memory it is of is no code."""
    tiers = origins.tiers_of(graph, {row[5] for row in rows if len(row) > 3})
    found: dict[int, Spot] = {}
    for key, stream, position, *owner in rows:
        place = None if stream is None else place_at(stream, position)
        found[key] = (place, owner[1] is not None, owner_of(tiers, *owner)) if owner else (place, False, None)
    return found
