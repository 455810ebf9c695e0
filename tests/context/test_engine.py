"""The engine: roots, reachability, scores, targets, pins and a large window; then its behaviour as it collects."""

from datetime import timedelta

import pytest

from memsweep.context import Focus, GCEngine, Weights, compute_roots
from memsweep.errors import BadInput
from tests.context.build import NOW, segment

ENGINE = GCEngine()


def ids(items):
    return [item.segment_id for item in items]


def test_a_simple_root_set_is_the_current_task():
    segments = [segment("a", task_id="t1"), segment("b", task_id="t2"), segment("c")]
    roots = compute_roots(segments, Focus(task_id="t1", last_n=0), now=NOW)
    assert (list(roots.hard), list(roots.soft)) == (["a"], [])


def test_a_complex_root_set_names_a_reason_for_each():
    segments = [
        segment("task", task_id="t1", type="note"),
        segment("pin", pinned=True, type="log"),
        segment("rule", type="note", tags=("invariant",)),
        segment("system", role="system"),
        segment("file", type="code", file_path="a.py"),
        segment("region", type="code", file_path="a.py", line_range=(5, 9)),
        segment("open", type="code", file_path="b.py"),
        segment("edited", type="code", file_path="c.py"),
        segment("choice", type="decision", age_hours=0.5),
        segment("old choice", type="decision", age_hours=2),
        segment("first"),
        segment("last"),
    ]
    focus = Focus(
        task_id="t1",
        active_file="a.py",
        line_range=(8, 20),
        open_files=frozenset({"b.py"}),
        recently_edited=frozenset({"c.py"}),
        last_n=1,
    )
    roots = compute_roots(segments, focus, now=NOW)
    assert roots.hard == {
        "task": "belongs to the current task",
        "pin": "pinned",
        "rule": "holds for the whole session",
        "system": "holds for the whole session",
    }
    assert roots.soft == {
        "file": "of the active file",
        "region": "in the edited region",
        "open": "of an open file",
        "edited": "of a recently edited file",
        "choice": "a recent decision",
        "last": "among the last 1 messages",
    }


@pytest.mark.parametrize(
    ("references", "roots", "reachable"),
    [
        ({}, {"a"}, {"a"}),
        ({"a": {"b"}, "b": {"c"}}, {"a"}, {"a", "b", "c"}),
        ({"a": {"b"}, "b": {"a"}, "c": {"d"}, "d": {"c"}}, {"a"}, {"a", "b"}),
        ({"a": {"a"}}, {"a"}, {"a"}),
        ({"a": {"b"}}, set(), set()),
        ({str(n): {str(n + 1)} for n in range(5000)}, {"0"}, {str(n) for n in range(5001)}),
    ],
    ids=["alone", "chain", "two cycles", "itself", "no roots", "5,000 hops"],
)
def test_reachability_follows_chains_and_cycles(references, roots, reachable):
    assert ENGINE.compute_reachability(roots, references) == reachable


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        (segment("a"), segment("b", age_hours=24)),
        (segment("a", type="decision"), segment("b", type="log")),
        (segment("a", type="note"), segment("b", type="code")),
        (segment("a", refcount=5), segment("b", refcount=1)),
        (segment("a"), segment("b", generation="old")),
        (segment("a", "moved to port 8080 in src/app.py"), segment("b", "well well well well well")),
        (segment("a", "I met Anna in March", role="user"), segment("b", "I met Anna in March", role="assistant")),
        (segment("a", age_hours=-3), segment("b", age_hours=1)),
    ],
    ids=[
        "newer",
        "type",
        "decisions before logs",
        "references",
        "young",
        "information",
        "speaker",
        "touched ahead of now",
    ],
)
def test_the_better_segment_has_the_lower_prune_score(better, worse):
    low, high = ENGINE.score_segment(better, NOW), ENGINE.score_segment(worse, NOW)
    assert 0 <= low < high <= 1


@pytest.mark.parametrize(
    ("target", "taken", "shortfall"),
    [(0, 0, 0), (1, 1, 0), (100, 1, 0), (101, 2, 0), (500, 5, 0), (501, 5, 1)],
)
def test_a_plan_meets_its_target_or_says_how_far_it_is_short(target, taken, shortfall):
    candidates = ENGINE.analyze_pruning_candidates([segment(str(n), tokens=100) for n in range(5)], set(), now=NOW)
    plan = ENGINE.generate_pruning_plan(candidates, target)
    assert (len(plan.candidates), plan.total_tokens_freed, plan.shortfall) == (taken, taken * 100, shortfall)
    assert (str(shortfall) in plan.reason) or not shortfall


