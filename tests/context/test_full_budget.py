"""The budget is filled: whatever fits is spared, the best first, and what must stay beside it."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsweep.context import ContextSegment, Focus, GCEngine, sweep_messages
from tests.context.build import NOW, segment, segment_lists
from tests.context.window_laws import LAWS, Planned, keeps_fewer
from tests.faults import windows

BUDGETS = st.integers(0, 250)
FOCI = st.builds(
    Focus,
    task_id=st.sampled_from((None, "t1")),
    active_file=st.sampled_from((None, "a.py")),
    last_n=st.integers(0, 5),
)
NO_SOFT_ROOTS = Focus(last_n=0, decision_window=timedelta(0))


@pytest.mark.parametrize("law", LAWS, ids=[law.__name__ for law in LAWS])
@given(segments=segment_lists(), focus=FOCI, budget=BUDGETS)
def test_every_plan_keeps_the_law(law, segments, focus, budget):
    assert list(law(Planned(segments, focus, budget))) == []


@given(segment_lists(), st.lists(BUDGETS, min_size=2, max_size=6).map(sorted))
def test_without_soft_roots_a_higher_budget_never_keeps_fewer_tokens(segments, budgets):
    still = [each for each in segments if each.type != "decision"]  # a decision dated now is a recent one
    assert keeps_fewer(still, NO_SOFT_ROOTS, budgets) == []


def test_soft_roots_can_make_a_higher_budget_keep_fewer_tokens():
    """The counterexample: at 100 the last message has room among the soft roots, and leaves too little for the rest.

    The bound that holds with soft roots is `what_fits_is_spared`: less is left over than what goes first costs.
    """
    window = [
        segment("old", "we moved the api_gateway to port 8080 in April", role="assistant", tokens=95),
        segment("last", "well well well", role="assistant", tokens=20),
    ]
    below, above = (Planned(window, Focus(last_n=1), budget) for budget in (99, 100))
    assert (below.kept, above.kept) == ({"old"}, {"last"})
    assert (below.kept_tokens, above.kept_tokens) == (95, 20)


BROKEN = {
    "scores of their own": ("memsweep.context.engine.settled", lambda candidates, calls: candidates),
    "no room is filled": ("memsweep.context.plan._kept", lambda ordered, room: set()),
    "the first and the last may go": ("memsweep.context.roots._ends", lambda *given: {}),
    "nothing is said": ("memsweep.context.engine._weaknesses", lambda *given: ("no root leads to it",)),
    "a read may go before an older one": ("memsweep.context.beside.newest_reads", lambda segments: ()),
    "a step sees what it looks at": (
        "memsweep.context.steps._with_their_files",
        lambda window, examined: {each.segment.segment_id: each for each in sorted(examined, key=lambda h: h.place)},
    ),
    "from the newest on": ("memsweep.context.roots.sorted", lambda soft, key: list(reversed(soft))),
}


@pytest.mark.parametrize(("name", "instead"), BROKEN.values(), ids=BROKEN.keys())
def test_a_collector_that_breaks_its_laws_is_noticed(name, instead, monkeypatch):
    monkeypatch.setattr(name, instead, raising=False)
    assert any(windows.run(seed)["violations"] for seed in range(60))


TASK = "Please fix cart.py and never change the public API."


def window_with_a_large_result() -> list[ContextSegment]:
    small = [segment(f"m{n}", f"small turn {n} about the cart", role="assistant", tokens=12) for n in range(10)]
    return [
        segment("task", TASK, role="user", tokens=11),
        *small[:5],
        segment("call", 'read {"path": "cart.py"}', role="assistant", tokens=8),
        segment("result", "def total(): ...", role="tool", type="log", tokens=4499, references=("call",)),
        *small[5:],
    ]


@pytest.mark.parametrize("budget", [60, 200, 1000, 3500, 4600])
def test_a_result_that_does_not_fit_takes_nothing_else_with_it(budget):
    window = window_with_a_large_result()
    planned = Planned(window, Focus(), budget)
    assert "result" in planned.plan.segment_ids
    assert "task" in planned.kept
    assert planned.kept_tokens > min(budget - 13, 138)


def messages_with_a_large_result():
    call = {"id": "c", "type": "function", "function": {"name": "read", "arguments": '{"path": "cart.py"}'}}
    turns = [{"role": "assistant", "content": f"small turn {n} about the cart and its totals"} for n in range(12)]
    return [
        {"role": "user", "content": TASK},
        *turns[:6],
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "x = 1\n" * 4400},
        *turns[6:],
        {"role": "user", "content": "Go on."},
    ]


@pytest.mark.parametrize("budget", [60, 100, 200, 1000, 3600, 6700])
@pytest.mark.parametrize("form", ["openai", "anthropic"])
def test_a_list_is_swept_no_further_than_it_must(budget, form):
    messages = messages_with_a_large_result()
    swept = sweep_messages(messages, budget, form=form)
    assert swept.messages[0] == messages[0]
    assert swept.messages[-1] == messages[-1]
    small = sum(len(str(each["content"])) // 4 + 1 for each in messages if each["role"] != "tool")
    assert swept.tokens_after > min(budget, small) - 15


def test_the_task_and_the_last_question_stay_in_the_smallest_list():
    chat = [{"role": "user", "content": f"my api_key_{n} is in src/file_{n}.py since May {n}"} for n in range(20)]
    messages = [{"role": "user", "content": TASK}, *chat, {"role": "assistant", "content": "ok"}]
    swept = sweep_messages(messages, 26)
    assert swept.messages[0]["content"] == TASK
    assert chat[-1] in swept.messages


@given(st.lists(st.integers(1, 40), min_size=2, max_size=14), st.integers(0, 200))
def test_no_message_that_went_could_be_put_back(sizes, budget):
    roles = ("user", "assistant")
    messages = [{"role": roles[n % 2], "content": f"w{n} " * size} for n, size in enumerate(sizes)]
    swept = sweep_messages(messages, budget, count=lambda text: len(text.split()))
    gone = [len(message["content"].split()) for message in swept.stash]
    assert all(swept.tokens_after + tokens > budget for tokens in gone)


def read(own, path, text, tokens=100):
    return [
        segment(f"{own}-call", f'read {{"path": "{path}"}}', role="assistant", tokens=5),
        segment(own, text, role="tool", type="code", file_path=path, tokens=tokens, references=(f"{own}-call",)),
    ]


@pytest.mark.parametrize("budget", range(0, 460, 15))
def test_the_newer_read_of_a_file_outlives_the_older_one(budget):
    window = [
        segment("task", TASK, role="user", tokens=11),
        *read("old", "cart.py", "api_gateway moved to port 8080, decided in April by Anna"),
        *read("new", "cart.py", "well well well", tokens=120),
        *read("other", "tax.py", "rate_19 = 0.19 # since January 2007"),
        segment("go", "go on", role="user", tokens=2),
    ]
    kept = Planned(window, Focus(last_n=2), budget).kept
    assert "old" not in kept or "new" in kept
    assert "old" not in kept or "other" in kept, "the stale one is the first to go"


def parallel(number, *reads):
    """One assistant message with several calls, and their results."""
    calls = [
        {"id": f"{number}-{path}", "function": {"name": "read", "arguments": f'{{"path": "{path}"}}'}}
        for path, _ in reads
    ]
    results = [{"role": "tool", "tool_call_id": f"{number}-{path}", "content": text} for path, text in reads]
    return [{"role": "assistant", "content": None, "tool_calls": calls}, *results]


@pytest.mark.parametrize("budget", range(20, 700, 20))
def test_parallel_calls_are_matched_call_by_call(budget):
    first = parallel("a", ("cart.py", "old cart " * 60), ("tax.py", "tax table " * 60))
    second = parallel("b", ("cart.py", "new cart " * 60))
    messages = [{"role": "user", "content": TASK}, *first, *second, {"role": "user", "content": "Go on."}]
    swept = sweep_messages(messages, budget)
    assert first[1] not in swept.messages or second[1] in swept.messages
    if second[1] in swept.stash:
        assert first[1] in swept.stash


def test_results_of_one_message_do_not_replace_each_other():
    messages = [*parallel("a", ("cart.py", "cart " * 40), ("tax.py", "tax " * 40)), {"role": "user", "content": "ok"}]
    engine_sees = sweep_messages(messages, 30)
    assert not any("read again" in reason for reason in engine_sees.reasons.values())
    window = [
        segment("call", 'read {"path": "a"}\nread {"path": "b"}', role="assistant"),
        segment("one", "text of a", role="tool", type="log", references=("call",)),
        segment("two", "text of b", role="tool", type="log", references=("call",)),
    ]
    found = {each.segment_id: each for each in GCEngine().analyze_pruning_candidates(window, set(), now=NOW)}
    assert not any("again" in reason for own in ("one", "two") for reason in found[own].reasons)
