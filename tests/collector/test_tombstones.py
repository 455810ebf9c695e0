"""What was deleted permanently is not learned again by any way in, however it is written; on every engine."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memsweep.app import Memory, called_by
from memsweep.errors import Conflict
from memsweep.model.origin import Origin
from memsweep.model.text import content_hash
from memsweep.store.things.collected import TombstoneRow
from tests.support.engines import on_every_engine
from tests.support.inside import app_of

TEXT = "My Café locker\ncode is 4711"
SAME = {
    "as it was": TEXT,
    "a newline at its end": TEXT + "\n",
    "another letter case": TEXT.upper(),
    "other white space": "  My Café\tlocker code  is\r\n4711 ",
    "decomposed letters": TEXT.replace("é", "e\u0301"),
    "full width": TEXT.replace("4711", "４７１１"),
    "something invisible": TEXT.replace("locker", "lock\u200ber"),
}


@pytest.fixture
def forgotten(memory: Memory) -> str:
    """The id of a memory that was deleted permanently."""
    uid = memory.remember(TEXT).memory_id
    memory.delete(uid, confirm=True, forever=True)
    return uid


def remembered(memory: Memory, text: str) -> None:
    memory.remember(text, thread_id="another")


def updated(memory: Memory, text: str) -> None:
    memory.update(memory.remember("it will say something else").memory_id, text=text)


def segment(memory: Memory, text: str) -> None:
    memory.context("p").add([{"text": text}])


def summary(memory: Memory, text: str) -> None:
    window = memory.context("p")
    window.add([{"text": f"line {number} of a long text"} for number in range(12)])
    window.compress([window.segments()[0].segment_id], text)


REFUSED: dict[str, Callable[[Memory, str], None]] = {
    "remember": remembered,
    "update": updated,
    "context_add": segment,
    "context_compress": summary,
}


@on_every_engine
@pytest.mark.parametrize("way", REFUSED)
def test_it_is_refused_however_it_is_written(memory: Memory, forgotten: str, way: str) -> None:
    for text in SAME.values():
        with pytest.raises(Conflict, match=r"deleted permanently and must not be learned again.*tombstone list"):
            REFUSED[way](memory, text)
    assert not memory.search("locker", filters={"kind": "memory"}).hits
    memory.sweep.remove_tombstone(forgotten)
    for text in SAME.values():
        REFUSED[way](memory, text)


def imported(memory: Memory, text: str) -> None:
    memory.graph.load(json.dumps({"entities": [{"id": "a", "name": text}], "relations": []}))


AS_NAMES: dict[str, Callable[[Memory, str], object]] = {
    "import_graph": imported,
    "relate": lambda memory, text: memory.graph.relate("Ada", "SAYS", text),
    "build_graph": lambda memory, text: memory.graph.build(text),
    "entities": lambda memory, text: memory.remember("Ada was here", entities=[text]),
    "relations": lambda memory, text: memory.remember(
        "Ada was there", relations=[{"from": text, "relation": "SAYS", "to": "x"}]
    ),
}


@on_every_engine
@pytest.mark.parametrize("way", AS_NAMES)
def test_it_comes_into_the_graph_by_no_way_either(memory: Memory, forgotten: str, way: str) -> None:
    for text in SAME.values():
        with pytest.raises(Conflict, match="must not be learned again"):
            AS_NAMES[way](memory, text)
    assert not memory.graph.entities()[0]
    memory.sweep.remove_tombstone(forgotten)
    AS_NAMES[way](memory, TEXT)
    assert memory.graph.entities()[0]


@on_every_engine
def test_a_transcript_is_taken_in_without_it(memory: Memory, forgotten: str) -> None:
    said = [*SAME.values(), "what else is there?"]
    added = memory.context("p").add_transcript(json.dumps([{"role": "user", "content": text} for text in said]))
    assert f"Left out: {len(SAME)} segments with a text that was deleted permanently (`memsweep tombstone list`)." in (
        added.notes
    )
    assert [each.text for each in memory.context("p").segments()] == ["what else is there?"]


@on_every_engine
def test_a_file_with_it_is_not_indexed_and_the_run_says_so(memory: Memory, forgotten: str, tmp_path: Path) -> None:
    for number, text in enumerate([*SAME.values(), "def unrelated(): pass\n"]):
        (tmp_path / f"{number}.txt").write_text(text, "utf-8")
    result = memory.code.index(tmp_path)
    assert result.files_indexed == 1
    assert [warning.partition(":")[2] for warning in result.warnings] == [
        " its content was deleted for good (`memsweep tombstone list`)"
    ] * len(SAME)
    memory.sweep.remove_tombstone(forgotten)
    assert memory.code.index(tmp_path).files_indexed == len(SAME)


@on_every_engine
def test_a_file_that_was_forgotten_is_no_memory_either(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(TEXT, "utf-8")
    memory.code.index(tmp_path)
    (hit,) = memory.search("locker", filters={"kind": "code"}).hits
    memory.delete(hit.passage.memory_id, confirm=True, forever=True)
    with pytest.raises(Conflict, match="must not be learned again"):
        memory.remember(TEXT.upper())


EVIL = Origin("mcp", "cursor", "1.0", "ses_evil", "add_memory", "agent")
AGAIN = TEXT.upper() + "\n"


def recovered(memory: Memory) -> Callable[[], object]:
    copy = memory.remember(AGAIN, thread_id="another").memory_id
    memory.delete(copy, confirm=True)
    return lambda: memory.sweep.recover(copy)


def undone(memory: Memory) -> Callable[[], object]:
    copy = memory.remember(AGAIN, thread_id="another").memory_id
    receipt = memory.delete(copy, confirm=True).id

    def undo() -> None:
        raise Conflict(dict(memory.sweep.undo(receipt).conflicts)[copy])

    return undo


def changed_back(memory: Memory) -> Callable[[], object]:
    receipt = memory.update(memory.remember(AGAIN, thread_id="another").memory_id, text="something else").receipt_id
    return lambda: memory.sweep.undo(str(receipt))


def given_back(memory: Memory) -> Callable[[], object]:
    """The update was somebody's who is taken back."""
    copy = memory.remember(AGAIN, thread_id="another").memory_id
    with called_by(EVIL):
        memory.update(copy, text="something else")

    def take_back() -> None:
        plan = memory.sweep.plan("origin", origin={"session": "ses_evil"})
        skipped = memory.sweep.apply(plan.id, confirm=True, allow_large=True).skipped
        raise Conflict(next(why for uid, why in skipped if uid == copy))

    return take_back


