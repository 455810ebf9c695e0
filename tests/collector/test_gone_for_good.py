"""What only a memory stated goes with it: to the trash, or for good. What others state stays."""

from pathlib import Path

import pytest

from memsweep.errors import Conflict
from memsweep.model.graph_rows import RelationChange
from memsweep.report.collector import deleted
from memsweep.services.memory import Memory
from tests.support import contents
from tests.support.engines import on_every_engine
from tests.support.inside import app_of, dump_of, store_of

FACT = {"from": "Zyprexa", "relation": "PRESCRIBED_FOR", "to": "Quillon"}
NAMES = (b"Zyprexa", b"PRESCRIBED_FOR", b"Quillon", b"zyprexa", b"quillon")


def names(memory: Memory) -> set[str]:
    return {entity.name for entity in memory.graph.entities(limit=500)[0]}


def facts(memory: Memory) -> set[tuple[str, str, str]]:
    return set(contents.facts(memory))


@pytest.fixture
def private(memory: Memory) -> str:
    """A memory with an entity and a fact, one end of which is not in its text."""
    memory.remember("Ada keeps the books.", entities=["Ada"])
    said = memory.remember("Ada said something private.", entities=["Ada", "Zyprexa"], relations=[FACT])
    return said.memory_id


@on_every_engine
@pytest.mark.parametrize("forever", [False, True])
def test_what_only_a_memory_stated_goes_with_it(memory: Memory, private: str, forever: bool) -> None:
    gone = memory.delete(private, confirm=True, forever=forever)
    assert names(memory) == {"Ada"}
    assert facts(memory) == set()
    assert {name for name, _ in gone.gone} == {"Zyprexa", "Quillon", "Zyprexa PRESCRIBED_FOR Quillon"}
    assert [name for name, _ in gone.kept] == ["Ada"]
    said = deleted(gone, forever=forever)
    assert "'Zyprexa'" in said["message"]
    assert "'Ada'" in said["message"]
    assert memory.care.doctor().findings == ()


@on_every_engine
def test_undo_brings_it_all_back(memory: Memory, private: str) -> None:
    before = dump_of(memory)
    receipt = memory.delete(private, confirm=True).id
    back = memory.sweep.undo(receipt)
    assert (back.totals.entities, back.totals.relations) == (2, 1)
    assert dump_of(memory) == before


@on_every_engine
def test_a_fact_that_a_merge_put_away_does_not_come_back_without_who_stated_it(memory: Memory, private: str) -> None:
    memory.remember("Zyprexa and Quillon are names.", entities=["Zyprexa", "Quillon"])
    merged = memory.graph.merge(["Zyprexa"], "Quillon").receipt_id
    memory.delete(private, confirm=True, forever=True)
    memory.sweep.undo(str(merged))
    assert facts(memory) == set()
    assert memory.care.doctor().findings == ()


@on_every_engine
@pytest.mark.parametrize("forever", [False, True])
@pytest.mark.parametrize(("gone", "into"), [("Zyprexa", "Ada"), ("Ada", "Zyprexa")])
def test_undoing_a_merge_says_whom_nothing_speaks_of_any_more(
    memory: Memory, private: str, gone: str, into: str, forever: bool
) -> None:
    merged = memory.graph.merge([gone], into).receipt_id
    memory.delete(private, confirm=True, forever=forever)
    alone = memory.sweep.undo(str(merged)).conflicts
    own = {each.name: each.id for each in memory.graph.entities()[0]}
    assert alone == ((own["Zyprexa"], "what spoke of it has gone since the merge"),)


@on_every_engine
def test_an_undo_of_what_was_deleted_for_good_says_so(memory: Memory, private: str) -> None:
    updated = str(memory.update(private, text="Ada said something else.").receipt_id)
    memory.delete(private, confirm=True, forever=True)
    with pytest.raises(Conflict, match="the memory that it changed was deleted for good"):
        memory.sweep.undo(updated)


@on_every_engine
def test_what_another_memory_states_stays(memory: Memory, private: str) -> None:
    memory.remember("The same again, in other words.", relations=[FACT])
    gone = memory.delete(private, confirm=True, forever=True)
    assert facts(memory) == {("Zyprexa", "PRESCRIBED_FOR", "Quillon")}
    assert {name for name, _ in gone.kept} == {"Ada", "Zyprexa", "Quillon", "Zyprexa PRESCRIBED_FOR Quillon"}
    assert gone.gone == ()


