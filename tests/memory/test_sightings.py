"""What was recalled counts as seen: cheaply, and without counting as a change."""

import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memsweep.app import App
from memsweep.errors import StoreAway
from memsweep.memory.recall import Sightings
from memsweep.model.times import iso
from tests.support import contents, store_files
from tests.support.commands import memsweep
from tests.support.engines import on_every_engine

START = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Clock:
    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now

    def pass_days(self, days: float) -> None:
        self.now += timedelta(days=days)


@pytest.fixture
def at(app: App) -> Clock:
    app.clock = clock = Clock()
    return clock


def seen(app: App, memory_id: str) -> datetime:
    return app.memory().get(memory_id).last_seen_at


def explained(app: App, memory_id: str) -> str:
    return app.memory().sweep.explain(memory_id)[0].because[-1]


@on_every_engine
def test_a_note_that_is_found_every_day_does_not_expire(app: App, at: Clock) -> None:
    memory = app.memory()
    lamp = memory.remember("the lamp in room seven is broken").memory_id
    other = memory.remember("bread is baked on monday").memory_id
    for _ in range(40):
        at.pass_days(1)
        assert memory.search("which lamp is broken", limit=1).hits[0].passage.memory_id == lamp
    plan = memory.sweep.plan("expired", ttl_days=30)
    assert [item.id for item in memory.sweep.items(plan.id)] == [other]
    assert (seen(app, lamp), seen(app, other)) == (at.now, START)


@on_every_engine
def test_only_what_was_returned_was_read(app: App, at: Clock) -> None:
    memory = app.memory()
    ids = [memory.remember(f"the lamp in room {n} is broken").memory_id for n in range(6)]
    at.pass_days(1)
    shown = {hit.passage.memory_id for hit in memory.search("lamp", limit=2).hits}
    assert len(shown) == 2
    assert {uid for uid in ids if seen(app, uid) == at.now} == shown


@on_every_engine
def test_what_was_read_since_the_plan_stays_and_the_receipt_says_why(app: App, at: Clock) -> None:
    memory = app.memory()
    lamp, bread = (memory.remember(text).memory_id for text in ("the lamp is broken", "bread is baked on monday"))
    at.pass_days(40)
    plan = memory.sweep.plan("expired", ttl_days=30)
    assert plan.totals.memories == 2
    memory.search("lamp", limit=1)
    receipt = memory.sweep.apply(plan.id, confirm=True, allow_large=True)
    assert receipt.skipped == ((lamp, "seen since the plan was made"),)
    assert receipt.totals.memories == 1
    assert memory.get(lamp)
    assert memory.sweep.undo(receipt.id).totals.memories == 1
    assert memory.get(bread)


@on_every_engine
def test_being_read_is_no_change_and_no_event(app: App, at: Clock) -> None:
    memory = app.memory()
    uid = memory.remember("the lamp is broken").memory_id
    version, events, store = memory.get(uid).version, memory.sweep.audit(), app.engine.open("default")
    before = store.revision()
    at.pass_days(1)
    memory.search("lamp")
    assert seen(app, uid) == at.now
    assert (memory.get(uid).version, memory.sweep.audit(), store.revision()) == (version, events, before)


@on_every_engine
def test_a_reading_a_moment_ago_is_not_written_again(app: App, at: Clock) -> None:
    memory = app.memory()
    uid = memory.remember("the lamp is broken").memory_id
    at.pass_days(1)
    memory.search("lamp")
    first = at.now
    at.now += timedelta(seconds=30)
    memory.search("lamp")
    assert seen(app, uid) == first
    at.now += timedelta(seconds=60)
    memory.search("lamp")
    assert seen(app, uid) == at.now


@on_every_engine
def test_a_clock_that_goes_back_takes_no_reading_back(app: App, at: Clock) -> None:
    memory = app.memory()
    uid = memory.remember("the lamp is broken").memory_id
    at.pass_days(-2)
    memory.search("lamp")
    assert seen(app, uid) == START


@on_every_engine
def test_get_and_explain_say_the_same_and_indexing_again_moves_it(app: App, at: Clock, tmp_path: Path) -> None:
    root = tmp_path / "r"
    root.mkdir()
    (root / "lamp.py").write_text("def lamp(): pass\n")
    memory = app.memory()
    memory.code.index(root)
    (hit,) = memory.search("lamp").hits
    uid = hit.passage.memory_id
    assert seen(app, uid) == START
    for again in (lambda: memory.code.index(root), lambda: memory.code.index(root), lambda: memory.search("lamp")):
        at.pass_days(1)
        again()
        assert seen(app, uid) == at.now
        assert explained(app, uid).endswith(f"last seen {iso(at.now)}.")
    (root / "lamp.py").unlink()
    (root / "other.py").write_text("x = 1\n")
    at.pass_days(1)
    memory.code.index(root)
    assert seen(app, uid) == at.now - timedelta(days=1), "a file that is gone was not seen again"
    assert explained(app, uid).endswith(f"last seen {iso(seen(app, uid))}.")


def test_a_search_does_not_wait_for_a_writer_and_tells_later(app: App, at: Clock) -> None:
    memory = app.memory()
    uid = memory.remember("the lamp is broken").memory_id
    at.pass_days(1)
    done = threading.Event()
    with store_files.held(app.settings.home):

        def search() -> None:
            memory.search("lamp")
            done.set()

        thread = threading.Thread(target=search)
        thread.start()
        assert done.wait(30), "the search waits for somebody else's transaction"
        thread.join()
    assert seen(app, uid) == START
    at.pass_days(1)
    memory.search("something else entirely", filters={"tags": ["none"]})
    assert seen(app, uid) == START + timedelta(days=1), "when it was read, not when it was written"


def test_what_waits_is_told_when_the_app_is_closed(app: App, at: Clock) -> None:
    memory = app.memory()
    uid = memory.remember("the lamp is broken").memory_id
    at.pass_days(1)
    with store_files.held(app.settings.home):
        memory.search("lamp")
    app.close()
    assert seen(app, uid) == at.now


@pytest.mark.slow
def test_a_search_works_where_nothing_may_be_written(home: Path) -> None:
    memsweep("remember", "the lamp is broken", home=home)
    file = store_files.file_of(home)
    store_files.age(home, days=1)
    before = seen_in(home)
    for path in (home, *home.rglob("*")):
        path.chmod(0o777 if path.is_dir() and path != home else 0o755 if path == home else 0o666)
    file.chmod(0o444)
    found = memsweep("search", "lamp", "--json", home=home, as_ordinary_user=True)
    assert found.status == 0, found.err
    assert [hit["text"] for hit in found.json["results"]] == ["the lamp is broken"]
    assert seen_in(home) == before
    file.chmod(0o666)
    memsweep("search", "lamp", home=home, as_ordinary_user=True)
    assert seen_in(home) > before


def seen_in(home: Path) -> datetime:
    with contents.opened(home) as memory:
        (only,) = contents.ids(memory)
        return memory.get(only).last_seen_at


class Unreachable:
    workspace_id = "default"

    def mark_seen(self, seen: Any) -> bool:
        raise StoreAway("the server is away.")


def test_a_store_that_refuses_does_not_spoil_the_search() -> None:
    sightings = Sightings()
    sightings._waiting["default"] = {"mem_1": START}
    sightings.flush(Unreachable())  # type: ignore[arg-type]
    assert sightings.waiting() == []
