"""The queries of a search beside its candidates."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import repeat
from operator import neg
from typing import Any, NamedTuple

from memsweep.model.conditions import all_met
from memsweep.model.frozen import replace
from memsweep.model.origin import stored_origin
from memsweep.model.search import (
    Candidate,
    Candidates,
    FactWords,
    FileWords,
    Filters,
    HeldBack,
    Owner,
    Place,
    Statement,
    place_or_none,
    statement,
    stream_and_position,
)
from memsweep.model.workspace import model_from
from memsweep.store.falkor import cypher, graph_cypher, metadata_index, origin_cypher, origins
from memsweep.store.falkor.transaction import GraphHandle
from memsweep.store.falkor.vectors import VectorSet, cosines
from memsweep.store.falkor.wire import Query, Row, rows_of
from memsweep.store.falkor.words import any_of, scores, terms_of_word
from memsweep.store.refusals import other_query_model
from memsweep.store.words import (
    MAX_WORDS,
    SMALL,
    depth_of,
    is_small,
    rare,
    rarest,
    weight_of,
    words_of_heading,
    words_to_find,
)

_LAST_LETTER = "\U0010ffff"  # comes behind every other
Where = tuple[str, dict[str, Any]]


def chunks(graph: GraphHandle, filters: Filters, at: Collection[Place] | None, limit: int) -> dict[int, Place | None]:
    where, values = where_of(graph, filters)
    if at is None:
        rows = graph.ask(cypher.newest(where), limit=limit, **values)
    else:
        rows = graph.ask(cypher.at_places(where), places=[list(stream_and_position(place)) for place in at], **values)
    return {key: place_or_none(stream, position) for key, stream, position in rows}


def file_words(graph: GraphHandle, ranking: WordRanking, query: str, most: int) -> FileWords:
    ((files,),), *counts = graph.ask_all((cypher.COUNT_LIVE_FILES, {}), *ranking.asked(query))
    words = [any_of([word]) for word in rare(ranking.having(query, counts), most)] if files else []
    pieces: dict[str, dict[int, int]] = {word: {} for word in words}
    for word, file, times in graph.ask(cypher.FILES_HAVING, words=words) if words else ():
        pieces[word][file] = times
    return FileWords(files, list(pieces.values()))


def statements_about(
    graph: GraphHandle, asked: FactWords, *, ended: bool, expired_by: int | None, limit: int
) -> list[Statement]:
    ((relations,),) = graph.looked_up(cypher.COUNT_RELATIONS)
    if not relations:
        return []
    given = {
        "named": list(asked.names),
        "begins": "|".join(f"{start}*" for start in asked.names_begin) or _LAST_LETTER,
        "starts": list(asked.names_begin),
        "kind_ranges": [[start, start + _LAST_LETTER] for start in asked.names_begin],
        "forms": list(asked.relations_begin),
    }
    options = {"ended": ended, "expired_by": expired_by, "limit": limit}
    return list(map(statement, graph.ask(graph_cypher.STATEMENTS_ABOUT, **given, **options)))


def owner_of(
    tiers: Mapping[int | None, str], memory: int, path: str | None, origin: int | None, created_at: int, digest: object
) -> Owner:
    """Of a chunk that is damaged there is no digest."""
    try:
        return Owner(memory, path, tiers[origin], created_at, bytes.fromhex(digest))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return Owner(memory, path, tiers[origin], created_at)


def where_of(graph: GraphHandle, filters: Filters) -> Where:
    where, values = _asked_for(graph, filters)
    back = filters.held_back
    if back is not None and back.expired_by is not None:
        where, values = f"NOT {cypher.expired} AND {where}", {**values, "expired_by": back.expired_by}
    if back is not None and back.tiers:
        where, values = f"NOT ({cypher.held_back}) AND {where}", {**values, **held_values(graph, back)}
    return where, values


def _asked_for(graph: GraphHandle, filters: Filters) -> Where:
    by_origin = any(each is not None for each in (filters.tier, filters.client, filters.session))
    accepted = origins.accepted(graph, filters.accept) if by_origin else None
    return cypher.condition(filters, compared_keys(graph, filters), accepted)


def compared_keys(graph: GraphHandle, filters: Filters) -> list[int] | None:
    """Return the keys of memories with what no query compares, paths and metadata; None if neither is asked for."""
    found: list[set[int]] = []
    if filters.path is not None:
        wanted, whole = filters.path.rstrip("/"), filters.path.startswith("/")
        rows = graph.ask(cypher.CODE_PLACES)
        places = ((key, f"{root.rstrip('/')}/{path}" if whole else path) for key, root, path in rows)
        found.append({key for key, place in places if cypher.path_matches(place, wanted)})
    if asked := filters.metadata:
        signs = sorted({sign for each in asked for sign in each.signs})
        among, values = metadata_index.among(asked)
        rows = graph.ask(cypher.metadata_with(among), signs=signs, **values)
        found.append({key for key, kept in rows if all_met(asked, kept)})
    return sorted(set.intersection(*found)) if found else None


def held_values(graph: GraphHandle, back: HeldBack) -> dict[str, Any]:
    keys = [key for key, *said in graph.ask(origin_cypher.EVERY) if stored_origin(*said).tier in back.tiers]
    since = -(2**62) if back.since is None else back.since
    return {"held_keys": keys, "held_since": since, "held_files": back.files}


Spot = tuple[Place | None, bool, Owner | None]  # its place, whether it is code, where it is from if that was said
_ANYWHERE: Spot = None, False, None


class _Known(NamedTuple):
    """The facts at a revision before chunks are looked at: words to ask for, keys of chunks that do not count, the
    first expiry, how many files of code there are, keys of the nearest, whether those are all.
    """

    revision: int
    words: dict[str, int]
    hidden: frozenset[int]
    first_expiry: int | None
    files: int
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
) -> Candidates:
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
    result = Candidates(_all_of(by_words, near | rest, at))
    result.files, result.revision = known.files, f"{graph.name}.{known.revision}"
    return result


def _all_of(
    by_words: Mapping[int, float], similarity: Mapping[int, float], at: Mapping[int, Spot]
) -> Iterable[Candidate]:
    found = sorted(by_words.keys() | similarity.keys())
    if not found:
        return ()
    scores = (map(each.get, found, repeat(0.0)) for each in (by_words, similarity))
    rows = zip(found, *scores, *zip(*map(at.__getitem__, found), strict=True), strict=True)
    return map(tuple.__new__, repeat(Candidate), rows)  # a quarter of the time of one call for each


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
    return _Known(seen["revision"], words, hidden, first, code, *near)


def _second_look(
    graph: GraphHandle, known: _Known, vector: bytes, where: Where, reach: int, at: dict[int, Spot], *, of_all: bool
) -> _Seen:
    """All of it at one moment. `of_all` says that no memory need be looked at, which would take twice as long; where
    all chunks are near it is done all the same, for then nothing is left to be asked about them."""
    matching = [_matching(known.words, None if of_all else where, reach)] if known.words else []
    alone = of_all and not known.all_of_them
    judging = [(cypher.NEAR_OF_ALL, {"refs": list(map(str, known.near))})] if alone else _judging(known.near, where)
    ((revision,),), *rows = graph.ask_together((cypher.REVISION, {}), *matching, *judging)
    terms = _matched(graph, rows.pop(0), at) if matching else {}
    if of_all and known.hidden:
        terms = {key: text for key, text in terms.items() if key not in known.hidden}
    near = _near_alone(graph, vector, known.hidden, rows[0], at) if alone else _near(graph, vector, rows, at)
    return _Seen(revision, terms, near)


def _all_pass(filters: Filters, known: _Known) -> bool:
    """Return whether all chunks pass but hidden ones, if these were asked for, and none is code."""
    return bool(known.words) and not known.files and _asks_for_nothing(filters, known)


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
        place = place_or_none(stream, position)
        found[key] = (place, owner[1] is not None, owner_of(tiers, *owner)) if owner else (place, False, None)
    return found


# The words of a query to ask for, and scores of chunks by them, as the embedded engine has them.
# The server's own score knows neither length nor saturation. It chooses who is looked at; this decides.

_COUNTED = 4 * MAX_WORDS


class WordRanking:
    """The words of one workspace, with how many chunks have each of them."""

    def __init__(self, graph: GraphHandle) -> None:
        self._graph = graph
        self._frequency: dict[str, int] = {}
        self._counted_at = 0
        self._usual = 1.0  # how long a chunk is

    @property
    def chunks(self) -> int:
        """Return how many there were when they were counted last."""
        return self._counted_at

    def asked(self, query: str) -> list[Query]:
        """Return the queries for choosing words: number of chunks, hidden ones, and counts of words not counted yet."""
        words = _askable(query)
        measured = cypher.MEASURE_CHUNKS if self._counted_at < SMALL else cypher.COUNT_CHUNKS
        return [(measured, {}), (cypher.HIDDEN_TERMS, {}), _counting(self._uncounted(words))] if words else []

    def words_for(self, query: str, replies: Sequence[list[Row]]) -> dict[str, int]:
        """The words to ask for, each with the number of chunks that have it and count; of few chunks those as well that
        only others have, which somebody may ask for."""
        known = self._known(query, replies)
        if not known:
            return {}
        live = _live(replies)
        having = known if is_small(live) else {word: count for word, count in known.items() if count}
        return {word: having[word] for word in rarest(having, live, words_of_heading(query))}

    def having(self, query: str, replies: Sequence[list[Row]]) -> dict[str, int]:
        """Return how many chunks have each word of a query; words that none has are left out."""
        return {word: count for word, count in self._known(query, replies).items() if count}

    def _known(self, query: str, replies: Sequence[list[Row]]) -> dict[str, int]:
        """Return how many chunks that count have each word of a query that any chunk has."""
        words = _askable(query)
        if not words:
            return {}
        ((_, *lengths),), hidden, counts = replies
        total = _live(replies)
        if not 0.9 * self._counted_at <= total <= 1.1 * self._counted_at or total < SMALL:
            if self._frequency and len(self._uncounted(words)) < len(words):
                counts = self._graph.ask_all(_counting(words))[0]
            self._frequency, self._counted_at = {}, total
            (length,) = lengths or self._graph.ask(cypher.MEASURE_CHUNKS)[0][1:]
            self._usual = max(1.0, (length - sum(each[2] or 0 for each in hidden)) / max(1, total))
        counted = dict(map(tuple, counts))
        # What nobody has is asked again next time: it may have been added by then.
        self._frequency |= {word: counted[said] for word in words if (said := any_of([word])) in counted}
        uncounted = _each_having([set(terms.split(" ")) for _, terms, _ in hidden], words)
        return {word: max(0, self._frequency[word] - uncounted[word]) for word in words if word in self._frequency}

    def _uncounted(self, words: Sequence[str]) -> list[str]:
        if self._counted_at < SMALL:
            return list(words)
        return [word for word in words if word not in self._frequency]

    def scores(self, query: str, words: dict[str, int], texts: dict[int, str]) -> dict[int, float]:
        """Return how well each chunk answers these words of a query, by key; `texts` are their terms."""
        total = max(1, self._counted_at, *words.values())
        twice = words_of_heading(query)
        weights = {word: weight_of(total, having) * (1 + (word in twice)) for word, having in words.items()}
        return scores(texts, [(weight, terms_of_word(word)) for word, weight in weights.items()], self._usual)


def _live(replies: Sequence[list[Row]]) -> int:
    """Return how many chunks count."""
    ((total, *_),), hidden, _ = replies
    return int(total) - len(hidden)


def _askable(query: str) -> list[str]:
    words = [word for word in words_to_find(query) if terms_of_word(word)]
    return words if len(words) <= _COUNTED else words[: _COUNTED // 2] + words[-_COUNTED // 2 :]


def _each_having(texts: Sequence[set[str]], words: Sequence[str]) -> dict[str, int]:
    """Return how many of some texts, as sets of terms, have each word."""
    return {word: sum(terms.issuperset(terms_of_word(word)) for terms in texts) for word in words}


def _counting(words: Sequence[str]) -> Query:
    return cypher.COUNT_EACH, {"words": [any_of([word]) for word in words]}
