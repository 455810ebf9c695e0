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
from memsweep.store.falkor import cypher, superseding_cypher
from memsweep.store.falkor.rows import FalkorRows
from memsweep.store.falkor.transaction import GraphHandle, Transaction
from memsweep.store.falkor.wire import Row
from memsweep.store.falkor.words import any_of, having
from memsweep.store.items import Items, reads_edges, reads_entities, reads_unmentioned_only
from memsweep.store.things.memories import MEMORY

MEMORIES = """
    MATCH (m:Memory) RETURN m.key, m.version, m.source = 'code_indexer', m.stale, m.pinned, m.created_at,
           m.last_seen_at, m.expires_at, m.content_hash, m.path IS NOT NULL, m.scope, m.verified_at ORDER BY m.key"""
WITH_ANY_WORD = """
    CALL db.idx.fulltext.queryNodes('Chunk', $words) YIELD node
    MATCH (node)<-[:HAS_CHUNK]-(m:Memory) WHERE m.source <> 'code_indexer' RETURN DISTINCT m.key"""
IN_PIECES = """
    CALL db.idx.fulltext.queryNodes('Chunk', $words) YIELD node
    MATCH (node)<-[:HAS_CHUNK]-(m:Memory) WHERE m.source <> 'code_indexer' WITH DISTINCT m
    MATCH (m)-[:HAS_CHUNK]->(c:Chunk) WITH m, count(c) AS chunks WHERE chunks > 1 RETURN m.key"""
SCOPES = "MATCH (s:CodeScope) WHERE s.verified_at IS NOT NULL RETURN s.key, s.verified_at"
CHUNK_COUNTS = "MATCH (m:Memory)-[:HAS_CHUNK]->(c:Chunk) RETURN m.key, count(c)"
LONE_CHUNKS = "MATCH (c:Chunk) WHERE indegree(c, 'HAS_CHUNK') = 0 RETURN c.key, c.memory ORDER BY c.key"
ENTITIES = """
    MATCH (e:Entity) RETURN e.key, e.version, e.type_key, e.pinned, e.handed_in, e.created_at, e.confidence,
        e.last_seen
    ORDER BY e.key"""
ENTITY_KEYS = "MATCH (e:Entity) RETURN e.key ORDER BY e.key"
THESE_ENTITIES = """
    UNWIND $keys AS key MATCH (e:Entity {ref: toString(key)})
    RETURN e.key, e.version, e.type_key, e.pinned, e.handed_in, e.created_at, e.confidence, e.last_seen
    ORDER BY e.key"""
EDGES = "MATCH (s:Entity)-[r:RELATED_TO]->(o:Entity) RETURN s.key, o.key, r.key, r.handed_in, r.evidence ORDER BY r.key"
RELATION_ROWS = """
    MATCH (s:Entity)-[r:RELATED_TO]->(o:Entity)
    RETURN r.key, r.version, s.key, o.key, r.weight, r.last_seen, r.invalid_at ORDER BY r.key"""
# Live or in the trash: the evidence of a relation counts both.
STATEMENTS_OF_NOTES = "MATCH (m:{memory})-[s:STATES]->() WHERE m.source <> 'code_indexer' RETURN s.relation, count(s)"
STATEMENTS = "MATCH (m:Memory)-[s:STATES]->() RETURN m.key, s.relation"
MENTIONS = "MATCH (m:Memory)-[:HAS_CHUNK]->(:Chunk)-[:MENTIONS]->(e:Entity) RETURN DISTINCT m.key, e.key"
TEXTS = "MATCH (m:Memory) WHERE m.source <> 'code_indexer' RETURN m.key, m.text"
_ATTEMPTS = 5
_PAGE = 1_000
_AT_ONCE = 4
Result = TypeVar("Result")


def at_one_moment(graph: GraphHandle, read: Callable[[GraphHandle | Transaction], Result]) -> Result:
    """Several reads between which nobody wrote; if somebody always does, they have to wait."""
    for _ in range(_ATTEMPTS):
        before = graph.ask(cypher.REVISION)
        result = read(graph)
        if graph.ask(cypher.REVISION) == before:
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

    def count_words(self, words: Collection[str]) -> dict[str, int]:
        asked = {word: said for word in words if (said := any_of([word]))}
        rows = self._asked.ask(cypher.COUNT_EACH, words=list(asked.values())) if asked else []
        counts: dict[str, int] = dict(map(tuple, rows))
        return {word: counts.get(asked.get(word, ""), 0) for word in words}

    def with_words(self, words: WordGroups, *, in_pieces: bool = False) -> set[int]:
        said = IN_PIECES if in_pieces else WITH_ANY_WORD
        return {key for (key,) in self._asked.ask(said, words=having(words.needed, words.groups))}


