"""What only a graph can have: words, indexes and a vector set beside the nodes. The doctor finds and mends them."""

import functools
from collections.abc import Callable, Iterator
from typing import Any, cast

import numpy as np
import pytest

from memsweep.errors import MemsweepError, StoreCorrupt
from memsweep.services.memory import Memory
from memsweep.store.falkor import cypher, structure
from memsweep.store.falkor.structure import SCHEMA
from memsweep.store.falkor.transaction import GraphHandle
from tests.support.inside import store_of
from tests.support.waiting import wait_for

pytestmark = pytest.mark.parametrize("engine_kind", ["falkor"])


def graph_of(memory: Memory) -> GraphHandle:
    return cast(GraphHandle, cast(Any, store_of(memory))._graph)


def spoken_of(graph: GraphHandle, word: str) -> int:
    """In how many chunks the full text has a word."""
    return sum(count for _, count in graph.ask(cypher.COUNT_EACH, words=[word]))


def findings(memory: Memory) -> set[str]:
    return {finding.invariant for finding in memory.care.doctor().findings}


def test_words_that_a_chunk_does_not_say_are_said_again(memory: Memory) -> None:
    memory.remember("The heron stands in the river.")
    graph = graph_of(memory)
    graph.link.change(graph.name, "MATCH (c:Chunk) SET c.terms = 'otter'")
    assert findings(memory) == {"words_differ"}
    assert memory.care.doctor(repair=True).left == ()
    assert spoken_of(graph, "heron") == 1
    assert findings(memory) == set()


def test_a_set_with_as_many_vectors_but_others_is_made_again(memory: Memory) -> None:
    """As one whose counts agree: one of nothing in the graph, in the place of another."""
    for text in ("The heron stands in the river.", "The otter swims.", "The newest is not in the set yet."):
        memory.remember(text)
    graph, link = graph_of(memory), graph_of(memory).link
    name = f"{graph.name}:vectors:0"
    first, second = (int(key) for key in link.read("VRANDMEMBER", name, 10))
    link.write("VADD", name, "FP32", np.ones(link.read("VDIM", name), np.float32).tobytes(), 999, "Q8")
    assert findings(memory) == {"vector_file_differs"}
    link.write("VREM", name, str(first))
    assert findings(memory) == {"vector_file_differs"}
    assert memory.care.doctor(repair=True).left == ()
    assert {first, second} < set(map(int, link.read("VRANDMEMBER", name, 10)))
    assert findings(memory) == set()


def test_a_vector_that_does_not_fit_keeps_no_other_out_of_the_set(memory: Memory) -> None:
    memory.remember("The heron stands in the river.")
    otter = memory.remember("The otter swims.").memory_id
    graph = graph_of(memory)
    graph.link.change(graph.name, "MATCH (e:Embedding) WITH e ORDER BY e.key DESC LIMIT 1 SET e.data = 'AAAA'")
    memory.pin(otter)  # so that the next writer reads what the one before it left behind
    memory.remember("The kingfisher waits.")
    memory.remember("The newest is not in the set yet.")
    assert graph.link.read("VCARD", f"{graph.name}:vectors:0") == 2


@pytest.mark.parametrize(
    "drop",
    ["DROP INDEX ON :Memory(content_hash)", "CALL db.idx.fulltext.drop('Chunk')"],
)
def test_an_index_that_is_gone_is_made_again(memory: Memory, drop: str) -> None:
    memory.remember("The heron stands in the river.")
    graph = graph_of(memory)
    graph.link.change(graph.name, drop)
    wait_for(lambda: structure.missing(graph), "the server drops an index")
    assert findings(memory) == {"structure_changed"}
    mended = memory.care.doctor(repair=True)
    assert (mended.left, mended.notes) == ((), ())
    assert memory.remember("The heron stands in the river.").duplicate_of
    wait_for(lambda: spoken_of(graph, "heron") == 1, "the server fills an index")
    assert findings(memory) == set()


def test_a_graph_of_an_earlier_version_gets_what_a_search_goes_by(memory: Memory) -> None:
    memory.remember("The heron stands in the river.")
    memory.graph.relate("The build", "RUNS_ON", "Jenkins")
    memory.graph.relate("ÉCOLE Normale", "RUNS_ON", "Moodle")
    link, name = graph_of(memory).link, graph_of(memory).name
    link.change(name, "MATCH (c:Chunk) SET c.length = NULL")
    link.change(name, "MATCH ()-[r:RELATED_TO]->() SET r.told = NULL")
    link.change(name, "CALL db.idx.fulltext.drop('Entity')")
    link.change(name, "MATCH (w:Workspace) SET w.schema = $schema", schema=SCHEMA - 1)
    wait_for(lambda: structure.missing(graph_of(memory)), "the server drops an index")
    memory.close()
    found = {hit.passage.text for query in ("runs", "école") for hit in memory.search(query).hits}
    assert found == {"The build runs on Jenkins", "ÉCOLE Normale runs on Moodle"}
    assert graph_of(memory).ask(cypher.MEASURE_CHUNKS) == [[1, 6]]
    assert findings(memory) == set()