@on_every_engine
def test_what_somebody_stated_by_itself_stays(memory: Memory, private: str) -> None:
    memory.graph.relate("Zyprexa", "PRESCRIBED_FOR", "Quillon")
    memory.delete(private, confirm=True, forever=True)
    assert facts(memory) == {("Zyprexa", "PRESCRIBED_FOR", "Quillon")}
    memory.sweep.prune("all", confirm=True, allow_large=True)
    assert {"Zyprexa", "Quillon"} <= names(memory)


@on_every_engine
def test_a_fact_that_came_from_a_memory_goes_with_that_memory(memory: Memory) -> None:
    note = memory.remember("Something private about them.").memory_id
    for _ in range(2):
        memory.graph.relate("Zyprexa", "PRESCRIBED_FOR", "Quillon", source=note)
    memory.delete(note, confirm=True)
    assert facts(memory) == set()


@on_every_engine
def test_telling_it_twice_or_mentioning_it_again_keeps_nothing(memory: Memory, private: str) -> None:
    memory.remember("Ada said something private.", entities=["Ada", "Zyprexa"], relations=[FACT])
    other = memory.remember("Zyprexa was prescribed for Quillon.").memory_id
    for uid in (private, other):
        memory.delete(uid, confirm=True, forever=True)
    assert facts(memory) == set()
    assert names(memory) == {"Ada"}


@on_every_engine
def test_of_two_memories_the_last_takes_it_along(memory: Memory, private: str) -> None:
    other = memory.remember("In other words.", relations=[FACT]).memory_id
    memory.delete(private, confirm=True, forever=True)
    memory.delete(other, confirm=True, forever=True)
    assert facts(memory) == set()
    assert names(memory) == {"Ada"}
    assert memory.care.doctor().findings == ()


@on_every_engine
def test_a_live_memory_keeps_what_it_states_though_its_text_does_not_name_it(memory: Memory, private: str) -> None:
    memory.sweep.prune("all", confirm=True, allow_large=True)
    assert facts(memory) == {("Zyprexa", "PRESCRIBED_FOR", "Quillon")}


@on_every_engine
def test_what_version_1_wrote_goes_too(memory: Memory, private: str) -> None:
    """There the facts of a memory were given explicitly as well, and an end outside the text had no mention."""
    store = store_of(memory)
    with store.collector.changing() as tx:
        found = [tx.entities.find(name) for name in ("Zyprexa", "Quillon")]
        rows = tx.entities.at([key for key in found if key is not None])
        relations = tx.relations.touching(rows)
        mentions = tx.mentions.of([found[1]] if found[1] is not None else [])
        tx.mentions.drop(mentions)
        tx.entities.set([row._replace(explicit=True) for row in rows.values()])
        tx.relations.write([RelationChange(each, each._replace(explicit=True)) for each in relations])
    memory.delete(private, confirm=True)
    assert facts(memory) == set()
    assert names(memory) == {"Ada"}


def test_nothing_of_it_is_in_the_files(memory: Memory, private: str) -> None:
    home = app_of(memory).settings.home
    memory.search("private")
    assert any(name in _bytes(home) for name in NAMES)
    memory.delete(private, confirm=True, forever=True)
    left = _bytes(home)
    assert [name for name in NAMES if name in left] == []


def test_a_purge_leaves_nothing_of_it_in_the_files_either(memory: Memory, private: str) -> None:
    home = app_of(memory).settings.home
    memory.delete(private, confirm=True)
    assert b"Zyprexa" in _bytes(home)
    memory.sweep.purge(0, confirm=True)
    left = _bytes(home)
    assert [name for name in NAMES if name in left] == []


def _bytes(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


@on_every_engine
def test_backups_made_earlier_are_named_and_not_touched(memory: Memory, private: str, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    memory.care.backup(copy)
    before = copy.read_bytes()
    gone = memory.delete(private, confirm=True, forever=True)
    assert gone.notes == (f"Backups made earlier may still have it: {copy}.",)
    assert str(copy) in deleted(gone, forever=True)["message"]
    assert copy.read_bytes() == before
    other = memory.remember("one more").memory_id
    assert memory.delete(other, confirm=True).notes == ()
    assert memory.sweep.purge(0, confirm=True).notes == gone.notes
    assert memory.sweep.purge(0, confirm=True).notes == ()