def test_pinned_segments_are_never_candidates():
    segments = [segment("a", pinned=True), segment("b")]
    assert ids(ENGINE.analyze_pruning_candidates(segments, set(), now=NOW)) == ["b"]


def test_a_large_window_is_planned_in_one_go():
    segments = [segment(str(n), f"line {n} of the log", references=(str(n - 1),)) for n in range(3000)]
    plan = ENGINE.fit(segments, 1000, now=NOW)
    assert sum(s.tokens for s in segments) - plan.total_tokens_freed <= 1000
    # Asked for once per candidate, so put together only once.
    assert plan.segment_ids is plan.segment_ids


def test_unreachable_goes_before_reachable_whatever_the_scores():
    segments = [
        segment("root", pinned=True, references=("poor",)),
        segment("poor", "um um um", type="log", age_hours=500),
        segment("rich", "release 2.4 of api_gateway ships on 3 June", type="decision"),
    ]
    assert ids(ENGINE.analyze_pruning_candidates(segments, set(), now=NOW)) == ["rich", "poor"]


def test_soft_roots_shrink_oldest_first_to_half_the_budget_and_say_so():
    segments = [segment(str(n), tokens=10, age_hours=10 - n) for n in range(10)]
    roots = compute_roots(segments, Focus(last_n=10), now=NOW, budget=60)
    assert list(roots.soft) == ["7", "8", "9"]
    assert "7 soft roots" in roots.note


def test_the_edited_region_is_the_last_soft_root_to_go():
    segments = [
        segment("region", type="code", file_path="a.py", line_range=(1, 9), tokens=10, age_hours=99),
        segment("rest", type="code", file_path="a.py", line_range=(50, 60), tokens=10),
    ]
    roots = compute_roots(segments, Focus(active_file="a.py", line_range=(3, 4)), now=NOW, budget=20)
    assert list(roots.soft) == ["region"]


def chat(count, tokens=10, **more):
    return [segment(str(n), f"turn {n} of {count}", role="assistant", tokens=tokens, **more) for n in range(count)]


def test_nothing_gives_way_where_everything_fits():
    seen = ENGINE.analyze(chat(10, tokens=52), now=NOW, budget=528)
    assert (len(seen.roots.soft), seen.roots.note, seen.candidates) == (10, "", [])
    assert ENGINE.fit(chat(10, tokens=52), 100_000, now=NOW).reason == "Nothing needs to go."


def test_what_gave_way_says_so_and_is_the_oldest_whatever_its_date():
    window = [*chat(10, age_hours=1)[:5], *chat(10)[5:]]
    window[7] = segment("7", "turn 7 of 10", role="assistant", tokens=10, age_hours=500)
    seen = ENGINE.analyze(window, now=NOW, budget=90)
    soft = int(90 * Weights().soft_share) // 10
    assert list(seen.roots.soft) == [str(n) for n in range(10)][-soft:]
    reasons = {candidate.segment_id: candidate.reasons for candidate in seen.candidates}
    assert all("among the last 10 messages, but it gave way to the budget" in said for said in reasons.values())
    assert not any("no root leads to it" in said for said in reasons.values())


def test_one_long_message_does_not_make_the_others_give_way():
    window = [*chat(9), segment("long", "x", role="assistant", tokens=5000)]
    seen = ENGINE.analyze(window, now=NOW, budget=1000)
    assert (list(seen.roots.released), len(seen.roots.soft)) == (["long"], 9)


def test_the_note_counts_what_goes_and_speaks_english():
    window = [*chat(9), segment("long", "x", role="assistant", tokens=5000)]
    seen = ENGINE.analyze(window, now=NOW, budget=1000)
    assert seen.roots.note_on(["long"]) == "1 soft root, the oldest, gave way to the budget."
    assert seen.roots.note_on([]) == ""
    assert ENGINE.fit(window, 1000, now=NOW).reason.startswith("1 segment frees 5000 of 4090 tokens:")


