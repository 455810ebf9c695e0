"""Reading what the collector's rules must see, at one moment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, TypeVar

from memsweep.model.contribution import stands_alone
from memsweep.model.likeness import WordGroups
from memsweep.model.plan import Survey, SurveyedEntity, SurveyedMemory, SurveyedRelation, spoken_of
from memsweep.model.reach import spanning, without_root
from memsweep.model.times import last_seen
from memsweep.store.falkor import cypher, gc_cypher, superseding_cypher
from memsweep.store.falkor.rows import FalkorRows
from memsweep.store.falkor.transaction import GraphHandle, Transaction
from memsweep.store.falkor.wire import Row
from memsweep.store.falkor.words import any_of, having
from memsweep.store.items import Items, reads_edges, reads_entities, reads_unmentioned_only

_ATTEMPTS = 5
_PAGE = 1_000
_AT_ONCE = 4
Result = TypeVar("Result")


def at_one_moment(graph: GraphHandle, read: Callable[[GraphHandle | Transaction], Result]) -> Result:
    """Several reads between which nobody wrote; if somebody always does, they have to wait."""
    for _ in range(_ATTEMPTS):
        before = graph.ask(gc_cypher.REVISION)
        result = read(graph)
        if graph.ask(gc_cypher.REVISION) == before:
            return result
    with graph.writing() as tx:
        return read(tx)


def pages(asked: GraphHandle | Transaction, query: str, **wanted: Sequence[Any]) -> Iterator[Row]:
    """The rows for a long list, some of it at a time; the server is at the next pages while one is read."""
    ((name, values),) = wanted.items()
    questions = [(query, {name: values[start : start + _PAGE]}) for start in range(0, len(values), _PAGE)]
    for start in range(0, len(questions), _AT_ONCE):
        for answer in asked.ask_all(*questions[start : start + _AT_ONCE]):
            yield from answer


class FalkorItems(Items):
    """Items of a graph, with what the collector's rules must see."""

    def __init__(self, asked: GraphHandle | Transaction) -> None:
        super().__init__(FalkorRows(asked))
        self._asked = asked

    def survey(self, needs: Collection[str], missing_files: Collection[int] = ()) -> Survey:
        if isinstance(self._asked, GraphHandle):
            return at_one_moment(self._asked, lambda asked: _survey(asked, needs, missing_files))
        return _survey(self._asked, needs, missing_files)

    def survey_of(self, memories: Collection[int], entities: Collection[int] = ()) -> Survey:
        return _survey_of(self._asked, memories, entities)

    def count_words(self, words: Collection[str]) -> dict[str, int]:
        asked = {word: said for word in words if (said := any_of([word]))}
        rows = self._asked.ask(cypher.COUNT_EACH, words=list(asked.values())) if asked else []
        counts: dict[str, int] = dict(map(tuple, rows))
        return {word: counts.get(asked.get(word, ""), 0) for word in words}

    def with_words(self, words: WordGroups, *, in_pieces: bool = False) -> set[int]:
        said = gc_cypher.IN_PIECES if in_pieces else gc_cypher.WITH_ANY_WORD
        return {key for (key,) in self._asked.ask(said, words=having(words.needed, words.groups))}


def _survey(asked: GraphHandle | Transaction, needs: Collection[str], missing_files: Collection[int] = ()) -> Survey:
    knowledge = reads_entities(needs)
    mentions = [(memory, entity) for memory, entity in asked.ask(gc_cypher.MENTIONS)] if knowledge else []
    standing, stated = _edges(asked, needs) if reads_edges(needs) else ([], [])
    entities, edges = _graph(asked, needs, standing, spoken_of(mentions, stated)) if knowledge else ([], [])
    return Survey(
        memories=_memories(asked),
        chunk_counts=dict(map(tuple, asked.ask(gc_cypher.CHUNK_COUNTS))) if "chunk counts" in needs else {},
        lone_chunks=[(key, memory) for key, memory in asked.ask(gc_cypher.LONE_CHUNKS)]
        if "lone chunks" in needs
        else (),
        entities=entities,
        edges=edges,
        stated=stated,
        mentions=mentions,
        relations=_relations(asked) if "relations" in needs else (),
        texts=dict(map(tuple, asked.ask(gc_cypher.TEXTS))) if "texts" in needs else {},
        missing_files=frozenset(missing_files),
        supersessions=[(old, new, at) for old, new, at in asked.ask(superseding_cypher.LINKS)]
        if "supersessions" in needs
        else (),
    )


