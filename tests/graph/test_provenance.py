"""Facts that say which memory they come from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memsweep.app import App
from memsweep.errors import NotFound
from memsweep.memory import Memory
from memsweep.settings import load_settings


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[Memory]:
    app = App(load_settings({"MEMSWEEP_HOME": str(tmp_path)}))
    yield app.memory()
    app.close()


def test_a_fact_names_the_memory_that_it_comes_from(graph: Memory) -> None:
    added = graph.add("Ada wrote the first program.")
    graph.relate("Ada", "WROTE", "Program", source=added.memory_id)
    graph.relate_many({"relations": [{"from": "Ada", "to": "Program", "relation": "KNOWS", "source": added.memory_id}]})
    graph.relate("Ada", "LIKES", "Program")
    told = {"WROTE": (added.memory_id,), "KNOWS": (added.memory_id,), "LIKES": ()}
    assert {edge.relation: edge.sources for edge in graph.related("Ada").walk.edges} == told
    with pytest.raises(NotFound, match="mem_unknown"):
        graph.relate("Ada", "HATES", "Program", source="mem_unknown")
    receipt = graph.delete(added.memory_id, confirm=True)
    assert {edge.relation: edge.sources for edge in graph.related("Ada").walk.edges} == dict.fromkeys(told, ())
    graph.undo(receipt.id)
    assert {edge.relation: edge.sources for edge in graph.related("Ada").walk.edges} == told
