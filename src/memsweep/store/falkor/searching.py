"""Finding chunks by words and by meaning."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from memsweep.model.code import CODE_RELATIONS
from memsweep.model.code_place import code_place
from memsweep.model.origin import stored_origin
from memsweep.model.search import (
    Candidate,
    FactWords,
    Filters,
    HeldBack,
    Kind,
    Owner,
    Passage,
    Place,
    Statement,
    place_at,
    statement,
    stream_and_position,
)
from memsweep.model.times import from_micros
from memsweep.store.falkor import cypher, graph_cypher, origin_cypher, origins
from memsweep.store.falkor.ranking import Ranking
from memsweep.store.falkor.transaction import GraphHandle
from memsweep.store.falkor.vectors import VectorSet, cosines
from memsweep.store.falkor.wire import Query, Row, rows_of
from memsweep.store.falkor.words import any_of
from memsweep.store.file.words import depth_of
from memsweep.store.stored import expect

_LAST_LETTER = "\U0010ffff"  # comes behind every other
Where = tuple[str, dict[str, Any]]
Spots = dict[int, tuple[Place | None, bool, Owner]]  # by key: its place, whether it is code, where it is from


def candidates(
    graph: GraphHandle, ranking: Ranking, vectors: VectorSet, query: str, vector: bytes, filters: Filters, depth: int
) -> list[Candidate]:
    """Three times there and back: what both ways must know, what they find, the vectors of what only words found."""
    where = _where(graph, filters)
    reach = depth + depth // 4  # of those that are near nearly all pass
    words, keys, all_of_them = _first_look(graph, ranking, vectors, query, vector, reach)
    deep = depth_of(depth, ranking.chunks)
    matching = [_matching(words, where, 2 * deep)] if words else []
    *matches, live, embeddings = graph.ask_together(*matching, *_judging(keys, where))
    at: Spots = {}
    by_words = _by_words(graph, ranking, words, where, deep, matches[0], at) if words else {}
    near = _near(vector, live, embeddings, at)
    while len(near) < depth and not all_of_them:
        reach *= 8
        keys, all_of_them = _look_again(graph, vectors, vector, reach)
        live, embeddings = graph.ask_together(*_judging(keys, where))
        near = _near(vector, live, embeddings, at)
    near = dict(sorted(near.items(), key=lambda item: (-item[1], item[0]))[:depth])
    unscored = sorted(by_words.keys() - near.keys())
    rest = graph.ask(cypher.EMBEDDINGS, refs=list(map(str, unscored))) if unscored else []
    similarity = near | cosines(vector, rest)
    found = sorted(by_words.keys() | near.keys())
    return [Candidate(key, by_words.get(key, 0.0), similarity.get(key, 0.0), *at[key]) for key in found]


def newest(graph: GraphHandle, filters: Filters, limit: int) -> list[Candidate]:
    where, values = _where(graph, filters)
    return [Candidate(key, 0.0, 0.0, None) for (key,) in graph.ask(cypher.newest(where), limit=limit, **values)]


def at_places(graph: GraphHandle, places: Iterable[Place], filters: Filters) -> dict[Place, int]:
    where, values = _where(graph, filters)
    wanted = [list(stream_and_position(place)) for place in places]
    rows = graph.ask(cypher.at_places(where), places=wanted, **values)
    return {place_at(stream, position): key for key, stream, position in rows}


def smaller_kind(graph: GraphHandle) -> Kind | None:
    (((everything,),), ((files,),)) = graph.ask_all((cypher.COUNT_EVERY_MEMORY, {}), (cypher.COUNT_FILES, {}))
    if not 0 < files < everything:
        return None
    return "memory" if 2 * files > everything else "code"


def statements_about(graph: GraphHandle, asked: FactWords, *, ended: bool, limit: int) -> list[Statement]:
    given = {
        "named": list(asked.names),
        "begins": "|".join(f"{start}*" for start in asked.names_begin) or _LAST_LETTER,
        "kind_ranges": _ranges(asked.relations_begin),
        "code_kinds": [kind.lower() for kind in sorted(CODE_RELATIONS)],
    }
    return list(map(statement, graph.ask(graph_cypher.STATEMENTS_ABOUT, **given, ended=ended, limit=limit)))


def _ranges(beginnings: Iterable[str]) -> list[list[str]]:
    return [[start, start + _LAST_LETTER] for start in beginnings]


def owners(graph: GraphHandle, keys: Sequence[int]) -> dict[int, Owner]:
    rows = graph.ask(cypher.OWNERS, keys=list(keys))
    return {key: _owner(*rest) for key, *rest in rows}


def _owner(memory: int, path: str | None, tier: str, created_at: int, digest: object) -> Owner:
    """Of a chunk that is damaged there is no digest."""
    try:
        return Owner(memory, path, tier, created_at, bytes.fromhex(digest))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return Owner(memory, path, tier, created_at)


def passages(graph: GraphHandle, keys: Sequence[int]) -> dict[int, Passage]:
    found = {row[0]: _read_passage(row) for row in graph.ask(cypher.PASSAGES, keys=list(keys))}
    return {key: passage for key, passage in found.items() if passage is not None}


def unreadable(graph: GraphHandle, keys: Sequence[int]) -> int:
    return sum(_read_passage(row) is None for row in graph.ask(cypher.PASSAGES, keys=list(keys)))


def _read_passage(row: Row) -> Passage | None:
    """None if it is damaged: the others can still be had."""
    try:
        return _passage(*row)
    except (TypeError, ValueError, ArithmeticError):
        return None


def _first_look(
    graph: GraphHandle, ranking: Ranking, vectors: VectorSet, query: str, vector: bytes, reach: int
) -> tuple[dict[str, int], list[int], bool]:
    """The words to ask for, the keys of what is nearest, and whether those were all."""
    counting = [graph.question(text, **values) for text, values in ranking.asked(query)]
    look = vectors.look_near(graph.seen["generation"], vector, reach)
    lacking = graph.question(look.lacking[0], **look.lacking[1])
    told = graph.look([*counting, lacking, *look.commands], steady=[*counting[:2], lacking])
    rows = [rows_of(reply) for reply in told[: len(counting) + 1]]
    words = ranking.words_for(query, rows[:-1])
    if graph.seen["generation"] == look.generation:
        return words, *vectors.nearest(look, rows[-1], told[len(rows) :], vector, reach)
    return words, *_look_again(graph, vectors, vector, reach)


def _look_again(graph: GraphHandle, vectors: VectorSet, vector: bytes, reach: int) -> tuple[list[int], bool]:
    look = vectors.look_near(graph.seen["generation"], vector, reach)
    (lacking,) = graph.ask_all(look.lacking)
    return vectors.nearest(look, lacking, graph.link.read_all(look.commands), vector, reach)


def _matching(words: Mapping[str, int], where: Where, reach: int) -> Query:
    return cypher.match_words(where[0]), {"words": any_of(list(words)), "reach": reach, **where[1]}


def _judging(keys: Sequence[int], where: Where) -> list[Query]:
    """Which of them are live and pass, and their vectors."""
    return [
        (cypher.live_of(where[0]), {"keys": keys, **where[1]}),
        (cypher.EMBEDDINGS, {"refs": list(map(str, keys))}),
    ]


def _by_words(
    graph: GraphHandle,
    ranking: Ranking,
    words: dict[str, int],
    where: Where,
    depth: int,
    rows: Sequence[Row],
    at: Spots,
) -> dict[int, float]:
    """The best of the full text that pass; looks further only where many of the best do not."""
    reach = 2 * depth
    while len(rows) < depth and sum(words.values()) > reach:
        reach *= 8
        (rows,) = graph.ask_all(_matching(words, where, reach))
    at |= _spots(rows)
    scores = ranking.scores(words, {key: terms for key, *_, terms in rows})
    return dict(sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:depth])


def _near(query: bytes, live: Sequence[Row], embeddings: Sequence[Row], at: Spots) -> dict[int, float]:
    """The cosines of those that are live and pass."""
    at |= _spots(live)
    passing = {row[0] for row in live}
    return {key: score for key, score in cosines(query, embeddings).items() if key in passing and score > 0}


def _spots(rows: Iterable[Row]) -> Spots:
    found: Spots = {}
    for key, stream, position, memory, path, *owner in rows:
        place = None if stream is None else place_at(stream, position)
        found[key] = place, path is not None, _owner(memory, path, *owner[:3])
    return found


def _where(graph: GraphHandle, filters: Filters) -> Where:
    where, values = _asked_for(graph, filters)
    if (back := filters.held_back) is None:
        return where, values
    return f"NOT ({cypher.held_back}) AND {where}", {**values, **held_values(graph, back)}


def _asked_for(graph: GraphHandle, filters: Filters) -> Where:
    by_origin = any(each is not None for each in (filters.tier, filters.client, filters.session))
    accepted = origins.accepted(graph, filters.accept) if by_origin else None
    return cypher.condition(filters, path_keys(graph, filters), accepted)


def path_keys(graph: GraphHandle, filters: Filters) -> list[int] | None:
    """The keys of the files at a path; nothing if none is asked for."""
    if filters.path is None:
        return None
    wanted, whole = filters.path.rstrip("/"), filters.path.startswith("/")
    rows = graph.ask(cypher.CODE_PLACES)
    places = ((key, f"{root.rstrip('/')}/{path}" if whole else path) for key, root, path in rows)
    return [key for key, place in places if cypher.path_matches(place, wanted)]


def count_held_back(graph: GraphHandle, back: HeldBack) -> int:
    return int(graph.ask(cypher.COUNT_HELD_BACK, **held_values(graph, back))[0][0])


def held_values(graph: GraphHandle, back: HeldBack) -> dict[str, Any]:
    keys = [key for key, *said in graph.ask(origin_cypher.EVERY) if stored_origin(*said).tier in back.tiers]
    return {"held_keys": keys, "held_since": -(2**62) if back.since is None else back.since}


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
    seen: int,
    *rest: Any,
) -> Passage:
    expect(str, chunk, memory, text, source, *tags)
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
        last_seen_at=from_micros(seen),
        code=code_place(*rest[6:]),
        origin=stored_origin(*rest[:6]),
    )
