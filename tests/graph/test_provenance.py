"""Facts that say which memory they come from."""

import pytest

from memsweep.errors import NotFound
from memsweep.services.memory import Memory
from tests.support.engines import on_every_engine


@on_every_engine
def test_a_fact_names_the_memory_that_it_comes_from(memory: Memory) -> None:
    added = memory.remember("Ada wrote the first program.")
    memory.graph.relate("Ada", "WROTE", "Program", source=added.memory_id)
    memory.graph.relate_many(
        {"relations": [{"from": "Ada", "to": "Program", "relation": "KNOWS", "source": added.memory_id}]}
    )
    memory.graph.relate("Ada", "LIKES", "Program")
    told = {"WROTE": (added.memory_id,), "KNOWS": (added.memory_id,), "LIKES": ()}
    assert {edge.relation: edge.sources for edge in memory.graph.related("Ada").walk.edges} == told
    with pytest.raises(NotFound, match="mem_unknown"):
        memory.graph.relate("Ada", "HATES", "Program", source="mem_unknown")
    receipt = memory.delete(added.memory_id, confirm=True)
    assert {edge.relation: edge.sources for edge in memory.graph.related("Ada").walk.edges} == {"LIKES": ()}
    memory.sweep.undo(receipt.id)
    assert {edge.relation: edge.sources for edge in memory.graph.related("Ada").walk.edges} == told


@on_every_engine
def test_a_memory_is_the_source_of_what_was_told_beside_it(memory: Memory) -> None:
    fact = {"from": "Ada", "to": "Program", "relation": "WROTE"}
    first = memory.remember("She wrote it.", relations=[fact])
    second = memory.remember("It was hers.", relations=[fact, {**fact, "relation": "KNOWS"}])
    again = memory.remember("She wrote it.", relations=[{**fact, "relation": "LIKES"}])
    assert again.duplicate_of == first.memory_id
    ids = first.memory_id, second.memory_id
    told = {"WROTE": {*ids}, "KNOWS": {ids[1]}, "LIKES": {ids[0]}}
    assert _sources(memory) == told
    receipt = memory.delete(first.memory_id, confirm=True)
    assert _sources(memory) == {"WROTE": {ids[1]}, "KNOWS": {ids[1]}}, "what only the first stated went with it"
    memory.sweep.undo(receipt.id)
    assert _sources(memory) == told
    assert memory.care.doctor().findings == ()


def _sources(memory: Memory) -> dict[str, set[str]]:
    return {edge.relation: set(edge.sources) for edge in memory.graph.related("Ada").walk.edges}