def _survey_of(asked: GraphHandle | Transaction, memories: Collection[int], entities: Collection[int]) -> Survey:
    """The part of it that is about these alone."""
    of_memories, of_entities = {"keys": sorted(memories)}, {"keys": sorted(entities)}
    rows, scopes, chunks, links, things, mentions, edges = asked.ask_all(
        (gc_cypher.MEMORIES_OF, of_memories),
        (gc_cypher.SCOPES, {}),
        (gc_cypher.CHUNK_COUNTS_OF, of_memories),
        (superseding_cypher.LINKS_OF, of_memories),
        (gc_cypher.THESE_ENTITIES, of_entities),
        (gc_cypher.MENTIONS_OF, of_entities),
        (gc_cypher.EDGES_AT, of_entities),
    )
    told = asked.ask(gc_cypher.STATEMENTS_OF, relations=[row[2] for row in edges]) if edges else []
    verified: dict[int | None, int] = dict(map(tuple, scopes))
    notes = Counter(relation for _, relation, is_note, _ in told if is_note)
    statements = [(memory, relation) for memory, relation, _, is_live in told if is_live]
    alone = {key for _, _, key, given, evidence, *_ in edges if stands_alone(given, evidence, notes[key])}
    ends = {row[2]: (row[0], row[1]) for row in edges}
    held = {relation for _, relation in statements}
    return Survey(
        memories=[_memory(row, verified) for row in rows],
        chunk_counts=dict(map(tuple, chunks)),
        supersessions=sorted((old, new, at) for old, new, at in links),
        entities=[SurveyedEntity(*row) for row in things],
        mentions=[(memory, entity) for memory, entity in mentions],
        edges=[pair for key, pair in ends.items() if key in alone or key not in held],
        stated=[(memory, *ends[relation]) for memory, relation in statements if relation not in alone],
        relations=[
            SurveyedRelation(key, version, subject, target, weight, seen, ended, key in held)
            for subject, target, key, _, _, version, weight, seen, ended in edges
        ],
    )


def _graph(
    asked: GraphHandle | Transaction, needs: Collection[str], standing: list[tuple[int, int]], spoken: set[int]
) -> tuple[list[SurveyedEntity], list[tuple[int, int]]]:
    """Return entities and relations. Who asks for ways gets every relation; others only what they connect."""
    if reads_unmentioned_only(needs):
        every = [key for (key,) in asked.ask(gc_cypher.ENTITY_KEYS)]
        keys, edges = without_root(every, standing, spoken)
        return [SurveyedEntity(*row) for row in pages(asked, gc_cypher.THESE_ENTITIES, keys=keys)], edges
    entities = [SurveyedEntity(*row) for row in asked.ask(gc_cypher.ENTITIES)]
    return entities, standing if "ways" in needs else spanning([entity.key for entity in entities], standing)


def _memories(asked: GraphHandle | Transaction) -> list[SurveyedMemory]:
    rows, scopes = asked.ask_all((gc_cypher.MEMORIES, {}), (gc_cypher.SCOPES, {}))
    verified: dict[int | None, int] = dict(map(tuple, scopes))
    return [_memory(row, verified) for row in rows]


def _memory(row: Row, verified: dict[int | None, int]) -> SurveyedMemory:
    key, version, is_code, stale, pinned, created, seen, expires, digest, is_file, scope, alone = row
    if is_file:
        seen = last_seen(created, seen, stale=stale, verified_at=verified.get(scope) or alone)
    return SurveyedMemory(key, version, is_code, stale, pinned, created, seen, expires, bytes.fromhex(digest))


def _relations(asked: GraphHandle | Transaction) -> list[SurveyedRelation]:
    rows, statements = asked.ask_all((gc_cypher.RELATION_ROWS, {}), (gc_cypher.STATEMENTS, {}))
    stated = {relation for _, relation in statements}
    return [SurveyedRelation._make((*row, row[0] in stated)) for row in rows]


def _edges(
    asked: GraphHandle | Transaction, needs: Collection[str]
) -> tuple[list[tuple[int, int]], list[tuple[int, int, int]]]:
    """Relations that stand by themselves, and those that stand as long as a memory states them."""
    rows: list[Any] = asked.ask(gc_cypher.EDGES)
    stated: list[tuple[int, int, int]] = []
    if "statements" in needs:
        of_live, of_trashed = gc_cypher.live_and_trashed(gc_cypher.STATEMENTS_OF_NOTES)
        statements, live, trashed = asked.ask_all((gc_cypher.STATEMENTS, {}), (of_live, {}), (of_trashed, {}))
        notes = Counter[int](dict(map(tuple, live))) + Counter(dict(map(tuple, trashed)))
        alone = {key for _, _, key, given, evidence in rows if stands_alone(given, evidence, notes[key])}
        ends = {key: (subject, target) for subject, target, key, *_ in rows if key not in alone}
        stated = [(memory, *ends[relation]) for memory, relation in statements if relation in ends]
        held = {relation for _, relation in statements}
        rows = [row for row in rows if row[2] in alone or row[2] not in held]
    return [(subject, target) for subject, target, *_ in rows], stated
