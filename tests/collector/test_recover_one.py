"""One entity or one fact comes back from the trash with what it needs, or it is said what stands in the way."""

import pytest

from memsweep.collector import collect
from memsweep.errors import Conflict, NotFound
from memsweep.services.memory import Memory
from tests.graph.test_merge_undo import rows
from tests.support.engines import on_every_engine


def cleared(memory: Memory) -> str:
    memory.graph.relate("Ada", "OWNS", "Engine")
    memory.graph.relate("Ada", "KNOWS", "Grace")
    memory.graph.relate("Grace", "WROTE", "COBOL")
    return memory.sweep.clear(collect.CLEAR_PHRASE).id


def item(memory: Memory, table: str, name: str) -> str:
    column = "relation" if table == "relation" else "name"
    return next(key for key, row in rows(memory)[table].items() if row[column] == name)


def facts(memory: Memory, name: str) -> list[str]:
    return sorted(edge.relation for edge in memory.graph.related(name).walk.edges)


@on_every_engine
def test_a_fact_comes_back_with_its_two_names_and_no_other_fact(memory: Memory) -> None:
    receipt = cleared(memory)
    before = rows(memory)
    knows = item(memory, "relation", "KNOWS")
    back = memory.sweep.recover(knows)
    assert (back.totals.entities, back.totals.relations, back.conflicts) == (2, 1, ())
    assert facts(memory, "Ada") == ["KNOWS"]
    with pytest.raises(NotFound, match="not in the trash"):
        memory.sweep.recover(knows)
    assert memory.sweep.receipt(receipt).state == "partly undone"
    memory.sweep.undo(receipt)
    assert {key for key, row in rows(memory)["relation"].items() if row["trash"] is None} == before["relation"].keys()
    assert memory.care.doctor().findings == ()


@on_every_engine
def test_a_name_comes_back_with_the_facts_that_can_stand(memory: Memory) -> None:
    cleared(memory)
    ada, grace = (item(memory, "entity", name) for name in ("Ada", "Grace"))
    assert memory.sweep.recover(ada).totals.relations == 0
    assert memory.sweep.recover(grace).totals.relations == 1, "Ada is there, COBOL is not"
    assert facts(memory, "Ada") == ["KNOWS"]
    assert memory.care.doctor().findings == ()


@on_every_engine
def test_what_exists_again_is_said_and_nothing_is_changed(memory: Memory) -> None:
    cleared(memory)
    old = {name: item(memory, *name) for name in (("entity", "Ada"), ("relation", "OWNS"))}
    memory.graph.relate("Ada", "OWNS", "Engine")
    before = rows(memory)
    with pytest.raises(Conflict, match=f"its name is that of {memory.graph.related('Ada').start.id} by now"):
        memory.sweep.recover(old["entity", "Ada"])
    with pytest.raises(Conflict, match="the same relation exists again"):
        memory.sweep.recover(old["relation", "OWNS"])
    assert rows(memory) == before


@on_every_engine
def test_a_fact_of_a_memory_in_the_trash_waits_for_it(memory: Memory) -> None:
    note = memory.remember("Ada owns the Engine.", entities=["Ada", "Engine"]).memory_id
    fact = memory.graph.relate("Ada", "OWNS", "Engine", source=note).relations[0].id
    memory.delete(note, confirm=True)
    with pytest.raises(Conflict, match=f"recover_memory with {note} brings both back"):
        memory.sweep.recover(fact)
    memory.sweep.recover(note)
    assert facts(memory, "Ada") == ["OWNS"]


@on_every_engine
def test_what_a_merge_put_away_comes_back_with_the_merge(memory: Memory) -> None:
    memory.graph.relate("Ada", "OWNS", "Engine")
    fact = memory.graph.relate("Countess", "OWNS", "Engine").relations[0].id
    countess = memory.graph.related("Countess").start.id
    merged = memory.graph.merge(["Countess"], "Ada").receipt_id
    for each in (fact, countess):
        with pytest.raises(Conflict, match="a merge put it away") as refused:
            memory.sweep.recover(each)
        assert merged in refused.value.hint


@on_every_engine
def test_an_indexed_file_in_the_trash_is_known_by_its_path(memory: Memory, tmp_path) -> None:
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "a b.py").write_text("def one():\n    return 1\n")
    memory.code.index(folder)
    memory.sweep.clear(collect.CLEAR_PHRASE)
    found, _ = memory.sweep.trash(limit=50)
    assert {each.path for each in found if each.kind == "memory"} == {"a b.py"}
    assert {each.path for each in found if each.kind != "memory"} <= {""}