DAMAGES = {
    "no time": "MATCH (m:Memory {ref: $bad}) SET m.created_at = NULL",
    "a time out of time": f"MATCH (m:Memory {{ref: $bad}}) SET m.created_at = {2**62}",
    "a time that is text": "MATCH (m:Memory {ref: $bad}) SET m.updated_at = 'oops'",
    "no hash": "MATCH (m:Memory {ref: $bad}) SET m.content_hash = 'zz'",
    "no id": "MATCH (m:Memory {ref: $bad}) SET m.id = NULL",
    "no tags": "MATCH (m:Memory {ref: $bad}) SET m.tags = NULL",
    "tags that are text": "MATCH (m:Memory {ref: $bad}) SET m.tags = 'oops'",
    "tags that are numbers": "MATCH (m:Memory {ref: $bad}) SET m.tags = [1, 2]",
    "metadata that is no JSON": "MATCH (m:Memory {ref: $bad}) SET m.metadata = '{'",
    "metadata that is a list": "MATCH (m:Memory {ref: $bad}) SET m.metadata = '[]'",
    "a version below one": "MATCH (m:Memory {ref: $bad}) SET m.version = 0",
    "no text": "MATCH (m:Memory {ref: $bad}) SET m.text = 5",
    "a piece without text": "MATCH (:Memory {ref: $bad})-[:HAS_CHUNK]->(c) SET c.text = NULL",
    "no vector": "MATCH (:Memory {ref: $bad})-[:HAS_CHUNK]->(c) MATCH (e:Embedding {ref: c.ref}) SET e.data = '!'",
    "a name that is none": "MATCH (e:Entity) SET e.created_at = 'oops', e.confidence = 7",
    "a fact without weight": "MATCH ()-[r:RELATED_TO]->() SET r.weight = 'heavy', r.last_seen = 'oops'",
    "an event at no time": "MATCH (e:AuditEvent) SET e.at = 'oops', e.counts = '{'",
    "a link at no time": "MATCH ()-[s:SUPERSEDES]->() SET s.at = 'oops'",
    "a segment of no kind": "MATCH (s:Segment) SET s.type = 'song', s.tags = 5",
    "a window without counts": "MATCH (p:Project) SET p.tokens = 'many', p.config = '['",
}


NOTES = {"kind": "memory"}


@pytest.fixture
def filled(memory: Memory) -> Memory:
    old = memory.remember("The heron stands in the lake.").memory_id
    memory.remember("The heron stands in the river.", tags=["bird"], metadata={"n": 1}, supersedes=[old])
    memory.remember("Ada knows Grace, says the other one.", tags=["people"], entities=["Ada", "Grace"])
    memory.graph.relate("Ada", "knows", "Grace")
    memory.pin(memory.search("Ada", filters=NOTES).hits[0].passage.memory_id)
    memory.context("w").add([{"segment_id": "s1", "text": "a talk", "type": "message"}])
    return memory


@pytest.mark.parametrize("case", DAMAGES)
def test_a_damaged_property_is_a_sentence_named_and_mended(filled: Memory, case: str) -> None:
    graph = graph_of(filled)
    good, bad = (
        filled.search(query, filters=NOTES).hits[0].passage.memory_id for query in ("Ada knows Grace", "heron river")
    )
    before = filled.get(good)
    ((ref,),) = graph.ask("MATCH (m:Memory {id: $id}) RETURN m.ref", id=bad)
    graph.link.change(graph.name, DAMAGES[case].replace("$bad", f"'{ref}'"))
    for door in doors(filled, [good, bad]):
        try:
            door()
        except StoreCorrupt as error:
            assert "doctor" in str(error)  # noqa: PT017
        except MemsweepError:
            pass
    if "Entity" not in DAMAGES[case]:
        assert filled.get(good).text == before.text
    if "Embedding" in DAMAGES[case]:
        assert findings(filled) & {"value_damaged", "vector_misfit", "chunk_without_vector"}
    else:
        assert "value_damaged" in findings(filled)
    repaired = filled.care.doctor(repair=True)
    assert (repaired.left, repaired.notes) == ((), ())
    assert findings(filled) == set()
    after = filled.get(good)
    assert (after.text, after.tags, after.metadata, after.created_at) == (
        (before.text, before.tags, before.metadata, before.created_at)
    )
    assert filled.search("Ada knows").hits


def doors(memory: Memory, ids: list[str]) -> Iterator[Callable[[], object]]:
    for own in ids:
        yield functools.partial(memory.get, own)
        yield functools.partial(memory.sweep.explain, own)
    for query in ("Ada heron", ""):
        yield functools.partial(memory.search, query)
    yield from (
        memory.stats,
        memory.sweep.audit,
        memory.sweep.trash,
        memory.graph.entities,
        memory.graph.dump,
        memory.graph.status,
    )
    yield functools.partial(memory.sweep.plan, "all")
    yield from (memory.context("w").segments, memory.context("w").analyze, memory.contexts)
