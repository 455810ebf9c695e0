"""Laws of the durable window, for windows of any shape."""

from collections.abc import Callable
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memsweep.app import App
from memsweep.context.service import ContextWindow
from memsweep.model.segment import ContextSegment
from tests.context.build import WORDS, segment
from tests.context.windows import active
from tests.support.counts import rounds

TASKS = (None, None, "t1", "t2")
Make = Callable[[list[ContextSegment]], ContextWindow]
one_store = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=rounds(10, 40))


@st.composite
def windows(draw: st.DrawFn, max_size: int = 12) -> list[ContextSegment]:
    ids = [f"s{number}" for number in range(draw(st.integers(1, max_size)))]
    return [
        segment(
            own,
            " ".join(draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=8))),
            age_hours=draw(st.integers(0, 100)),
            type=draw(st.sampled_from(("message", "code", "log", "note", "decision", "summary"))),
            role=draw(st.sampled_from((None, "user", "assistant", "tool", "system"))),
            pinned=draw(st.integers(0, 5)) == 0,
            task_id=draw(st.sampled_from(TASKS)),
            file_path=draw(st.sampled_from((None, None, "a.py"))),
            tags=draw(st.sampled_from(((), (), ("x",), ("invariant",)))),
            tokens=draw(st.integers(0, 30)),
            references=tuple(draw(st.lists(st.sampled_from(ids), max_size=2))),
        )
        for own in ids
    ]


@pytest.fixture
def fresh(app: App) -> Callable[[list[ContextSegment]], ContextWindow]:
    """A window of its own for every example, in one store."""
    numbers = count()

    def make(segments: list[ContextSegment]) -> ContextWindow:
        window = app.memory().context(f"w{next(numbers)}")
        window.configure(soft_tokens=10**9, hard_tokens=10**9)
        window.add(segments)
        return window

    return make


def hard(segments: list[ContextSegment], task: str | None) -> set[str]:
    return {s.segment_id for s in segments if s.pinned or s.is_invariant or (task and s.task_id == task)}


@one_store
@given(data=st.data())
def test_pins_and_hard_roots_never_leave(fresh: Make, data: st.DataObject) -> None:
    segments, task = data.draw(windows()), data.draw(st.sampled_from((None, "t1")))
    window = fresh(segments)
    seen = window.analyze(budget=data.draw(st.integers(0, 200)), task_id=task)
    assert seen.planned.isdisjoint(hard(segments, task))
    chosen = data.draw(st.lists(st.sampled_from([s.segment_id for s in segments])))
    by_plan = seen.plan_id is not None and data.draw(st.booleans())
    strategy = data.draw(st.sampled_from(("auto", "stash", "delete")))
    done = (
        window.prune(plan_id=seen.plan_id, strategy=strategy, confirm=True)
        if by_plan
        else window.prune(chosen, strategy=strategy, confirm=True)
    )
    assert hard(segments, task) <= set(active(window))
    if not by_plan:
        assert set(done.refused) == hard(segments, task) & set(chosen)


@one_store
@given(data=st.data())
def test_undo_is_the_identity(app: App, fresh: Make, data: st.DataObject) -> None:
    segments = data.draw(windows())
    window = fresh(segments)
    before = window.segments()
    chosen = data.draw(st.lists(st.sampled_from([s.segment_id for s in segments]), min_size=1))
    done = window.prune(chosen, strategy=data.draw(st.sampled_from(("stash", "delete"))), confirm=True)
    if done.receipt_id is not None:
        app.memory().sweep.undo(done.receipt_id)
    assert window.segments() == before
