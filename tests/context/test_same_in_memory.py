"""A window in memory and a window on disk are the same to the steps that are taken in them."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memsweep.app import App
from memsweep.context import Focus, GCEngine, Limits, recalling, steps
from memsweep.context.heap import MemoryWindow
from memsweep.context.policy import Policy
from memsweep.context.receipts import Acting, take_out
from memsweep.context.steps import Leaving, Left, WindowJudge
from memsweep.model.segment import ContextSegment
from memsweep.store.windows import Windows
from tests.context.build import NOW, segment
from tests.context.test_window_laws import windows
from tests.support.counts import rounds

# A step looks at all of so small a window: whose turn it is among more than that is each window's own affair.
LIMITS = Limits(soft_tokens=120, hard_tokens=240, changes_per_step=3, batch_min=1, batch_max=3)
JUDGE = WindowJudge(GCEngine(), Policy(LIMITS, Focus(last_n=2)), NOW)
IDS = st.lists(st.integers(0, 24).map("s{}".format), max_size=4)
ACTS = st.one_of(
    st.tuples(st.just("stash"), IDS),
    st.tuples(st.just("delete"), IDS),
    st.tuples(st.just("restore"), IDS),
    st.tuples(st.just("pin"), IDS),
    st.tuples(st.just("compress"), IDS),
    st.tuples(st.just("collect"), st.integers(0, 200)),
)
Act = tuple[str, Any]
NAMES = count()


def take(window: Any, take_out: Callable[..., Left], number: int, act: Act) -> Any:
    """One act, and what it answers."""
    match act:
        case "add", segments:
            window.add(segments)
            return steps.collect_if_due(window, JUDGE, len(segments), take_out).stashed
        case ("stash" | "delete") as strategy, ids:
            leaving, refused = steps.choose(window, JUDGE.policy, ids, strategy, confirm=True)
            return take_out(leaving, "chosen", refused).deleted, refused
        case "restore", ids:
            back, refused = recalling.by_id(window, ids, 60)
            window.restore(back)
            return [held.segment for held in back], refused
        case "pin", ids:
            window.pin([held for held in window.find(ids).values() if not held.stashed], number % 2 == 0)
        case "compress", ids:
            if not steps.choose(window, JUDGE.policy, ids, "stash", confirm=False)[0]:
                return None
            made = partial(_summary, f"sum{number}")
            return steps.compress(window, JUDGE.policy, ids, made, take_out)[2]
        case "collect", budget:
            return steps.collect(window, JUDGE, budget, take_out, "asked for")[0]
    return None


def _summary(own: str, going: list[str]) -> ContextSegment:
    return segment(own, type="summary", tokens=3, references=tuple(going))


def in_memory(acts: list[Act]) -> list[Any]:
    window = MemoryWindow()

    def out(leaving: Leaving, why: str, refused: object = None) -> Left:
        window.stash([held for held, _ in leaving.stash])
        window.forget([held for held, _ in leaving.delete])
        return Left(steps.gone(leaving.stash), steps.gone(leaving.delete))

    seen = []
    for number, act in enumerate(acts):
        seen.append((take(window, out, number, act), shown(window, window.active() + window.stashed())))
    return seen


def on_disk(segments: Windows, name: str, acts: list[Act]) -> list[Any]:
    numbers = count()
    acting = Acting("test", NOW, lambda kind: f"{kind}_{name}_{next(numbers)}")
    seen = []
    for number, act in enumerate(acts):
        with segments.writing(name, create_at=NOW) as window:
            done = take(window, partial(take_out, window, acting), number, act)
            seen.append((done, shown(window, window.live())))
    return seen


def shown(window: Any, live: Any) -> Any:
    """All that both have to agree on."""
    state = replace(window.state, counted_by="")
    return state, sorted((held.place, held.stashed, held.segment) for held in live)


@pytest.fixture
def segments(app: App) -> Windows:
    app.memory().context("w").configure()
    return app.engine.open("default").windows


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=rounds(12, 60))
@given(given_segments=windows(max_size=25), more=st.lists(ACTS, max_size=8))
def test_the_same_acts_in_memory_and_on_disk_end_the_same(
    segments: Windows, given_segments: list[ContextSegment], more: list[Act]
) -> None:
    """But for ids in the trash, which memory does not have: it handed them back."""
    half = len(given_segments) // 2
    acts: list[Act] = [("add", [each]) for each in given_segments[:half]]
    acts += more + [("add", [each]) for each in given_segments[half:]] + more
    assert _plain(in_memory(acts)) == _plain(on_disk(segments, f"w{next(NAMES)}", acts))


def _plain(seen: Any) -> str:
    return repr(seen).replace("in the trash; undo_prune brings it back", "unknown")
