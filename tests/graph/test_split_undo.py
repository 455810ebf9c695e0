"""A split is an act like the others: its receipt takes it back exactly, and says what cannot go back."""

import pytest

from memsweep.errors import BadInput, Conflict
from memsweep.services.memory import Memory
from tests.graph.test_merge_undo import rows
from tests.support.engines import on_every_engine


@pytest.fixture
def note(memory: Memory) -> str:
    note = memory.remember("Mercury orbits the Sun.", entities=["Mercury", "Sun"]).memory_id
    memory.graph.relate("Mercury", "ORBITS", "Sun", source=note)
    memory.graph.relate("Mercury", "IS_A", "metal")
    return note


def fact(memory: Memory, kind: str) -> str:
    return next(key for key, row in rows(memory)["relation"].items() if row["relation"] == kind)


def split(memory: Memory, note: str, name: str = "Planet") -> str:
    return memory.graph.unmerge("Mercury", name, relations=[fact(memory, "ORBITS")], memories=[note]).receipt_id


@on_every_engine
def test_undo_takes_a_split_back_exactly(memory: Memory, note: str) -> None:
    before = rows(memory)
    looked = memory.graph.unmerge("Mercury", "Planet", memories=[note], dry_run=True)
    assert (looked.id, looked.receipt_id, looked.mentions) == ("", "", 1)
    assert rows(memory) == before, "a look moves nothing"
    receipt = split(memory, note)
    found = memory.sweep.receipt(receipt)
    assert (found.action, found.state, found.totals.relations) == ("unmerge", "applied", 1)
    undone = memory.sweep.undo(receipt)
    assert (undone.conflicts, undone.totals.relations) == ((), 1)
    assert rows(memory) == before
    assert memory.sweep.receipt(receipt).state == "undone"
    with pytest.raises(Conflict, match="undone already"):
        memory.sweep.undo(receipt)
    assert memory.care.doctor().findings == ()


@on_every_engine
def test_what_came_since_stays_and_is_said(memory: Memory, note: str) -> None:
    receipt = split(memory, note)
    memory.graph.relate("Planet", "HAS", "craters")
    ((said, why),) = memory.sweep.undo(receipt).conflicts
    assert said == memory.graph.related("Planet").start.id
    assert "what came to it since" in why
    assert [each.name for each in memory.graph.related("Planet").entities] == ["craters"]
    assert {each.name for each in memory.graph.related("Mercury").entities} == {"Sun", "metal"}


@on_every_engine
def test_a_fact_that_was_stated_again_is_not_doubled(memory: Memory, note: str) -> None:
    receipt = split(memory, note)
    again = memory.graph.relate("Mercury", "ORBITS", "Sun").relations[0].id
    ((_, why),) = memory.sweep.undo(receipt).conflicts
    assert again in why
    assert memory.care.doctor().findings == ()
    assert [each.name for each in memory.graph.related("Planet").entities] == ["Sun"]


@on_every_engine
def test_what_a_later_receipt_changed_has_to_come_back_first(memory: Memory, note: str) -> None:
    before = rows(memory)
    receipt = split(memory, note)
    again = memory.graph.unmerge("Planet", "Third", memories=[note]).receipt_id
    merged = memory.graph.merge(["Planet"], "metal").receipt_id
    for first in (merged, again):
        with pytest.raises(Conflict) as refused:
            memory.sweep.undo(receipt)
        assert refused.value.hint == f"Undo {first} first."
        memory.sweep.undo(first)
    memory.sweep.undo(receipt)
    assert rows(memory) == before


@on_every_engine
def test_a_merge_below_a_split_can_be_undone_first(memory: Memory, note: str) -> None:
    hermes = memory.graph.relate("Hermes", "ORBITS", "Earth").relations[0].id
    memory.remember("Hermes is near.", entities=["Hermes"])
    before = rows(memory)
    merged = memory.graph.merge(["Hermes"], "Mercury").receipt_id
    receipt = memory.graph.unmerge("Mercury", "Asteroid", relations=[hermes], memories=[note]).receipt_id
    memory.sweep.undo(merged)
    memory.sweep.undo(receipt)
    assert rows(memory) == before


def test_a_name_that_stood_for_another_does_so_again(memory: Memory, note: str) -> None:
    memory.graph.relate("Quicksilver", "IS_A", "liquid")
    memory.graph.merge(["Quicksilver"], "Mercury")
    before = rows(memory)
    receipt = split(memory, note, "Quicksilver")
    assert [each.name for each in memory.graph.related("Quicksilver").entities] == ["Sun"]
    memory.sweep.undo(receipt)
    assert rows(memory) == before
    assert memory.graph.related("Quicksilver").start.name == "Mercury"


def test_a_purged_split_is_final(memory: Memory, note: str) -> None:
    receipt = split(memory, note)
    memory.sweep.purge(0, confirm=True)
    with pytest.raises(Conflict, match="was purged"):
        memory.sweep.undo(receipt)
    assert memory.care.doctor().findings == ()


def test_nothing_chosen_leaves_no_receipt(memory: Memory, note: str) -> None:
    for dry_run in (True, False):
        with pytest.raises(BadInput, match="no part of the entity was chosen"):
            memory.graph.unmerge("Mercury", "Planet", dry_run=dry_run)
    assert memory.sweep.receipts().receipts == ()


@on_every_engine
def test_what_was_split_off_twice_with_a_merge_between_goes_back_the_first_one_first(memory: Memory, note: str) -> None:
    before = rows(memory)
    first = split(memory, note)
    merged = str(memory.graph.merge(["Planet"], "Mercury").receipt_id)
    second = split(memory, note, "World")
    said = [memory.sweep.undo(receipt).conflicts for receipt in (merged, first, second)]
    stays = fact(memory, "ORBITS"), f"it was split off since, and stays there until {second} is undone"
    assert said == [(stays,), (), ()]
    assert rows(memory) == before
