"""After a purge nothing of the content is left: not in a table, an index, a free page, the log or a vector file."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from memsweep.app import App, Memory
from memsweep.collector import collect
from memsweep.errors import Conflict, StoreBusy
from memsweep.store.file import connect
from memsweep.store.sqlite import vectors
from tests.collector import killed_at_each_step
from tests.collector.stores import NOW, Link, Note, Place, StoreSpec, Thing, broken, store_with
from tests.support import store_files
from tests.support.killing import attempt

# Each is one word for the full text too, with a beginning that no other word shares.
TEXT, TAG, METADATA, ENTITY, RELATION = "qtext7731zv", "xtag7732zv", "jmeta7733zv", "zname7734zv", "krel7735zv"
THREAD, PATH, SYMBOL, FOUND, SOURCE = "vthread7736zv", "ypath7737zv", "wsymbol7738zv", "Ofound7739zv", "usource7740zv"
MARKS = (TEXT, TAG, METADATA, ENTITY, RELATION, THREAD, PATH, SYMBOL, FOUND, SOURCE)


def left_in(home: Path, marks: tuple[str, ...] = MARKS) -> set[tuple[str, str]]:
    """Where a mark, or only its end (the full text keeps beginnings once for several words), still stands."""
    found = set()
    for file in (path for path in home.rglob("*") if path.is_file()):
        data = file.read_bytes().lower()
        for mark in marks:
            if mark.lower().encode() in data or mark[-6:].lower().encode() in data or mark in file.name:
                found.add((file.suffix, mark))
    return found


def vectors_of(home: Path) -> list[bytes]:
    rows = store_files.rows_in(store_files.file_of(home))
    chunks = {row["id"] for row in rows["chunk"] if TEXT in row["text"]}
    return [row["data"] for row in rows["vector"] if row["chunk"] in chunks]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / f"repository{PATH}"
    folder.mkdir()
    (folder / f"{PATH}.py").write_text(f"def {SYMBOL}():\n    return '{TEXT}'\n")
    return folder


@pytest.fixture
def full(memory: Memory, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Memory:
    """A workspace with marks wherever a caller can put one, among other things that stay."""
    monkeypatch.setattr(vectors, "_TAIL_MIN", 5)
    for number in range(60):
        memory.remember(f"note number {number} about Grace Hopper and the weather of day {number}")
    for number in range(12):
        memory.remember(
            f"{TEXT} number {number}. {FOUND} Miller said so, and {FOUND} Miller knows. Then {FOUND} Miller left. " * 9,
            tags=[TAG],
            metadata={METADATA: [METADATA]},
            source=SOURCE,
            thread_id=THREAD,
            entities=[ENTITY],
            relations=[{"from": ENTITY, "relation": RELATION, "to": "Grace Hopper"}],
        )
    memory.code.index(repository)
    memory.search(f"{TEXT} weather")  # writes the vector file
    return memory


def everything_goes(memory: Memory, repository: Path) -> None:
    memory.sweep.clear(collect.CLEAR_PHRASE)
    memory.sweep.purge(0, confirm=True)


def step_by_step(memory: Memory, repository: Path) -> None:
    (repository / f"{PATH}.py").rename(repository / "other.py")
    (repository / "other.py").write_text("def other(): pass\n")
    memory.code.index(repository)
    memory.sweep.plan("stale_code")
    memory.sweep.prune("all", confirm=True)
    memory.sweep.plan("duplicates")
    for number in range(60, 72):
        hits = memory.search(f"{TEXT} number {number - 60}", limit=50).hits
        for uid in {hit.passage.memory_id for hit in hits if TEXT in hit.passage.text}:
            memory.pin(uid)
            memory.sweep.plan("expired", ttl_days=0)  # which calls it protected
            memory.pin(uid, pinned=False)
            memory.delete(uid, confirm=True)
    memory.sweep.clear(collect.CLEAR_PHRASE)
    memory.sweep.purge(0, confirm=True)


@pytest.mark.slow
@pytest.mark.parametrize("way", [everything_goes, step_by_step])
def test_after_a_purge_no_byte_of_it_is_left_in_any_file(
    full: Memory, home: Path, repository: Path, way: Callable[[Memory, Path], None]
) -> None:
    before = left_in(home)
    assert {mark for _, mark in before} == set(MARKS)
    blobs = vectors_of(home)
    assert blobs
    assert list((home / "workspaces").glob("*.vec"))
    way(full, repository)
    repository_marks = () if way is everything_goes else (PATH,)
    assert {mark for _, mark in left_in(home)} <= set(repository_marks), left_in(home)
    files = b"".join(path.read_bytes() for path in (home / "workspaces").iterdir())
    assert not [blob for blob in blobs if blob in files]
    assert broken(store_files.file_of(home)) == []
    full.remember("life goes on")
    assert full.search("life").hits


def test_what_is_deleted_forever_is_gone_at_once(memory: Memory, home: Path) -> None:
    kept = [memory.remember(f"note number {number} about the weather").memory_id for number in range(30)]
    uid = memory.remember(
        f"{TEXT} {FOUND}", tags=[TAG], metadata={"a": METADATA}, thread_id=THREAD, source=SOURCE
    ).memory_id
    memory.search(TEXT)
    memory.delete(uid, confirm=True, forever=True)
    assert left_in(home) == set()
    assert {hit.passage.memory_id for hit in memory.search("weather", limit=50).hits} == set(kept)


def test_text_that_only_an_undone_receipt_left_behind_goes_too(memory: Memory, home: Path) -> None:
    first = memory.remember(f"{TEXT} here").memory_id
    receipt = memory.delete(first, confirm=True)
    second = memory.remember(f"{TEXT} here").memory_id
    with pytest.raises(Conflict, match=f"of {first}, the same text was added again as {second}"):
        memory.sweep.undo(receipt.id)
    memory.delete(second, confirm=True)
    memory.sweep.purge(0, confirm=True)
    assert left_in(home) == set()


def test_a_purge_that_was_cut_short_before_the_log_was_emptied_is_finished_by_the_next(tmp_path: Path) -> None:
    spec = StoreSpec(
        notes=(Note(f"{TEXT} here", path=f"{PATH}.py", stale=True),), things=(Thing(SYMBOL),), mentions=((0, 0, 0),)
    )

    def die_at(step: int, home: Path) -> list[str] | None:
        purge = partial(killed_at_each_step.run, killed_at_each_step.OPERATIONS["purge"], home, None, 100)
        return attempt(purge, step, after=True, **killed_at_each_step.STATEMENTS)

    with store_with(spec) as place:
        collect.plan_and_apply(place.tools(), "all", confirm=True)
        place.app.close()
        steps = die_at(-1, place.home)
        assert steps
    with store_with(spec) as place:
        collect.plan_and_apply(place.tools(), "all", confirm=True)
        place.app.close()
        assert die_at(len(steps) - 1, place.home) is None
        assert {mark for _, mark in left_in(place.home)} == {TEXT, PATH, SYMBOL}, "committed, and still in the log"
        again = Place(place.home, place.app)
        assert collect.purge(again.tools(), 0, confirm=True).receipts == ()
        assert left_in(place.home) == set()


def test_another_process_that_reads_keeps_the_log_and_is_named(
    make: Callable[..., App], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connect, "BUSY_SECONDS", 0.05)
    memory = make().memory()
    uid = memory.remember(f"{TEXT} here").memory_id
    memory.delete(uid, confirm=True)
    with store_files.read(home):
        with pytest.raises(StoreBusy, match=r"the trash is freed, but another process holds on to .*-wal"):
            memory.sweep.purge(0, confirm=True)
        assert memory.sweep.trash() == ([], 0)
    memory.sweep.purge(0, confirm=True)
    assert left_in(home) == set()


def test_a_purge_takes_only_what_is_old_enough() -> None:
    spec = StoreSpec(notes=(Note("first"), Note("second")))
    with store_with(spec) as place:
        first = collect.delete(place.tools(), "mem_000000000001", confirm=True)
        later = place.tools(NOW + timedelta(days=20))
        collect.delete(later, "mem_000000000002", confirm=True)
        on_day_31 = place.tools(NOW + timedelta(days=31))
        assert collect.purge(on_day_31, 30, confirm=True).memories == 1
        assert [item.id for item in place.memory.sweep.trash()[0]] == ["mem_000000000002"]
        events = [(event.action, event.subject) for event in place.memory.sweep.audit()]
        assert ("purge", first.id) in events


def test_a_name_seen_in_purged_and_in_live_text_is_still_counted(memory: Memory, home: Path) -> None:
    """Names found by rule wait for more evidence; the chunks they were seen in may be purged meanwhile."""
    uid = memory.remember("We met Zebulon today.").memory_id
    memory.remember("And again Zebulon was there.")
    seen = store_files.rows_in(store_files.file_of(home))["name_seen"]
    memory.delete(uid, confirm=True, forever=True)
    assert broken(store_files.file_of(home)) == []
    for number in range(4):
        memory.remember(f"On day {number} we asked Zebulon and Zebulon answered; then Zebulon slept.")
    assert broken(store_files.file_of(home)) == [], seen


# Tombstones


def test_what_was_forgotten_for_good_is_not_learned_again_until_its_tombstone_is_removed(memory: Memory) -> None:
    uid = memory.remember("my locker code is 4711").memory_id
    memory.delete(uid, confirm=True, forever=True)
    with pytest.raises(Conflict, match=r"deleted permanently and must not be learned again.*tombstone list"):
        memory.remember("my locker code is 4711")
    with pytest.raises(Conflict, match="must not be learned again"):
        memory.remember("my locker code is 4711", thread_id="another")
    assert [stone.memory_id for stone in memory.sweep.tombstones()] == [uid]
    memory.sweep.remove_tombstone(uid)
    assert memory.sweep.tombstones() == []
    assert memory.remember("my locker code is 4711").duplicate_of is None


def test_what_is_only_in_the_trash_may_be_learned_again(memory: Memory) -> None:
    uid = memory.remember("my locker code is 4711").memory_id
    memory.delete(uid, confirm=True)
    assert memory.remember("my locker code is 4711").duplicate_of is None


def test_forgetting_for_good_cannot_be_undone_nor_recovered(memory: Memory) -> None:
    uid = memory.remember("gone").memory_id
    receipt = memory.delete(uid, confirm=True, forever=True)
    with pytest.raises(Conflict, match="was purged"):
        memory.sweep.undo(receipt.id)
    assert memory.sweep.trash() == ([], 0)


def test_a_relation_of_two_purged_things_is_purged_with_them() -> None:
    spec = StoreSpec(things=(Thing("a"), Thing("b")), links=(Link(0, 1), Link(1, 0)))
    with store_with(spec) as place:
        collect.plan_and_apply(place.tools(), "unreachable_entities", confirm=True)
        purged = collect.purge(place.tools(), 0, confirm=True)
        assert (purged.entities, purged.relations) == (2, 2)
        assert store_files.rows_in(place.file)["relation"] == []