def _survey(asked: GraphHandle | Transaction, needs: Collection[str], missing_files: Collection[int] = ()) -> Survey:
    knowledge = reads_entities(needs)
    mentions = [(memory, entity) for memory, entity in asked.ask(MENTIONS)] if knowledge else []
    standing, stated = _edges(asked, needs) if reads_edges(needs) else ([], [])
    entities, edges = _graph(asked, needs, standing, spoken_of(mentions, stated)) if knowledge else ([], [])
    return Survey(
        memories=_memories(asked),
        chunk_counts=dict(map(tuple, asked.ask(CHUNK_COUNTS))) if "chunk counts" in needs else {},
        lone_chunks=[(key, memory) for key, memory in asked.ask(LONE_CHUNKS)] if "lone chunks" in needs else (),
        entities=entities,
        edges=edges,
        stated=stated,
        mentions=mentions,
        relations=_relations(asked) if "relations" in needs else (),
        texts=dict(map(tuple, asked.ask(TEXTS))) if "texts" in needs else {},
        missing_files=frozenset(missing_files),
        supersessions=[(old, new, at) for old, new, at in asked.ask(superseding_cypher.LINKS)]
        if "supersessions" in needs
        else (),
    )


def _graph(
    asked: GraphHandle | Transaction, needs: Collection[str], standing: list[tuple[int, int]], spoken: set[int]
) -> tuple[list[SurveyedEntity], list[tuple[int, int]]]:
    """Return entities and relations. Who asks for ways gets every relation; others only what they connect."""
    if reads_unmentioned_only(needs):
        every = [key for (key,) in asked.ask(ENTITY_KEYS)]
        keys, edges = without_root(every, standing, spoken)
        return [SurveyedEntity(*row) for row in pages(asked, THESE_ENTITIES, keys=keys)], edges
    entities = [SurveyedEntity(*row) for row in asked.ask(ENTITIES)]
    return entities, standing if "ways" in needs else spanning([entity.key for entity in entities], standing)


def _memories(asked: GraphHandle | Transaction) -> list[SurveyedMemory]:
    rows, scopes = asked.ask_all((MEMORIES, {}), (SCOPES, {}))
    verified: dict[int | None, int] = dict(map(tuple, scopes))
    return [_memory(row, verified) for row in rows]


def _memory(row: Row, verified: dict[int | None, int]) -> SurveyedMemory:
    key, version, is_code, stale, pinned, created, seen, expires, digest, is_file, scope, alone = row
    if is_file:
        seen = last_seen(created, seen, stale=stale, verified_at=verified.get(scope) or alone)
    return SurveyedMemory(key, version, is_code, stale, pinned, created, seen, expires, bytes.fromhex(digest))


def _relations(asked: GraphHandle | Transaction) -> list[SurveyedRelation]:
    rows, statements = asked.ask_all((RELATION_ROWS, {}), (STATEMENTS, {}))
    stated = {relation for _, relation in statements}
    return [SurveyedRelation._make((*row, row[0] in stated)) for row in rows]


def _edges(
    asked: GraphHandle | Transaction, needs: Collection[str]
) -> tuple[list[tuple[int, int]], list[tuple[int, int, int]]]:
    """Relations that stand by themselves, and those that stand as long as a memory states them."""
    rows: list[Any] = asked.ask(EDGES)
    stated: list[tuple[int, int, int]] = []
    if "statements" in needs:
        of_live, of_trashed = (STATEMENTS_OF_NOTES.format(memory=label) for label in MEMORY.labels("any"))
        statements, live, trashed = asked.ask_all((STATEMENTS, {}), (of_live, {}), (of_trashed, {}))
        notes = Counter[int](dict(map(tuple, live))) + Counter(dict(map(tuple, trashed)))
        alone = {key for _, _, key, given, evidence in rows if stands_alone(given, evidence, notes[key])}
        ends = {key: (subject, target) for subject, target, key, *_ in rows if key not in alone}
        stated = [(memory, *ends[relation]) for memory, relation in statements if relation in ends]
        held = {relation for _, relation in statements}
        rows = [row for row in rows if row[2] in alone or row[2] not in held]
    return [(subject, target) for subject, target, *_ in rows], stated