@pytest.mark.parametrize(("tokens", "said"), [(8, False), (400, True)])
def test_a_short_text_is_not_said_to_be_long(tokens, said):
    (only,) = ENGINE.analyze_pruning_candidates([segment("a", "um um um", tokens=tokens)], set(), now=NOW)
    assert ("says little for its length" in only.reasons) is said


def test_an_old_read_of_the_active_file_is_no_root():
    window = [segment(own, "x = 1", type="code", role="tool", file_path="a.py", tokens=50) for own in ("old", "new")]
    seen = ENGINE.analyze(window, now=NOW, focus=Focus(active_file="a.py"))
    assert (list(seen.roots.soft), seen.candidates[0].segment_id) == (["new"], "old")
    assert seen.candidates[0].reasons[0] == "read again in new"


def test_hard_roots_leave_soft_roots_only_what_remains():
    segments = [segment("pin", tokens=95, pinned=True), segment("last", tokens=10)]
    plan = ENGINE.fit(segments, 100, now=NOW)
    assert plan.stash_segments == ("last",)


@pytest.mark.parametrize(
    ("changes", "action"),
    [
        ({}, "compress"),
        ({"age_hours": 0}, "stash"),
        ({"tokens": 20}, "stash"),
        ({"type": "log"}, "stash"),
    ],
    ids=["cold, important, verbose", "warm", "short", "unimportant"],
)
def test_what_is_cold_important_and_verbose_is_to_be_compressed(changes, action):
    big = segment("a", **({"type": "note", "tokens": 900, "age_hours": 400} | changes))
    assert ENGINE.analyze_pruning_candidates([big], set(), now=NOW)[0].action == action


def test_only_a_repeated_result_is_deleted_and_only_when_confirmed():
    text = "the very same output of the very same command"
    segments = [segment("old", text, type="log"), segment("new", text, type="log")]
    candidates = ENGINE.analyze_pruning_candidates(segments, set(), now=NOW)
    assert ENGINE.generate_pruning_plan(candidates, 1).stash_segments == ("old",)
    assert ENGINE.generate_pruning_plan(candidates, 1, confirm_delete=True).delete_segments == ("old",)


def test_a_segment_too_big_does_not_push_out_small_ones_for_nothing():
    segments = [
        segment("small", "ok then", tokens=5, type="log"),
        segment("big", "so what", tokens=500, type="log"),
        segment("good", "use port 8080 for api_gateway", tokens=90, type="decision"),
    ]
    plan = ENGINE.fit(segments, 100, now=NOW, focus=Focus(last_n=0, decision_window=timedelta(0)))
    assert plan.stash_segments == ("big",)


def test_what_is_long_counts_for_more_at_the_start_of_a_session_than_later():
    plans = [segment(name, " ".join(f"{name}{n}" for n in range(200)), role="assistant") for name in ("early", "late")]
    chat = [segment(f"chat{n}", f"word{n}", role="user") for n in range(100)]
    window = [plans[0], *chat, plans[1]]

    def lead(engine):
        scores = {
            each.segment_id: each.keep_score for each in engine.analyze_pruning_candidates(window, set(), now=NOW)
        }
        return scores["early"] - scores["late"]

    assert lead(ENGINE) > 0.05
    assert lead(GCEngine(Weights(opening=0))) == pytest.approx(0, abs=0.03)


def test_weights_are_the_callers_to_change():
    old, new = segment("old", age_hours=100), segment("new", "a b")
    only_recency = GCEngine(Weights(information=0, references=0, type=0, generation=0, recency=1))
    assert ids(only_recency.analyze_pruning_candidates([new, old], set(), now=NOW)) == ["old", "new"]


@pytest.mark.parametrize(
    "call",
    [
        lambda: ENGINE.fit([segment("a"), segment("a")], 10, now=NOW),
        lambda: ENGINE.fit([], -1, now=NOW),
        lambda: ENGINE.generate_pruning_plan([], -1),
        lambda: ENGINE.fit([], 1, now=NOW.replace(tzinfo=None)),
        lambda: ENGINE.analyze_pruning_candidates([], set(), now=NOW.replace(tzinfo=None)),
        lambda: ENGINE.score_segment(segment("a"), NOW.replace(tzinfo=None)),
    ],
    ids=["same id", "budget", "target", "naive fit", "naive analysis", "naive score"],
)
def test_bad_input_is_refused(call):
    with pytest.raises(BadInput):
        call()
