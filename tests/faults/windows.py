"""Random context windows: every plan keeps the laws of the collector, at every budget."""

import random
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

from memsweep.context import ContextHeap, ContextSegment, Focus, Limits, sweep_messages
from memsweep.context.forms import read_turn
from memsweep.context.messages import CANNOT_OPEN
from tests.context.build import NOW, segment
from tests.context.window_laws import Planned, broken, keeps_fewer, stale_reads

FILES = ("cart.py", "tax.py", "app.py", "README.md")
SAID = (
    "Please fix cart.py and never change the public API.",
    "the timeout is {n} seconds",
    "Actually, the timeout of the gateway is {n} seconds",
    "I moved to Lisbon on May {n}, with Anna",
    "go on",
    "um um um well well",
    "job_{n} failed in src/app.py at line {n}",
    "Decision: logs go to Loki.",
    "port: 80{n}",
)
NO_SOFT_ROOTS = Focus(last_n=0, decision_window=timedelta(0))


def run(seed: int) -> dict[str, Any]:
    """One window, several budgets, and the same conversation as a list of messages."""
    rng = random.Random(seed)
    window = list(_window(rng))
    focus = Focus(
        task_id=rng.choice((None, "t1")), active_file=rng.choice((None, *FILES[:2])), last_n=rng.choice((0, 1, 4, 10))
    )
    total = sum(each.tokens for each in window)
    budgets = sorted({rng.randint(0, total + 20) for _ in range(6)} | {total // 10, total // 2})
    plans = [Planned(window, focus, budget) for budget in budgets]
    found = [said for planned in plans for said in broken(planned)]
    timeless = [each for each in window if each.type != "decision"]
    found += keeps_fewer(timeless, NO_SOFT_ROOTS, budgets)
    found += _collected_twice(window, focus, rng.choice(budgets))
    found += _small_steps(window, focus, max(1, total // 3), rng.choice((3, 6, 64)))
    swept = [said for budget in budgets[::3] for said in _swept(_messages(rng), budget // 4)]
    return {
        "windows": 1,
        "plans": len(plans),
        "segments_planned": sum(len(planned.plan.candidates) for planned in plans),
        "lists": len(budgets[::3]),
        "violations": found + swept,
    }


def _window(rng: random.Random) -> Iterator[ContextSegment]:
    """A session: what is said, files that are read and read again, calls of several tools at once."""
    ids: list[str] = []
    for turn in range(rng.randint(1, 14)):
        kind = rng.choice(("said", "said", "answer", "reads", "loose"))
        for each in _turn(rng, kind, f"{turn}", ids):
            ids.append(each.segment_id)
            yield each


def _turn(rng: random.Random, kind: str, own: str, ids: Sequence[str]) -> Iterator[ContextSegment]:
    common = {
        "pinned": rng.random() < 0.05,
        "task_id": rng.choice((None, None, None, "t1")),
        "age_hours": rng.choice((0, 0.5, 3, 50)),
        "references": tuple(rng.sample(ids, 1)) if ids and rng.random() < 0.2 else (),
    }
    text = rng.choice(SAID).format(n=rng.randint(1, 60))
    match kind:
        case "said":
            yield segment(own, text, role="user", tokens=rng.randint(0, 40), **common)
        case "answer":
            yield segment(own, text * 3, role="assistant", tokens=rng.choice((5, 60, 900)), **common)
        case "loose":
            sort = rng.choice(("note", "decision", "summary", "log", "message"))
            yield segment(own, text, type=sort, tokens=rng.randint(0, 50), **common)
        case "reads":
            yield from _reads(rng, own, rng.random() < 0.5)


def _reads(rng: random.Random, own: str, one_message: bool) -> Iterator[ContextSegment]:
    """Calls, together or apart, and then their results."""
    paths = rng.sample(FILES, rng.randint(1, 3))
    calls = [f"{own}c"] * len(paths) if one_message else [f"{own}c{n}" for n in range(len(paths))]
    said = [f'read {{"path": "{path}"}}' for path in paths]
    for call in dict.fromkeys(calls):
        text = "\n".join(said) if one_message else said[calls.index(call)]
        yield segment(call, text, role="assistant", tokens=rng.randint(3, 12))
    for number, path in enumerate(paths):
        lines = rng.choice((None, None, (1, 40), (20, 60)))
        size = rng.choice((0, 20, 300, 4500))
        yield segment(
            f"{own}r{number}",
            rng.choice(
                (f"text of {path}, revision {rng.randint(1, 3)}", "a text that stands in every one of these files")
            ),
            role="tool",
            type=rng.choice(("code", "log")),
            file_path=path,
            line_range=lines,
            tokens=size,
            references=(calls[number],),
        )


def _collected_twice(window: Sequence[ContextSegment], focus: Focus, budget: int) -> Iterator[str]:
    """A second collection finds nothing, and what was stashed comes back as it was."""
    heap = ContextHeap(focus=focus, limits=Limits(soft_tokens=10**9, hard_tokens=10**9, changes_per_step=10**9))
    for each in window:
        heap.add(each, now=NOW)
    before = {each.segment_id: each.text for each in heap.segments}
    heap.collect(now=NOW, budget=budget)
    if again := heap.collect(now=NOW, budget=budget).candidates:
        yield f"a second collection to {budget} takes {again[0].segment_id}"
    heap.restore([each.segment_id for each in heap.stashed])
    if {each.segment_id: each.text for each in heap.segments} != before:
        yield "what was stashed did not come back"


def _small_steps(window: Sequence[ContextSegment], focus: Focus, soft: int, looks_at: int) -> Iterator[str]:
    """Collections on the way lose nothing and take neither a pin nor the user's first and last words.

    They look at a few segments at a time, and still take no newer read of a file before an older one.
    """
    limits = Limits(soft_tokens=soft, hard_tokens=10**9, changes_per_step=2, batch_min=1, step_segments=looks_at)
    heap = ContextHeap(limits=limits, focus=focus)
    for each in window:
        before = heap.segments
        gone = heap.add(each, now=NOW)
        yield from stale_reads([*before, each], {every.segment_id for every in heap.segments}, gone)
    if {each.segment_id for each in (*heap.segments, *heap.stashed)} != {each.segment_id for each in window}:
        yield "a step lost a segment"
    said = [each.segment_id for each in window if each.role == "user" and each.type == "message"]
    ends = {said[0], said[-1]} if said and focus.last_n else set()
    kept = {each.segment_id for each in window if each.pinned} | ends
    yield from (f"a step took {own}" for own in kept if own not in heap)


def _swept(messages: list[dict[str, Any]], budget: int) -> Iterator[str]:
    """The list is valid, filled, and has the fresh where it has the stale."""
    swept = sweep_messages(messages, budget, count=lambda text: len(text.split()))
    stays = [message for place, message in enumerate(messages) if place not in swept.reasons]
    waiting: set[str] = set()
    for turn in map(read_turn, stays):
        if not turn.answers <= waiting or (not turn.answers and waiting):
            yield f"a call and its results were parted at {budget}"
        waiting = waiting - turn.answers if turn.answers else set(turn.calls)
    if messages[-1] not in stays:
        yield f"the last message went at {budget}"
    reads = {message["content"]: message in stays for message in messages if message.get("tool_call_id")}
    if reads.get("old " * 30) and not reads.get("new " * 30, True):
        yield f"the old read stays without the new one at {budget}"
    free = [messages[place] for place, why in swept.reasons.items() if why != CANNOT_OPEN]
    small = [message for message in free if set(message) == {"role", "content"}]
    if any(swept.tokens_after + len(message["content"].split()) <= budget for message in small):
        yield f"a message could be put back at {budget}"


def _messages(rng: random.Random) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": SAID[0]}]
    reads = [("a", "old " * 30), ("b", "new " * 30)]
    for turn in range(rng.randint(2, 10)):
        messages.append({"role": rng.choice(("user", "assistant")), "content": f"w{turn} " * rng.randint(1, 60)})
        if reads and rng.random() < 0.4:
            number, text = reads.pop(0)
            messages += _read_again(number, text, rng.choice((0, 200)))
    return [*messages, {"role": "user", "content": "go on"}]


def _read_again(number: str, text: str, beside: int) -> list[dict[str, Any]]:
    """A read of cart.py, with a read of another file at the same time."""
    files = {f"{number}1": ("cart.py", text), f"{number}2": (f"{number}.py", f"other{number} " * beside)}
    calls = [
        {"id": own, "function": {"name": "read", "arguments": f'{{"path": "{path}"}}'}}
        for own, (path, _) in files.items()
    ]
    results = [{"role": "tool", "tool_call_id": own, "content": said} for own, (_, said) in files.items()]
    return [{"role": "assistant", "content": None, "tool_calls": calls}, *results]
