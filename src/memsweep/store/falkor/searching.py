"""The queries of a search beside its candidates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from memsweep.model.conditions import all_met
from memsweep.model.origin import stored_origin
from memsweep.model.search import (
    Candidate,
    FactWords,
    FileWords,
    Filters,
    HeldBack,
    Kind,
    Owner,
    Passages,
    Place,
    Statement,
    place_at,
    statement,
    stream_and_position,
)
from memsweep.store.falkor import cypher, graph_cypher, origin_cypher, origins
from memsweep.store.falkor.ranking import WordRanking
from memsweep.store.falkor.rows import queries_of, viewed
from memsweep.store.falkor.transaction import GraphHandle
from memsweep.store.falkor.words import any_of
from memsweep.store.file.words import rare
from memsweep.store.rows import Show
from memsweep.store.views import PIECE, passage_of

_LAST_LETTER = "\U0010ffff"  # comes behind every other
Where = tuple[str, dict[str, Any]]


def newest(graph: GraphHandle, filters: Filters, limit: int) -> list[Candidate]:
    where, values = where_of(graph, filters)
    return [Candidate(key, 0.0, 0.0, None) for (key,) in graph.ask(cypher.newest(where), limit=limit, **values)]


def at_places(graph: GraphHandle, places: Iterable[Place], filters: Filters) -> dict[Place, int]:
    where, values = where_of(graph, filters)
    wanted = [list(stream_and_position(place)) for place in places]
    rows = graph.ask(cypher.at_places(where), places=wanted, **values)
    return {place_at(stream, position): key for key, stream, position in rows}


def smaller_kind(graph: GraphHandle) -> Kind | None:
    ((files,),) = graph.looked_up(cypher.COUNT_FILES)
    ((everything,),) = graph.ask(cypher.COUNT_EVERY_MEMORY) if files else [[0]]
    if not 0 < files < everything:
        return None
    return "memory" if 2 * files > everything else "code"


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


def owners(graph: GraphHandle, keys: Sequence[int]) -> dict[int, Owner]:
    rows = graph.ask(cypher.OWNERS, keys=list(keys))
    tiers = origins.tiers_of(graph, {row[3] for row in rows})
    return {key: owner_of(tiers, *rest) for key, *rest in rows}


def owner_of(
    tiers: Mapping[int | None, str], memory: int, path: str | None, origin: int | None, created_at: int, digest: object
) -> Owner:
    """Of a chunk that is damaged there is no digest."""
    try:
        return Owner(memory, path, tiers[origin], created_at, bytes.fromhex(digest))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return Owner(memory, path, tiers[origin], created_at)


def passages(graph: GraphHandle, keys: Sequence[int]) -> Passages:
    found, read = Passages(), viewed(PIECE)[2]
    asked = queries_of(Show(PIECE, (("key", "in", keys),)))
    for row in graph.ask_all(*asked)[0] if asked else ():
        try:
            found[row[0]] = passage_of(read(row))
        except (TypeError, ValueError, ArithmeticError):  # the others can still be had
            found.damaged += 1
    return found


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
        rows = graph.ask(cypher.METADATA_WITH, signs=signs)
        found.append({key for key, kept in rows if all_met(asked, kept)})
    return sorted(set.intersection(*found)) if found else None


def held_values(graph: GraphHandle, back: HeldBack) -> dict[str, Any]:
    keys = [key for key, *said in graph.ask(origin_cypher.EVERY) if stored_origin(*said).tier in back.tiers]
    since = -(2**62) if back.since is None else back.since
    return {"held_keys": keys, "held_since": since, "held_files": back.files}
