"""Laws that hold for every window."""

from hypothesis import given
from hypothesis import strategies as st

from memsweep.context import ContextHeap, Focus, GCEngine, Limits, compute_roots
from tests.context.build import NOW, segment, segment_lists

ENGINE = GCEngine()
BUDGETS = st.integers(0, 250)
FOCI = st.builds(
    Focus,
    task_id=st.sampled_from((None, "t1")),
    active_file=st.sampled_from((None, "a.py")),
    last_n=st.integers(0, 5),
)


def gone(plan):
    return {*plan.stash_segments, *plan.delete_segments}


@given(segment_lists(), FOCI, BUDGETS)
def test_pins_and_hard_roots_are_never_dropped(segments, focus, budget):
    plan = ENGINE.fit(segments, budget, now=NOW, focus=focus)
    assert gone(plan).isdisjoint(compute_roots(segments, focus, now=NOW, budget=budget).hard)


@given(segment_lists(), FOCI, BUDGETS)
def test_the_window_fits_the_budget_or_the_shortfall_is_the_difference(segments, focus, budget):
    plan = ENGINE.fit(segments, budget, now=NOW, focus=focus)
    after = sum(s.tokens for s in segments if s.segment_id not in gone(plan))
    assert plan.shortfall == max(0, after - budget)
    assert after == sum(s.tokens for s in segments) - plan.total_tokens_freed


@given(segment_lists(), FOCI, BUDGETS)
def test_a_shortfall_means_that_only_hard_roots_are_left(segments, focus, budget):
    plan = ENGINE.fit(segments, budget, now=NOW, focus=focus)
    if plan.shortfall:
        hard = compute_roots(segments, focus, now=NOW).hard
        assert all(s.segment_id in hard for s in segments if s.tokens and s.segment_id not in gone(plan))


@given(segment_lists(), FOCI, BUDGETS)
def test_soft_roots_take_at_most_half_the_budget(segments, focus, budget):
    soft = compute_roots(segments, focus, now=NOW, budget=budget).soft
    assert sum(s.tokens for s in segments if s.segment_id in soft) <= budget / 2


@given(segment_lists())
def test_scores_lie_between_zero_and_one(segments):
    candidates = ENGINE.analyze_pruning_candidates(segments, set(), now=NOW)
    assert all(0 <= c.keep_score <= 1 and c.prune_score == 1 - c.keep_score and c.reasons for c in candidates)


@given(segment_lists(), FOCI)
def test_the_same_window_gets_the_same_plan(segments, focus):
    assert ENGINE.fit(segments, 50, now=NOW, focus=focus) == ENGINE.fit(segments, 50, now=NOW, focus=focus)


def filled(segments, focus=None):
    heap = ContextHeap(focus=focus or Focus(), limits=Limits(changes_per_step=1000))
    for each in segments:
        heap.add(each, now=NOW)
    return heap


@given(segment_lists(), st.data())
def test_stash_then_restore_is_the_identity(segments, data):
    heap = filled(segments)
    before, tokens = heap.segments, heap.tokens
    chosen = data.draw(st.lists(st.sampled_from([s.segment_id for s in segments]))) if segments else []
    stashed = heap.prune(chosen).stashed
    heap.restore(stashed)
    assert (heap.segments, heap.tokens, heap.stashed) == (before, tokens, [])


@given(segment_lists(), FOCI, BUDGETS)
def test_collecting_twice_changes_nothing(segments, focus, budget):
    heap = filled(segments, focus)
    heap.collect(now=NOW, budget=budget)
    live, stashed = [s.segment_id for s in heap.segments], heap.stashed
    assert heap.collect(now=NOW, budget=budget).candidates == ()
    assert ([s.segment_id for s in heap.segments], heap.stashed) == (live, stashed)


@given(segment_lists(max_size=25), st.integers(1, 60))
def test_automatic_collections_lose_nothing_and_spare_pins(segments, soft):
    limits = Limits(soft_tokens=soft, hard_tokens=2 * soft, changes_per_step=2, batch_min=1)
    heap = ContextHeap(limits=limits, focus=Focus(last_n=2))
    for each in segments:
        heap.add(each, now=NOW)
    everything = {s.segment_id for s in (*heap.segments, *heap.stashed)}
    assert everything == {s.segment_id for s in segments}
    assert all(s.segment_id in heap for s in segments if s.pinned)


@given(st.lists(st.sampled_from(["stash", "restore", "pin", "unpin", "touch"]), max_size=12), st.data())
def test_the_token_count_is_always_the_sum(steps, data):
    heap = filled([segment(str(n), tokens=n, references=(str(n - 1),)) for n in range(6)])
    for step in steps:
        own = str(data.draw(st.integers(0, 5)))
        if step == "stash":
            heap.prune([own])
        elif step == "restore" and own not in heap:
            heap.restore([own])
        elif own in heap:
            heap.touch(own, now=NOW) if step == "touch" else getattr(heap, step if step != "restore" else "pin")([own])
        assert heap.tokens == sum(s.tokens for s in heap.segments)
        assert all(s.refcount == (str(int(s.segment_id) + 1) in heap) for s in heap.segments)
