"""Small steps look at a few segments, and still never take a newer read of a file before an older one."""

import json
from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memsweep.app import App
from memsweep.context import ContextHeap, Focus, GCEngine, Limits, steps, sweep_messages
from memsweep.context.policy import Policy
from memsweep.context.receipts import Acting, take_out
from memsweep.context.steps import WindowJudge
from memsweep.model.segment import ContextSegment
from memsweep.store.windows import Windows
from tests.context.build import NOW, segment
from tests.context.window_laws import stale_reads
from tests.support.counts import rounds
from tests.support.engines import on_every_engine

LIMITS = Limits(soft_tokens=60, hard_tokens=10**6, changes_per_step=2, step_segments=3, batch_min=1, batch_max=2)
JUDGE = WindowJudge(GCEngine(), Policy(LIMITS, Focus(last_n=1)), NOW)
ODD_PATHS = ("a.py", "a.py ", " a.py", "A.PY", "", " ", "a\n.py", "ü😀.py", "e\u0301.py", "x" * 4500, "x" * 4501)
NAMES = count()
SEVERAL = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=rounds(12, 60))


@st.composite
def sessions(draw: st.DrawFn, paths: tuple[str, ...] = ("a.py", "b.py")) -> list[ContextSegment]:
    """Files that are read over and over, whole or in part, among other things."""
    texts = st.sampled_from(("words", "a text that is the same in more than one file of these"))
    return [
        segment(
            f"s{number}",
            draw(texts),
            age_hours=draw(st.integers(0, 50)),
            type=draw(st.sampled_from(("code", "log", "message"))),
            role=draw(st.sampled_from(("tool", "tool", "tool", "user"))),
            pinned=draw(st.integers(0, 9)) == 0,
            file_path=draw(st.sampled_from((None, *paths))),
            line_range=draw(st.sampled_from((None, None, (1, 40), (20, 30), (20, 60)))),
            tokens=draw(st.integers(1, 30)),
        )
        for number in range(draw(st.integers(5, 30)))
    ]


@pytest.fixture
def segments(app: App) -> Windows:
    app.memory().context("w").configure()
    return app.engine.open("default").windows


def broken_on_disk(segments: Windows, session: list[ContextSegment]) -> list[str]:
    name, numbers, broken = f"w{next(NAMES)}", count(), []
    acting = Acting("test", NOW, lambda kind: f"{kind}_{name}_{next(numbers)}")
    for each in session:
        with segments.writing(name, create_at=NOW) as window:
            before = [held.segment for held in window.active()]
        with segments.writing(name) as window:
            window.add([each])
            left = steps.collect_if_due(window, JUDGE, 1, partial(take_out, window, acting))
        with segments.reading(name) as after:
            kept = {held.segment.segment_id for held in after.active()}
        broken += stale_reads([*before, each], kept, {gone.segment_id for gone in left.stashed})
    return broken


@on_every_engine
@pytest.mark.slow
@SEVERAL
@given(session=sessions())
def test_a_newer_read_never_leaves_before_an_older_one(segments: Windows, session: list[ContextSegment]) -> None:
    assert broken_on_disk(segments, session) == []


@on_every_engine
@pytest.mark.slow
@SEVERAL
@given(session=sessions(paths=ODD_PATHS))
def test_the_name_of_a_file_may_be_any_text(segments: Windows, session: list[ContextSegment]) -> None:
    assert broken_on_disk(segments, session) == []


@given(session=sessions(), looks_at=st.integers(1, 8))
def test_nor_does_it_in_memory(session: list[ContextSegment], looks_at: int) -> None:
    limits = Limits(soft_tokens=60, hard_tokens=10**6, changes_per_step=2, step_segments=looks_at, batch_min=1)
    heap = ContextHeap(limits=limits, focus=Focus(last_n=1))
    for each in session:
        before = heap.segments
        gone = heap.add(each, now=NOW)
        assert list(stale_reads([*before, each], {kept.segment_id for kept in heap.segments}, gone)) == []


@on_every_engine
@pytest.mark.slow
@SEVERAL
@given(session=sessions(paths=ODD_PATHS), wanted=st.sets(st.sampled_from(ODD_PATHS)))
def test_segments_are_found_by_their_file(segments: Windows, session: list[ContextSegment], wanted: set[str]) -> None:
    name = f"w{next(NAMES)}"
    for other in (name, f"{name}-beside"):
        with segments.writing(other, create_at=NOW) as window:
            window.add(session)
            receipt = window.add_receipt(f"rcp_{other}", "test", NOW, plan_id=None, counts={}, refused=())
            window.stash(window.active()[::3], receipt)
            expected = [held.segment for held in window.active() if held.segment.file_path in wanted]
            assert [held.segment for held in window.of_files(wanted)] == expected
    with segments.reading(name) as window:
        assert [held.segment for held in window.of_files(wanted)] == expected


@on_every_engine
@pytest.mark.slow
def test_the_old_read_of_a_file_goes_though_it_is_not_its_turn(make: Callable[..., App]) -> None:
    window = make(MEMSWEEP_CONTEXT_LAST_N="0").memory().context("session")
    window.configure(soft_tokens=10**5, hard_tokens=10**6, batch=1)
    old, new = _read("old", 900), _read("new", 900)
    window.add([old, *({"segment_id": f"n{each}", "text": "a note", "pinned": True} for each in range(70)), new])
    window.configure(soft_tokens=1500, hard_tokens=10**6)
    gone = window.add([{"segment_id": "last", "text": "go on", "role": "user"}]).stashed
    assert [each.segment_id for each in gone] == ["old"]


def _read(own: str, tokens: int) -> dict[str, Any]:
    return {
        "segment_id": own,
        "text": f"{own} text of the file",
        "type": "code",
        "role": "tool",
        "file_path": "cart.py",
        "tokens": tokens,
    }


SPELLINGS = ("./src/cart.py", "src//cart.py", "lib/../src/cart.py", "src/./cart.py")


@on_every_engine
@pytest.mark.parametrize("spelled", SPELLINGS)
def test_a_file_is_the_same_however_its_path_is_spelled(make: Callable[..., App], spelled: str) -> None:
    window = make(MEMSWEEP_CONTEXT_LAST_N="0").memory().context("session")
    window.add([{**_read("old", 900), "file_path": "src/cart.py"}, {**_read("new", 900), "file_path": spelled}])
    found = {each.segment_id: each for each in window.analyze(budget=1000).candidates}
    assert found["old"].reasons[0] == "read again in new"
    assert window.analyze(budget=1000).planned == {"old"}
    told = window.analyze(budget=5000, descriptors={"active_file": spelled})
    assert "new" not in {each.segment_id for each in told.candidates}, "it is of the active file"


@pytest.mark.parametrize("budget", range(20, 330, 30))
@pytest.mark.parametrize("spelled", SPELLINGS)
def test_so_it_is_in_a_list_of_messages(budget: int, spelled: str) -> None:
    old, new = (_call_and_result(own, path) for own, path in (("old", "src/cart.py"), ("new", spelled)))
    swept = sweep_messages(
        [{"role": "user", "content": "Fix it."}, *old, *new, {"role": "user", "content": "ok"}], budget
    )
    assert old[1] not in swept.messages or new[1] in swept.messages


def _call_and_result(own: str, path: str) -> list[dict[str, Any]]:
    call = {"id": own, "function": {"name": "read", "arguments": json.dumps({"path": path})}}
    result = {"role": "tool", "tool_call_id": own, "content": f"{own} text " * 50}
    return [{"role": "assistant", "content": None, "tool_calls": [call]}, result]