@on_every_engine
@pytest.mark.parametrize("back", [recovered, undone, changed_back, given_back])
def test_a_copy_of_it_does_not_come_back(memory: Memory, back: Callable[[Memory], Callable[[], object]]) -> None:
    bring_back = back(memory)
    forgotten = memory.remember(TEXT).memory_id
    memory.delete(forgotten, confirm=True, forever=True)
    with pytest.raises(Conflict, match=r"its text was deleted for good at \d{4}-\d\d-\d\d .* remove " + forgotten):
        bring_back()
    assert "4711" not in repr([memory.get(each.id).text for each in memory.memories().memories])
    memory.sweep.remove_tombstone(forgotten)
    if back in (recovered, changed_back):
        bring_back()


@on_every_engine
@pytest.mark.parametrize("strategy", ["delete", "stash"])
def test_a_segment_that_says_it_does_not_come_back(memory: Memory, strategy: str) -> None:
    window = memory.context("p")
    window.add([{"text": AGAIN}, {"text": "something else"}, {"text": "the newest"}])
    copy, other, _ = [each.segment_id for each in window.segments()]
    alone = window.prune([copy], strategy=strategy, confirm=True).receipt_id
    forgotten = memory.remember(TEXT).memory_id
    memory.delete(forgotten, confirm=True, forever=True)
    said = r"its text was deleted for good at \d{4}-\d\d-\d\d .* remove " + forgotten
    with pytest.raises(Conflict, match=said):
        memory.sweep.undo(str(alone))
    memory.sweep.remove_tombstone(forgotten)
    memory.sweep.undo(str(alone))
    both = window.prune([copy, other], strategy=strategy, confirm=True).receipt_id
    memory.delete(memory.remember(TEXT, thread_id="t").memory_id, confirm=True, forever=True)
    ((uid, why),) = memory.sweep.undo(str(both)).conflicts
    assert (uid, why[:29]) == (copy, "its text was deleted for good")
    assert [each.segment_id for each in window.segments()][:1] == [other]
    assert memory.care.doctor().findings == ()


@on_every_engine
def test_a_text_that_says_more_is_another_one(memory: Memory, forgotten: str) -> None:
    for other in (f"{TEXT}.", f"Forget that {TEXT}", TEXT.replace("4711", "4712"), TEXT.replace(" ", "")):
        assert memory.remember(other).duplicate_of is None
        memory.context("p").add([{"text": other}])


@on_every_engine
def test_a_tombstone_of_an_earlier_version_still_holds_for_the_exact_text(memory: Memory) -> None:
    memory.remember("the first makes the workspace")
    exact = TombstoneRow(content_hash(TEXT), datetime(2026, 5, 1, tzinfo=UTC), "mem_gone", "deleted forever")
    with app_of(memory).engine.open(memory.workspace_id).collector.changing() as tx:
        tx.tombstones.add([exact])
    for way in REFUSED.values():
        with pytest.raises(Conflict, match="must not be learned again"):
            way(memory, TEXT)
    assert memory.remember(TEXT.upper()).duplicate_of is None, "its hash says nothing of other forms"
    memory.sweep.remove_tombstone("mem_gone")
    assert memory.remember(TEXT).duplicate_of is None
