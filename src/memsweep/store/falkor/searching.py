"""Finding chunks by words and by meaning."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from memsweep.model.code import CodePlace
from memsweep.model.search import Candidate, Filters, Passage, Place
from memsweep.model.times import from_micros
from memsweep.store.falkor import cypher
from memsweep.store.falkor.ranking import Ranking
from memsweep.store.falkor.transaction import Graph
from memsweep.store.falkor.vectors import VectorSet, cosines
from memsweep.store.falkor.words import any_of

Where = tuple[str, dict[str, Any]]


def candidates(
    graph: Graph,
    ranking: Ranking,
    vectors: VectorSet,
    generation: int,
    query: str,
    vector: bytes,
    filters: Filters,
    depth: int,
) -> list[Candidate]:
    where = _where(graph, filters)
    by_words = _by_words(graph, ranking, query, where, depth)
    near = _nearest(graph, vectors, generation, vector, where, depth)
    found = sorted(set(by_words) | near.keys())
    unscored = [key for key in found if key not in near]
    embeddings, places = graph.ask_all(
        (cypher.EMBEDDINGS, {"keys": unscored}),
        (cypher.PLACES, {"keys": found}),
    )
    similarity = near | cosines(vector, embeddings)
    at = {key: Place(stream, position) for key, stream, position in places}
    return [Candidate(key, by_words.get(key, 0.0), similarity.get(key, 0.0), at.get(key)) for key in found]


def newest(graph: Graph, filters: Filters, limit: int) -> list[Candidate]:
    where, values = _where(graph, filters)
    return [Candidate(key, 0.0, 0.0, None) for (key,) in graph.ask(cypher.newest(where), limit=limit, **values)]


def at_places(graph: Graph, places: Iterable[Place], filters: Filters) -> dict[Place, int]:
    where, values = _where(graph, filters)
    wanted = [list(place) for place in places]
    rows = graph.ask(cypher.at_places(where), places=wanted, **values)
    return {Place(stream, position): key for key, stream, position in rows}


def passages(graph: Graph, keys: Sequence[int]) -> dict[int, Passage]:
    return {row[0]: _passage(*row) for row in graph.ask(cypher.PASSAGES, keys=list(keys))}


def _by_words(graph: Graph, ranking: Ranking, query: str, where: Where, depth: int) -> dict[int, float]:
    """The best of the full text that pass; looks further only where many of the best do not."""
    words = ranking.words_for(query)
    if not words:
        return {}
    reach = 2 * depth
    while True:
        rows = graph.ask(cypher.match_words(where[0]), words=any_of(list(words)), reach=reach, **where[1])
        passing = dict(map(tuple, rows))
        if len(passing) >= depth or sum(words.values()) <= reach:
            scores = ranking.scores(words, passing)
            return dict(sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:depth])
        reach *= 8


def _nearest(
    graph: Graph, vectors: VectorSet, generation: int, query: bytes, where: Where, depth: int
) -> dict[int, float]:
    """The closest chunks that are live and pass, with their cosines."""
    reach = 2 * depth
    while True:
        keys, all_of_them = vectors.nearest(generation, query, reach)
        passing, embeddings = graph.ask_all(
            (cypher.live_of(where[0]), {"keys": keys, **where[1]}), (cypher.EMBEDDINGS, {"keys": keys})
        )
        live = {key for (key,) in passing}
        near = {key: score for key, score in cosines(query, embeddings).items() if key in live and score > 0}
        if len(near) >= depth or all_of_them:
            best = sorted(near, key=lambda key: (-near[key], key))[:depth]
            return {key: near[key] for key in best}
        reach *= 8


def _where(graph: Graph, filters: Filters) -> Where:
    if filters.path is None:
        return cypher.condition(filters, None)
    wanted, whole = filters.path.rstrip("/"), filters.path.startswith("/")
    rows = graph.ask(cypher.CODE_PLACES)
    places = ((key, f"{root.rstrip('/')}/{path}" if whole else path) for key, root, path in rows)
    return cypher.condition(filters, [key for key, place in places if cypher.path_matches(place, wanted)])


def _passage(
    key: int,
    chunk: str,
    memory: str,
    text: str,
    first_line: int,
    last_line: int,
    source: str,
    tags: list[str],
    created_at: int,
    thread: str | None,
    stale: bool,
    pinned: bool,
    *code: Any,
) -> Passage:
    return Passage(
        key=key,
        chunk_id=chunk,
        memory_id=memory,
        text=text,
        first_line=first_line,
        last_line=last_line,
        source=source,
        tags=tuple(tags),
        created_at=from_micros(created_at),
        thread_id=thread,
        stale=stale,
        pinned=pinned,
        code=_code_place(*code),
    )


def _code_place(
    path: str | None, root: str, language: str, symbol: str, kind: str, verified_at: int | None
) -> CodePlace | None:
    if path is None:
        return None
    verified = None if verified_at is None else from_micros(verified_at)
    return CodePlace(path, f"{root.rstrip('/')}/{path}", language, symbol, kind, verified)
