"""What only a graph can have: words, indexes and a vector set beside the nodes. The doctor finds and mends them."""

from __future__ import annotations

from typing import Any, cast

import pytest

from memsweep.memory import Memory
from memsweep.store.falkor import cypher, structure
from memsweep.store.falkor.transaction import Graph
from tests.support import falkor
from tests.support.waiting import wait_for

pytestmark = [
    pytest.mark.skipif(not falkor.can_run(), reason="falkordblite needs Python 3.12"),
    pytest.mark.parametrize("engine_kind", ["falkor"]),
]


def graph_of(memory: Memory) -> Graph:
    return cast(Graph, cast(Any, memory._app.engine.open("default")).graph._graph)


def spoken_of(graph: Graph, word: str) -> int:
    """In how many chunks the full text has a word."""
    return sum(count for _, count in graph.ask(cypher.COUNT_EACH, words=[word]))


def findings(memory: Memory) -> set[str]:
    return {finding.invariant for finding in memory.doctor().findings}


def test_words_that_a_chunk_does_not_say_are_said_again(memory: Memory) -> None:
    memory.add("The heron stands in the river.")
    graph = graph_of(memory)
    graph.link.change(graph.name, "MATCH (c:Chunk) SET c.terms = 'otter'")
    assert findings(memory) == {"words_differ"}
    assert memory.doctor(repair=True).left == ()
    assert spoken_of(graph, "heron") == 1
    assert findings(memory) == set()


@pytest.mark.parametrize(
    "drop",
    ["DROP INDEX ON :Memory(content_hash)", "CALL db.idx.fulltext.drop('Chunk')"],
)
def test_an_index_that_is_gone_is_made_again(memory: Memory, drop: str) -> None:
    memory.add("The heron stands in the river.")
    graph = graph_of(memory)
    graph.link.change(graph.name, drop)
    wait_for(lambda: structure.missing(graph), "the server drops an index")
    assert findings(memory) == {"structure_changed"}
    mended = memory.doctor(repair=True)
    assert (mended.left, mended.notes) == ((), ())
    assert memory.add("The heron stands in the river.").duplicate_of
    wait_for(lambda: spoken_of(graph, "heron") == 1, "the server fills an index")
    assert findings(memory) == set()


@pytest.mark.parametrize("damage", ["created_at = NULL", "content_hash = 'zz'", "id = NULL"])
def test_a_node_that_cannot_be_what_it_is_is_said(memory: Memory, damage: str) -> None:
    memory.add("The heron stands in the river.")
    graph = graph_of(memory)
    graph.link.change(graph.name, f"MATCH (m:Memory) SET m.{damage}")
    assert findings(memory) == {"file_damaged"}
