"""A memory that has text and no chunks is found again: the doctor cuts, embeds and indexes it anew."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memsweep.app import App, Memory
from memsweep.model.text import content_hash
from tests.support.commands import Ran
from tests.support.engines import on_every_engine
from tests.support.inside import store_of

TEXTS = ["the heron stands in the river", "long " + "word and another word. " * 700 + "at last an otter", "emoji 🦦"]


def lose_chunks(memory: Memory) -> None:
    """As damage would: the memories stay, and nothing that was cut from them."""
    store: Any = store_of(memory)
    if hasattr(store, "path"):
        with store._pool.writing() as db:
            db.execute("insert into chunk_fts (chunk_fts) values ('delete-all')")
            for table in ("mention", "vector", "chunk"):
                db.execute(f"delete from {table}")
        return
    graph = store._graph
    for query in ("MATCH (c:Chunk) DETACH DELETE c", "MATCH (e:Embedding) DELETE e"):
        graph.link.change(graph.name, query)
    store._vectors.forget(graph.meta()["generation"])


def found(memory: Memory) -> dict[str, bool]:
    return {each.invariant: each.repaired for each in memory.care.doctor().findings}


@on_every_engine
def test_memories_without_chunks_get_theirs_again(memory: Memory) -> None:
    ids = [memory.remember(text, tags=["t"]).memory_id for text in TEXTS]
    before = {uid: memory.get(uid) for uid in ids}
    lose_chunks(memory)
    assert memory.search("heron").hits == ()
    assert "memory_without_chunks" in found(memory)
    assert memory.care.doctor(repair=True).left == ()
    assert found(memory) == {}
    after = {uid: memory.get(uid) for uid in ids}
    assert {uid: (each.text, each.tags, each.chunk_count, each.version) for uid, each in after.items()} == {
        uid: (each.text, each.tags, each.chunk_count, each.version) for uid, each in before.items()
    }
    for query, uid in zip(("heron river", "otter at last", "emoji 🦦"), ids, strict=True):
        assert memory.search(query, limit=1).hits[0].passage.memory_id == uid
    assert memory.sweep.plan("empty_memories").item_count == 0


@on_every_engine
def test_a_code_file_is_found_again_and_read_anew_by_the_next_run(memory: Memory, tmp_path: Path) -> None:
    root = tmp_path / "r"
    root.mkdir()
    (root / "birds.py").write_text("def heron():\n    return 'river'\n\n\ndef otter():\n    return 'bank'\n")
    memory.code.index(root)
    symbols = {hit.passage.code.symbol for hit in memory.search("heron otter").hits if hit.passage.code}
    lose_chunks(memory)
    assert memory.care.doctor(repair=True).left == ()
    assert memory.search("heron").hits[0].passage.code
    assert memory.code.index(root).files_indexed == 1
    assert {hit.passage.code.symbol for hit in memory.search("heron otter").hits if hit.passage.code} == symbols
    assert found(memory) == {}


def test_without_repair_the_advice_is_to_repair_and_nothing_to_throw_away(app: App, run: Callable[..., Ran]) -> None:
    memory = app.memory()
    memory.remember(TEXTS[0])
    lose_chunks(memory)
    told = run("doctor", "--json").json["findings"]
    assert [(each["invariant"], each["next_step"]) for each in told if "memory" in each["invariant"]] == [
        ("memory_without_chunks", "memsweep doctor --repair")
    ]
    assert run("doctor", "--repair", "--json").json["healthy"] is True
    assert run("search", "heron", "--json").json["results"][0]["text"] == TEXTS[0]


def test_a_memory_whose_text_is_gone_too_stays_a_persons_decision(memory: Memory) -> None:
    memory.remember(TEXTS[0])
    store: Any = store_of(memory)
    lose_chunks(memory)
    with store._pool.writing() as db:
        db.execute("update memory set text = ' ', content_hash = ?", (content_hash(" "),))
    left = memory.care.doctor(repair=True).left
    assert [each.invariant for each in left] == ["memory_without_text"]


@pytest.mark.parametrize("times", [1, 2])
def test_repairing_twice_cuts_once(memory: Memory, times: int) -> None:
    uid = memory.remember(TEXTS[1]).memory_id
    wanted = memory.get(uid).chunk_count
    lose_chunks(memory)
    for _ in range(times):
        memory.care.doctor(repair=True)
    assert memory.get(uid).chunk_count == wanted
