"""The durable window: what each operation does, refuses and answers."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memsweep.app import App, Memory
from memsweep.collector.collect import CLEAR_PHRASE
from memsweep.context import ContextSegment
from memsweep.context.service import ContextWindow
from memsweep.errors import AlreadyExists, BadInput, Conflict, NotFound, Unconfirmed
from memsweep.report.collector import undone
from tests.context.windows import active, problems, some, stashed
from tests.support.engines import on_every_engine

pytestmark = on_every_engine

BORN = datetime(2026, 5, 1, 12, tzinfo=UTC)


def test_segments_come_back_as_they_were_given(window: ContextWindow, app: App, home: Path) -> None:
    given = ContextSegment(
        segment_id="s1",
        text="Zürich 漢字 \U0001f642\n\ttab",
        type="decision",
        created_at=BORN,
        last_touched_at=BORN + timedelta(hours=1),
        pinned=True,
        generation="old",
        gc_survival_count=3,
        file_path="src/ü.py",
        line_range=(3, 9),
        tags=("a", "b"),
        topic_id="t",
        tokens=7,
        role="user",
        task_id="task",
        references=("s0", "unheard-of"),
    )
    window.add([given])
    app.close()
    assert window.segments() == [given]
    assert problems(home) == []


@pytest.mark.parametrize("own", [" a", "a ", "\ta\t", "\u00a0x\u00a0", "a,b|c:d", "x" * 4000, "\U0001f642" * 500])
def test_a_segment_is_found_by_any_id_that_is_accepted(window: ContextWindow, own: str) -> None:
    window.add([some("a"), some(own), some("later", references=(own,))])
    assert [gone.segment_id for gone in window.prune(segment_ids=[own]).stashed] == [own]
    assert active(window) == ["a", "later"]
    window.restore(segment_ids=[own])
    assert active(window) == ["a", own, "later"]
    with pytest.raises(AlreadyExists):
        window.add([some(own)])


def test_ids_are_made_where_none_is_given(window: ContextWindow) -> None:
    added = window.add([{"text": "one"}, {"text": "two", "segment_id": None}, some("mine")])
    assert len(set(added.segment_ids)) == 3
    assert added.segment_ids[2] == "mine"
    assert active(window) == list(added.segment_ids)


def test_all_segments_of_a_call_come_in_or_none(window: ContextWindow) -> None:
    window.add([some("a")])
    with pytest.raises(AlreadyExists, match="'a' is in this window already"):
        window.add([some("b"), some("a")])
    assert active(window) == ["a"]


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ({"text": 7}, "text"),
        ({"text": ""}, "empty"),
        ({"text": "a\0b"}, "NUL"),
        ({"text": "\ud800"}, "surrogate"),
        ({"text": "x", "segment_id": 7}, "segment_id"),
        ({"text": "x", "segment_id": "\0"}, "NUL"),
        ({"text": "x", "type": "novel"}, "type cannot be 'novel'"),
        ({"text": "x", "type": ["log"]}, "type must be text"),
        ({"text": "x", "role": "king"}, "role cannot be 'king'"),
        ({"text": "x", "pinned": "yes"}, "pinned must be true or false"),
        ({"text": "x", "tokens": True}, "tokens must be a whole number"),
        ({"text": "x", "tokens": 2**60}, "not a count"),
        ({"text": "x", "line_range": [9, 3]}, "must ascend"),
        ({"text": "x", "line_range": [1]}, "two line numbers"),
        ({"text": "x", "tags": "a"}, "tags must be a list"),
        ({"text": "x", "references": [1]}, "references must be a list"),
        ({"text": "x", "colour": "red"}, "no field colour"),
        ({"text": "x", "created_at": "yesterday"}, "not a date or time"),
        ("text", "must be an object"),
    ],
)
def test_a_bad_segment_is_refused_in_one_sentence(window: ContextWindow, bad: object, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        window.add([bad])  # type: ignore[list-item]


def test_an_empty_list_and_twice_the_same_id_are_refused(window: ContextWindow) -> None:
    with pytest.raises(BadInput, match="empty"):
        window.add([])
    with pytest.raises(BadInput, match="same id"):
        window.add([some("a"), some("a")])


def test_windows_of_a_workspace_do_not_see_each_other(memory: Memory) -> None:
    one, other = memory.context("one"), memory.context("other")
    one.add([some("a"), some("b")])
    other.add([some("a")])
    one.prune(["a"])
    assert (active(one), active(other)) == (["b"], ["a"])
    assert other.search("words").hits == ()
    with pytest.raises(NotFound, match="'third' does not exist; known: 'one', 'other'"):
        memory.context("third").analyze()


def test_references_are_counted_while_the_referrer_is_active(window: ContextWindow) -> None:
    window.add([some("a"), some("b", references=["a"]), some("c", references=["a", "c"])])
    assert [segment.refcount for segment in window.segments()] == [2, 0, 0]
    window.prune(["b"])
    assert window.segments()[0].refcount == 1


def test_an_analysis_moves_nothing_and_its_plan_does_what_it_said(window: ContextWindow) -> None:
    window.add([some(f"s{n}", f"value_{n} is {n}", tokens=10) for n in range(10)])
    seen = window.analyze(budget=35, max_candidates=3)
    assert (seen.change.tokens_before, seen.change.tokens_after, len(seen.candidates)) == (100, 30, 3)
    assert len(active(window)) == 10
    assert seen.plan_id is not None
    done = window.prune(plan_id=seen.plan_id)
    assert {gone.segment_id for gone in done.stashed} == seen.planned
    assert (done.change.tokens_before, done.change.tokens_after) == (100, 30)
    assert all(gone.reasons for gone in done.stashed)


def test_a_target_is_freed_and_a_shortfall_is_explained(window: ContextWindow) -> None:
    window.add([some("pin", tokens=60, pinned=True), some("a", tokens=20), some("b", tokens=20)])
    assert window.analyze(target_tokens=20).change.tokens_after == 80
    seen = window.analyze(target_tokens=90)
    assert (seen.shortfall, seen.planned) == (50, {"a", "b"})
    assert "50 tokens could not be freed" in seen.reason
    with pytest.raises(BadInput, match="cannot be used together"):
        window.analyze(target_tokens=1, budget=1)


def test_within_the_limits_there_is_nothing_to_plan(window: ContextWindow) -> None:
    window.add([some("a")])
    seen = window.analyze()
    assert (seen.plan_id, seen.reason) == (None, "Nothing needs to go.")
    assert [candidate.segment_id for candidate in seen.candidates] == ["a"]


def test_a_plan_is_used_once_and_by_its_own_window_only(memory: Memory, window: ContextWindow) -> None:
    window.add([some("a", tokens=10), some("b", tokens=10)])
    plan_id = window.analyze(budget=10).plan_id
    assert plan_id is not None
    other = memory.context("other")
    other.add([some("a")])
    with pytest.raises(Conflict, match="cannot be used here"):
        other.prune(plan_id=plan_id)
    with pytest.raises(Conflict, match="cannot be used here"):
        memory.sweep.apply(plan_id, confirm=True)
    window.prune(plan_id=plan_id)
    with pytest.raises(Conflict, match=r"applied already.*context_gc_analyze"):
        window.prune(plan_id=plan_id)
    with pytest.raises(NotFound, match="context_gc_analyze"):
        window.prune(plan_id="plan_unheard-of")


def test_an_old_plan_is_refused(make: object, home: Path) -> None:
    app = make(MEMSWEEP_GC_PLAN_HOURS="0", MEMSWEEP_CONTEXT_ENCODING="length/4")  # type: ignore[operator]
    window = app.memory().context("session")
    window.add([some("a", tokens=10)])
    with pytest.raises(Conflict, match="expired"):
        window.prune(plan_id=window.analyze(budget=0).plan_id)


def test_what_changed_since_the_plan_is_refused_by_name_and_the_rest_proceeds(window: ContextWindow) -> None:
    window.add([some(own, tokens=10) for own in ("pinned", "cycled", "stashed", "deleted", "left")])
    plan_id = window.analyze(budget=0).plan_id
    window.pin(["pinned"])
    window.prune(["cycled", "stashed"])
    window.restore(["cycled"])
    window.prune(["deleted"], strategy="delete", confirm=True)
    done = window.prune(plan_id=plan_id)
    assert done.refused == {
        "pinned": "pinned",
        "cycled": "changed since the plan was made",
        "stashed": "in the stash already",
        "deleted": "gone since the plan was made",
    }
    assert [gone.segment_id for gone in done.stashed] == ["left"]


def test_small_steps_do_not_spoil_a_plan(window: ContextWindow) -> None:
    window.configure(changes_per_step=1)
    window.add([some("a", tokens=10)])
    plan_id = window.analyze(budget=0).plan_id
    window.add([some("b", tokens=10)])
    assert [gone.segment_id for gone in window.prune(plan_id=plan_id).stashed] == ["a"]


def test_a_small_step_looks_at_the_young_and_comes_round_to_the_old(window: ContextWindow) -> None:
    for step in range(15):
        window.add([some(f"{step}-{item}", tokens=1) for item in range(20)])
        seen = {each.segment_id: each.gc_survival_count for each in window.segments()}
        assert all(seen[f"{step}-{item}"] == 1 for item in range(20)), "the newest waited behind the old"
    assert min(seen[f"{step}-{item}"] for step in range(5) for item in range(20)) > 2, "nobody came round to the old"
    assert {each.generation for each in window.segments()[:240]} == {"old"}


def test_roots_and_unknown_ids_are_refused_by_name(window: ContextWindow) -> None:
    window.add(
        [
            some("pin", pinned=True),
            some("system", role="system"),
            some("rule", tags=["invariant"]),
            some("task", task_id="t1"),
            some("other", task_id="t2"),
        ]
    )
    window.analyze(task_id="t1")
    done = window.prune(["pin", "system", "rule", "task", "other", "nobody"])
    assert done.refused == {
        "pin": "pinned",
        "system": "holds for the whole session",
        "rule": "holds for the whole session",
        "task": "belongs to the current task",
        "nobody": "unknown",
    }
    assert [gone.segment_id for gone in done.stashed] == ["other"]


def test_the_focus_holds_until_another_is_told(window: ContextWindow) -> None:
    window.add([some("a", task_id="t1", tokens=10), some("f", file_path="a.py", tokens=10), some("x", tokens=10)])
    first = window.analyze(budget=20, task_id="t1", descriptors={"active_file": "a.py"})
    assert first.planned == {"x"}
    assert window.analyze(budget=20).planned == {"x"}
    assert "a" in window.analyze(budget=0, task_id="").planned
    assert "f" in window.analyze(budget=10, descriptors={}).planned


@pytest.mark.parametrize(
    "descriptors",
    [{"colour": 1}, {"active_file": 7}, {"line_range": [1]}, {"open_files": "a.py"}, {"recently_edited": [1]}],
)
def test_descriptors_are_checked(window: ContextWindow, descriptors: dict[str, object]) -> None:
    window.add([some("a")])
    with pytest.raises(BadInput):
        window.analyze(descriptors=descriptors)


def test_deleting_needs_a_confirmation(window: ContextWindow) -> None:
    window.add([some("a")])
    with pytest.raises(Unconfirmed):
        window.prune(["a"], strategy="delete")
    assert active(window) == ["a"]


@pytest.mark.parametrize("chosen", [{}, {"segment_ids": ["a"], "plan_id": "p"}])
def test_ids_or_a_plan_and_not_both(window: ContextWindow, chosen: dict[str, object]) -> None:
    window.add([some("a")])
    with pytest.raises(BadInput, match="either segment_ids or plan_id"):
        window.prune(**chosen)  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="strategy 'burn' is unknown"):
        window.prune(["a"], strategy="burn")


REPEATED = "the very same long tool output again and again, line by line"


@pytest.mark.parametrize(
    ("strategy", "confirm", "deleted"),
    [("auto", False, []), ("auto", True, ["old"]), ("stash", True, []), ("delete", True, ["old", "other"])],
)
def test_auto_deletes_only_what_the_plan_would_delete_and_only_with_confirm(
    window: ContextWindow, strategy: str, confirm: bool, deleted: list[str]
) -> None:
    window.add([some("old", REPEATED, type="log"), some("other", "hm"), some("new", REPEATED, type="log", pinned=True)])
    seen = window.analyze(budget=0)
    assert {each.segment_id: each.action for each in seen.candidates} == {"old": "delete", "other": "stash"}
    done = window.prune(plan_id=seen.plan_id, strategy=strategy, confirm=confirm)
    assert sorted(gone.segment_id for gone in done.deleted) == deleted
    assert sorted(gone.segment_id for gone in (*done.deleted, *done.stashed)) == ["old", "other"]


def test_a_receipt_brings_back_what_was_deleted_and_what_was_stashed(
    memory: Memory, window: ContextWindow, home: Path
) -> None:
    window.add([some("a", "alpha walks", tokens=5), some("b", "beta", tokens=7), some("c", "gamma", tokens=9)])
    before = window.segments()
    gone = window.prune(["a"], strategy="delete", confirm=True)
    put = window.prune(["b"])
    assert (active(window), stashed(window)) == (["c"], ["b"])
    assert window.prune(["a"]).refused == {"a": "in the trash; undo_prune brings it back"}
    assert [item.id for item in memory.sweep.trash()[0]] == ["a"]
    assert problems(home) == []
    for done in (gone, put):
        assert memory.sweep.undo(str(done.receipt_id)).totals.segments == 1
    assert window.segments() == before
    assert problems(home) == []
    with pytest.raises(Conflict, match="undone already"):
        memory.sweep.undo(str(gone.receipt_id))


def test_undo_leaves_alone_an_id_that_was_taken_again(memory: Memory, window: ContextWindow, home: Path) -> None:
    window.add([some("a", "old text")])
    gone = window.prune(["a"], strategy="delete", confirm=True)
    window.add([some("a", "new text")])
    with pytest.raises(Conflict, match="of a, a segment with its id was added meanwhile"):
        memory.sweep.undo(str(gone.receipt_id))
    assert [segment.text for segment in window.segments()] == ["new text"]
    assert problems(home) == []


def test_purge_frees_what_was_deleted_and_nothing_that_was_stashed(
    memory: Memory, window: ContextWindow, home: Path
) -> None:
    window.add([some("a", "a most peculiar word: zanzibar", references=["b"]), some("b"), some("c")])
    gone = window.prune(["a"], strategy="delete", confirm=True)
    window.prune(["b"])
    assert memory.sweep.purge(0, confirm=True).segments == 1
    assert (active(window), stashed(window)) == (["c"], ["b"])
    assert problems(home) == []
    assert all(b"zanzibar" not in file.read_bytes() for file in home.rglob("*.db*"))
    with pytest.raises(Conflict, match="purged"):
        memory.sweep.undo(str(gone.receipt_id))
    assert window.restore(["b"]).restored[0].segment_id == "b"


def test_stashed_segments_can_be_deleted_from_the_stash(window: ContextWindow, home: Path) -> None:
    window.add([some("a"), some("b")])
    window.prune(["a"])
    done = window.prune(["a"], strategy="delete", confirm=True)
    assert done.change.tokens_before == done.change.tokens_after
    assert (active(window), stashed(window)) == (["b"], [])
    assert problems(home) == []


def test_a_restored_segment_is_back_in_its_place_as_it_was(window: ContextWindow) -> None:
    window.add([some("a"), some("b", references=["a"]), some("c")])
    before = window.segments()
    window.prune(["b", "a"])
    back = window.restore(["b", "a", "c", "nobody"])
    assert [segment.segment_id for segment in back.restored] == ["a", "b"]
    assert back.refused == {"c": "in the window already", "nobody": "unknown"}
    assert window.segments() == before


def test_a_budget_limits_what_is_restored(window: ContextWindow) -> None:
    window.add([some("a", tokens=10), some("b", tokens=10), some("c", tokens=10)])
    window.prune(["a", "b", "c"])
    back = window.restore(["c", "a", "b"], budget=25)
    assert [segment.segment_id for segment in back.restored] == ["a", "c"]
    assert back.refused == {"b": "its 10 tokens do not fit the budget"}
    with pytest.raises(BadInput, match="either segment_ids or query"):
        window.restore()
    with pytest.raises(BadInput, match="budget must be"):
        window.restore(["a"], budget=-1)


def test_the_stash_is_searched_by_words_and_their_endings_and_neighbours(window: ContextWindow) -> None:
    texts = ["far away", "which port is it?", "8080", "nothing", "we walked the dog", "漢字を読む"]
    window.add([some(str(n), text, tokens=10) for n, text in enumerate(texts)])
    assert window.search("port").hits == ()
    window.prune([str(n) for n in range(len(texts))])
    assert window.search("walking").hits[0][0].segment_id == "4"
    assert window.search("漢字").hits[0][0].segment_id == "5"
    assert window.search("unheard-of").hits == window.search("?!").hits == ()
    assert [segment.segment_id for segment in window.restore(query="port", budget=20).restored] == ["1", "2"]
    assert window.search('port" OR NEAR(').hits == ()


def test_a_query_for_the_whole_stash_fills_the_room_below_the_soft_limit(window: ContextWindow) -> None:
    window.add([some(f"s{n}", f"port {n}", tokens=10) for n in range(10)])
    window.prune([f"s{n}" for n in range(10)])
    window.configure(soft_tokens=45)
    assert window.restore(query="port").change.tokens_after == 40


def test_a_summary_stands_for_what_it_sums_up(window: ContextWindow, memory: Memory) -> None:
    window.add([some("a", tokens=500), some("b", tokens=500), some("pin", tokens=1, pinned=True)])
    done = window.compress(["a", "b", "pin"], "a and b in short")
    summary = window.segments()[-1]
    assert (summary.segment_id, summary.type, summary.references) == (done.summary_id, "summary", ("a", "b"))
    assert [gone.segment_id for gone in done.stashed] == ["a", "b"]
    assert done.refused == {"pin": "pinned"}
    assert (done.change.tokens_before, done.change.tokens_after) == (1001, 5)
    with pytest.raises(Conflict, match="Nothing can be compressed"):
        window.compress(["pin"], "short")


def test_undoing_a_compression_takes_the_summary_out_again(window: ContextWindow, memory: Memory) -> None:
    window.add([some("a", tokens=500), some("b", tokens=500), some("pin", tokens=1, pinned=True)])
    before = window.segments()
    done = window.compress(["a", "b"], "a and b in short")
    back = memory.sweep.undo(str(done.receipt_id))
    assert window.segments() == before
    assert window.segments(stashed=True) == before
    assert (window.state().tokens, window.state().segments, window.state().stashed) == (1001, 3, 0)
    assert (back.totals.segments, back.summaries) == (2, (done.summary_id,))
    way_back = f"undo_prune with {back.receipt_id} brings it back"
    assert undone(back)["message"] == f"Restored 2 segments. Moved the summary of them to the trash; {way_back}."
    assert memory.care.doctor().findings == ()
    memory.sweep.undo(str(back.receipt_id))
    assert active(window) == ["a", "b", "pin", done.summary_id]
    assert memory.care.doctor().findings == ()


def test_a_summary_that_was_stashed_meanwhile_does_not_come_back_beside_what_it_summed_up(
    window: ContextWindow, memory: Memory
) -> None:
    window.add([some("a", tokens=500), some("b", tokens=500), some("c", tokens=500)])
    first = window.compress(["a", "b"], "a and b in short")
    second = window.compress([str(first.summary_id), "c"], "all in short")
    assert memory.sweep.undo(str(first.receipt_id)).summaries == (first.summary_id,)
    assert active(window) == ["a", "b", second.summary_id]
    memory.sweep.undo(str(second.receipt_id))
    assert active(window) == ["a", "b", "c"]
    assert stashed(window) == []


def test_a_pinned_summary_stays_and_the_undo_says_so(window: ContextWindow, memory: Memory) -> None:
    window.add([some("a", tokens=500), some("b", tokens=500)])
    done = window.compress(["a", "b"], "in short")
    window.pin([str(done.summary_id)])
    back = memory.sweep.undo(str(done.receipt_id))
    assert active(window) == ["a", "b", done.summary_id]
    assert back.summaries == ()
    assert back.conflicts == ((done.summary_id, "this summary is pinned, so it stays in the window"),)


def test_a_summary_of_something_else_stays(window: ContextWindow, memory: Memory) -> None:
    window.add([some("a"), some("b"), some("x")])
    other = window.compress(["x"], "x in short")
    done = window.compress(["a"], "a in short")
    pruned = window.prune(["b"])
    memory.sweep.undo(str(pruned.receipt_id))
    assert active(window) == ["b", other.summary_id, done.summary_id]


def test_the_working_set_fits_and_changes_nothing(window: ContextWindow) -> None:
    window.add([some(str(n), tokens=10) for n in range(5)])
    chosen = window.working_set(35)
    assert (len(chosen.segments), chosen.left_out, chosen.change.tokens_after) == (3, 2, 30)
    assert len(active(window)) == 5


def test_pins_last_and_can_be_taken_off(window: ContextWindow) -> None:
    window.add([some("a", tokens=10), some("b", tokens=10)])
    assert window.pin(["a", "zz"]).refused == {"zz": "unknown"}
    assert window.analyze(budget=0).planned == {"b"}
    assert window.unpin(["a"]).pinned == ("a",)
    assert window.analyze(budget=0).planned == {"a", "b"}


def test_above_the_soft_limit_small_batches_are_stashed_by_themselves(window: ContextWindow, memory: Memory) -> None:
    window.configure(soft_tokens=100, hard_tokens=1000, changes_per_step=4, batch=3)
    added = [window.add([some(f"s{n}", tokens=20)]) for n in range(40)]
    assert {len(each.stashed) for each in added} <= {0, 3}
    state = window.state()
    assert state.tokens <= 100
    assert (state.segments + state.stashed, len(active(window))) == (40, state.segments)
    receipt = next(each.receipt_id for each in reversed(added) if each.stashed)
    assert memory.sweep.undo(str(receipt)).totals.segments == 3


def test_near_the_hard_limit_a_full_collection_runs(window: ContextWindow) -> None:
    window.configure(soft_tokens=100, hard_tokens=1000)
    window.add([some("a", tokens=10), some("b", tokens=10)])
    added = window.add([some("huge", tokens=895)])
    assert added.change.tokens_after <= 100
    assert "huge" in {gone.segment_id for gone in added.stashed}


def test_a_window_full_of_pins_is_left_alone_and_looked_at_now_and_then(window: ContextWindow) -> None:
    window.configure(soft_tokens=100, hard_tokens=1000)
    for n in range(30):
        assert window.add([some(f"s{n}", tokens=50, pinned=True)]).stashed == ()
    assert window.analyze().shortfall == 1400
    assert window.state().full_from > 1000


def test_a_step_leaves_alone_what_an_active_segment_refers_to(window: ContextWindow) -> None:
    window.configure(soft_tokens=100, hard_tokens=1000, changes_per_step=4)
    window.add([some("base", "um", tokens=1)])
    for n in range(20):
        window.add([some(f"s{n}", f"value_{n} is {n}", tokens=20, references=["base"])])
    assert "base" in active(window)


def test_survivors_of_collections_grow_old(window: ContextWindow) -> None:
    window.configure(changes_per_step=2)
    for n in range(4):
        window.add([some(f"s{n}")])
    ages = [(segment.generation, segment.gc_survival_count) for segment in window.segments()]
    assert ages == [("old", 2), ("old", 2), ("young", 1), ("young", 1)]


def test_limits_are_checked_and_kept(window: ContextWindow, memory: Memory) -> None:
    assert window.configure().config["soft_tokens"] == 100_000
    assert window.configure(soft_tokens=50, batch=2).config["batch"] == 2
    assert memory.context("session").configure().config["soft_tokens"] == 50
    assert memory.context("other").configure().config["soft_tokens"] == 100_000
    for bad in ({"soft_tokens": 0}, {"hard_tokens": 10}, {"batch": -1}, {"last_n": -1}, {"changes_per_step": 1.5}):
        with pytest.raises(BadInput):
            window.configure(**bad)  # type: ignore[arg-type]
    assert window.configure().config["hard_tokens"] == 200_000


def test_the_audit_log_says_what_happened(window: ContextWindow, memory: Memory) -> None:
    window.add([some("a", tokens=10)])
    plan_id = window.analyze(budget=0).plan_id
    done = window.prune(plan_id=plan_id)
    window.restore(["a"])
    events = memory.sweep.audit()
    assert [event.action for event in events] == ["restore", "context", "plan"]
    assert (events[1].subject, events[1].counts["tokens"], events[1].reason) == (
        done.receipt_id,
        10,
        f"planned: {plan_id}",
    )


async def _by_async_door(home: Path) -> list[str]:
    import memsweep

    async with memsweep.open_memory_async("w", home=home) as memory:
        window = memory.context("session")
        await window.add([some("a", tokens=5)])
        await window.prune(["a"])
        return [segment.segment_id for segment in await window.segments(stashed=True)]


def test_the_async_door_has_the_same_operations(home: Path) -> None:
    import anyio

    assert anyio.run(_by_async_door, home) == ["a"]


def test_what_a_new_segment_refers_to_was_touched_when_that_one_was_made(window: ContextWindow) -> None:
    later = (BORN + timedelta(hours=2)).isoformat()
    window.add([some(own, created_at=BORN.isoformat()) for own in ("old", "other", "away")])
    window.prune(["away"])
    window.add([some("new", created_at=later, references=["old", "away", "new", "unheard-of"])])
    touched = {each.segment_id: each.last_touched_at.isoformat() for each in window.segments(stashed=True)}
    assert touched == {
        "old": later,
        "other": BORN.isoformat(),
        "away": BORN.isoformat(),
        "new": later,
    }
    window.add([some("early", created_at=BORN.isoformat(), references=["new"])])
    assert window.segments()[2].last_touched_at.isoformat() == later, "a touch never goes back in time"


def test_what_was_referred_to_since_the_plan_stays(window: ContextWindow) -> None:
    window.add([some("a", "noise " * 50, created_at=BORN.isoformat()), some("b", created_at=BORN.isoformat())])
    plan = window.analyze(budget=30)
    assert plan.planned == {"a"}
    window.add([some("c", references=["a"])])
    assert window.prune(plan_id=plan.plan_id).refused == {"a": "changed since the plan was made"}


def test_a_deleted_window_is_in_the_trash_with_its_stash_and_comes_back(memory: Memory, home: Path) -> None:
    window = memory.context("session")
    window.add([some("a"), some("b"), some("kept", pinned=True), some("s")])
    window.prune(["s"])
    before = window.segments(stashed=True), window.state()
    with pytest.raises(Unconfirmed, match="confirm=true"):
        window.delete()
    gone = window.delete(confirm=True)
    assert [each.segment_id for each in gone.deleted] == ["a", "b", "s"]
    assert gone.refused == {"kept": "pinned"}
    assert active(window) == ["kept"]
    assert window.search("some words").hits == ()
    assert problems(home) == []
    memory.sweep.undo(str(gone.receipt_id))
    assert (window.segments(stashed=True), window.state()) == before
    assert stashed(window) == ["s"]
    assert problems(home) == []


def test_the_list_of_windows_has_those_that_hold_anything(memory: Memory) -> None:
    for name in ("two", "one", "none"):
        memory.context(name).add([some("a"), some("b")])
    memory.context("one").prune(["a"])
    memory.context("none").delete(confirm=True)
    assert [(row.project_id, row.segments, row.stashed) for row in memory.contexts()] == [("one", 1, 1), ("two", 2, 0)]


def test_clearing_the_workspace_clears_its_windows_and_can_be_undone(memory: Memory, home: Path) -> None:
    window = memory.context("session")
    memory.remember("a note")
    window.add([some("a"), some("pinned", pinned=True), some("s")])
    window.prune(["s"])
    before = window.segments(stashed=True), window.state()
    receipt = memory.sweep.clear("DELETE ALL MEMORIES")
    assert (receipt.totals.memories, receipt.totals.segments) == (1, 2)
    assert active(window) == ["pinned"]
    assert window.search("some words").hits == ()
    assert problems(home) == []
    assert memory.sweep.undo(receipt.id).totals.segments == 2
    assert (window.segments(stashed=True), window.state()) == before
    memory.sweep.clear("DELETE ALL MEMORIES")
    assert memory.sweep.purge(older_than_days=0, confirm=True).segments == 2
    assert problems(home) == []


def test_nothing_needs_to_go_from_a_window_that_fits(window: ContextWindow) -> None:
    window.configure(last_n=10)
    window.add([some(f"m{n}", f"turn {n}", role="assistant", tokens=44) for n in range(12)])
    seen = window.analyze(budget=100_000)
    assert (seen.reason, seen.notes, seen.plan_id, seen.change.tokens_before) == ("Nothing needs to go.", (), None, 528)
    assert {each.segment_id for each in seen.candidates} == {"m0", "m1"}, "the last ten are roots"
    assert window.analyze().reason == "Nothing needs to go."


def test_the_task_outlives_a_large_result_in_a_window(window: ContextWindow) -> None:
    window.configure(last_n=10)
    task = some("task", "Please fix cart.py and never change the public API.", role="user", tokens=11)
    turns = [some(f"m{n}", f"small turn {n}", role="assistant", tokens=12) for n in range(10)]
    window.add([task, *turns[:9], some("result", "x = 1", role="tool", type="log", tokens=4499), turns[9]])
    seen = window.analyze(budget=3500)
    assert (seen.planned, seen.change.tokens_after) == ({"result"}, 131)
    window.prune(plan_id=seen.plan_id)
    assert "result" not in active(window)
    assert len(active(window)) == 11


def test_pins_that_exceed_the_hard_limit_by_themselves_are_said(window: ContextWindow) -> None:
    window.configure(soft_tokens=50, hard_tokens=100)
    assert window.add([some("a", tokens=90, pinned=True), some("b", tokens=40)]).notes == ()
    (said,) = window.add([some("c", tokens=20, pinned=True)]).notes
    assert "110 tokens by itself, more than the hard limit of 100" in said
    assert window.add([some("d", tokens=1)]).notes == (), "not with every segment that follows"
    (said,) = window.add([some("e", tokens=500)]).notes
    assert "unpin some of it, or raise the limit" in said
    window.unpin(["c"])
    assert window.add([some("f", tokens=500)]).notes == ()


def test_a_dry_run_saves_neither_a_plan_nor_the_focus(window: ContextWindow, app: App) -> None:
    window.add([some("a", tokens=50), some("b", tokens=50, task_id="t1")])
    before = window.state()
    seen = window.analyze(budget=60, task_id="t1", dry_run=True)
    assert (seen.planned, seen.plan_id, seen.change.tokens_after) == ({"a"}, None, 50)
    assert window.state() == before
    assert window.analyze(budget=60, task_id="t1").plan_id is not None


def test_texts_stand_beside_ids(window: ContextWindow) -> None:
    long = "The first   words\nof a long story. " + "and so on " * 50
    window.add([some("a", long), some("b", long, pinned=True)])
    begins = window.analyze(budget=0).texts["a"]
    assert begins.startswith("The first words of a long story. and so on")
    assert len(begins) == 80
    done = window.prune(["a", "b", "c"])
    assert (done.stashed[0].text, done.texts) == (begins, {"b": begins})
    assert window.pin(["b", "c"]).texts == {"b": begins}


def test_a_hit_that_only_stands_beside_one_says_so(window: ContextWindow) -> None:
    window.add([some("q", "Which port has the gateway?"), some("a", "8080."), some("far", "x"), some("off", "y")])
    window.prune(["q", "a", "far", "off"])
    found = window.search("gateway port")
    assert [segment.segment_id for segment, _ in found.hits] == ["q", "a", "far"]
    assert found.beside == {"a", "far"}


def test_what_was_stashed_and_cleared_comes_back_in_the_reverse_order_only(
    window: ContextWindow, memory: Memory
) -> None:
    window.add([some("a", tokens=500), some("b", tokens=500), some("c", tokens=500)])
    done = window.compress(["a", "b"], "in short")
    cleared = memory.sweep.clear(CLEAR_PHRASE).id
    with pytest.raises(Conflict, match="is in the trash") as refused:
        memory.sweep.undo(str(done.receipt_id))
    assert refused.value.hint == f"Undo {cleared} first."
    memory.sweep.undo(cleared)
    assert memory.sweep.undo(str(done.receipt_id)).summaries == (done.summary_id,)
    assert (active(window), stashed(window)) == (["a", "b", "c"], [])
    assert memory.care.doctor().findings == ()


def test_an_undo_that_restores_nothing_does_not_spend_its_receipt(window: ContextWindow, memory: Memory) -> None:
    window.add([some("a", "old text")])
    gone = window.prune(["a"], strategy="delete", confirm=True)
    window.add([some("a", "new text")])
    with pytest.raises(Conflict, match="of a, a segment with its id was added meanwhile"):
        memory.sweep.undo(str(gone.receipt_id))
    again = window.prune(["a"], strategy="delete", confirm=True)
    assert memory.sweep.undo(str(gone.receipt_id)).totals.segments == 1
    assert [segment.text for segment in window.segments()] == ["old text"]
    with pytest.raises(Conflict, match="of a, a segment with its id was added meanwhile"):
        memory.sweep.undo(str(again.receipt_id))
