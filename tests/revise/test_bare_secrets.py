"""A password that one text calls one is redacted wherever it stands bare: in names, facts, windows, the trash."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memsweep.app import App, Memory
from tests.origins.test_memories_of_several import state
from tests.support.engines import on_every_engine

pytestmark = on_every_engine
VALUE = "hunter2-Kx9"
MARK = "[secret: password]"


@pytest.fixture
def careless(make: Callable[..., App]) -> Iterator[Memory]:
    """A workspace from before there was a gate."""
    app = make(MEMSWEEP_SECRETS_ACTION="off")
    yield app.memory()
    app.close()


def fill(memory: Memory) -> dict[str, str]:
    told = memory.remember(f"The staging password is {VALUE}.", entities=[VALUE]).memory_id
    bare = memory.remember(f"We log in with {VALUE} on Mondays, not with build-2024.", tags=[VALUE]).memory_id
    memory.delete(memory.remember(f"{VALUE} it was.").memory_id, confirm=True)
    memory.graph.relate(VALUE, "OPENS", "Staging")
    memory.graph.relate("Door", f"OPENS WITH {VALUE}", "Staging")
    memory.graph.relate(f"Old {VALUE}", "OPENS", "Cellar")
    memory.graph.merge([f"Old {VALUE}"], "Cellar")
    window = memory.context("talk")
    window.add([{"segment_id": f"s{n}", "text": f"try {VALUE} in turn {n}"} for n in range(2)])
    window.prune(["s1"], strategy="stash")
    plain = memory.remember("The password is development, and development goes on.", entities=["development"]).memory_id
    return {"told": told, "bare": bare, "plain": plain}


def test_it_is_found_everywhere_and_shown_nowhere(careless: Memory) -> None:
    ids = fill(careless)
    plan = careless.sweep.plan("secrets")
    items = careless.sweep.items(plan.id, limit=50)
    assert VALUE not in repr(items) + repr(plan)
    assert {ids["told"], ids["bare"], "s0", "s1"} <= {item.id for item in items}
    assert ids["plain"] not in {item.id for item in items}
    assert {item.name for item in items if item.kind == "entity"} == {MARK}


def test_it_is_redacted_everywhere_and_comes_back(careless: Memory, tmp_path: Path) -> None:
    ids = fill(careless)
    before = state(careless, tmp_path / "1")
    receipt = careless.sweep.prune("secrets", confirm=True)
    assert receipt.skipped == ()
    found = careless.get(ids["bare"])
    assert found.text == f"We log in with {MARK} on Mondays, not with build-2024."
    assert found.tags == (MARK,)
    assert careless.get(ids["plain"]).text == "The password is development, and development goes on."
    names = {each.name for each in careless.graph.entities()[0]}
    assert {MARK, "development", "Staging", "Cellar"} <= names
    assert VALUE not in repr(careless.search(VALUE, mode="deep").hits)
    assert careless.sweep.plan("secrets").item_count == 0
    assert not careless.care.doctor().findings
    careless.sweep.undo(receipt.id)
    assert state(careless, tmp_path / "2") == before
    assert VALUE in careless.get(ids["bare"]).text


def test_after_the_purge_no_byte_of_it_is_in_a_backup(careless: Memory, tmp_path: Path) -> None:
    fill(careless)
    careless.sweep.prune("secrets", confirm=True)
    careless.sweep.purge(0, confirm=True)
    careless.care.backup(tmp_path / "b")
    stored = (tmp_path / "b").read_bytes()
    assert VALUE.encode() not in stored
    assert VALUE.lower().encode() not in stored


def test_a_name_that_was_left_when_its_text_was_redacted_is_found_until_the_purge(careless: Memory) -> None:
    told = careless.remember(f"The staging password is {VALUE}.", entities=[]).memory_id
    careless.sweep.prune("secrets", confirm=True)
    careless.graph.relate(VALUE, "OPENS", "Staging")
    assert careless.get(told).text == f"The staging password is {MARK}."
    assert careless.sweep.plan("secrets").item_count > 0
