"""Facts that say which memory they come from."""

from __future__ import annotations

import pytest

from memsweep.errors import NotFound
from memsweep.memory import Memory
from tests.support.engines import on_every_engine


@on_every_engine
def test_a_fact_names_the_memory_that_it_comes_from(memory: Memory) -> None:
    added = memory.add("Ada wrote the first program.")
    memory.relate("Ada", "WROTE", "Program", source=added.memory_id)
    memory.relate_many(
        {"relations": [{"from": "Ada", "to": "Program", "relation": "KNOWS", "source": added.memory_id}]}
    )
    memory.relate("Ada", "LIKES", "Program")
    told = {"WROTE": (added.memory_id,), "KNOWS": (added.memory_id,), "LIKES": ()}
    assert {edge.relation: edge.sources for edge in memory.related("Ada").walk.edges} == told
    with pytest.raises(NotFound, match="mem_unknown"):
        memory.relate("Ada", "HATES", "Program", source="mem_unknown")
    receipt = memory.delete(added.memory_id, confirm=True)
    assert {edge.relation: edge.sources for edge in memory.related("Ada").walk.edges} == dict.fromkeys(told, ())
    memory.undo(receipt.id)
    assert {edge.relation: edge.sources for edge in memory.related("Ada").walk.edges} == told
