"""What the context collector costs: analysis and plan by size, and one more segment at any size, wherever it is kept.

python benchmarks/context.py [--json FILE] [--most N]

CPU seconds, the best of a few tries. `growth` compares a size with the smallest, and with the one
before it, which a busy machine blurs: 1.0 is n log n.
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from common import Figure, at_most, show_figures, write_json
from falkor_server import server_in
from memsweep import open_memory
from memsweep.app import make_app
from memsweep.context import ContextHeap, ContextSegment, Focus, GCEngine, Limits
from memsweep.settings import load_settings

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SIZES = (1_000, 10_000, 100_000, 1_000_000)
TRIES = {1_000: 10, 10_000: 5, 100_000: 3, 1_000_000: 2}
TYPES = ("message", "message", "message", "code", "log", "note", "decision")
ROLES = ("user", "assistant", "tool", None)
VOCABULARY = [f"{head}{tail}" for head in ("con", "pre", "sub", "trans") for tail in ("form", "port", "act", "late")]


def make_segments(count: int, *, topics: int = 0, words: int = 20) -> list[ContextSegment]:
    """A made-up session: some words, some identifiers, up to three references back each."""
    rng = random.Random(count)
    return [_segment(number, rng, topics, words) for number in range(count)]


def _segment(number: int, rng: random.Random, topics: int, words: int) -> ContextSegment:
    text = " ".join(rng.choices(VOCABULARY, k=words)) + f" item_{rng.randrange(1 + number)}"
    moment = NOW - timedelta(seconds=rng.randrange(100_000))
    references = {str(rng.randrange(number)) for _ in range(rng.randrange(4))} if number else ()
    return ContextSegment(
        segment_id=str(number),
        text=text,
        type=rng.choice(TYPES),  # type: ignore[arg-type]
        created_at=moment,
        last_touched_at=moment,
        role=rng.choice(ROLES),  # type: ignore[arg-type]
        topic_id=f"topic{number % topics}" if topics else None,
        references=tuple(references),
    )


def analyse_and_plan(segments: Sequence[ContextSegment]) -> float:
    """CPU seconds from a list of segments to a plan that frees half of it."""
    budget = sum(segment.tokens for segment in segments) // 2
    began = time.process_time()
    GCEngine().fit(segments, budget, now=NOW)
    return time.process_time() - began


def cost_of_one_more(count: int, tries: int = 500) -> dict[str, float]:
    """Median microseconds to add, stash and restore one segment in a heap of `count`."""
    roomy = Limits(soft_tokens=1 << 60, hard_tokens=1 << 60)
    heap = ContextHeap(limits=roomy, focus=Focus())
    segments = make_segments(count + tries)
    for segment in segments[:count]:
        heap.add(segment, now=NOW)
    more = segments[count:]
    return {
        "add": _median_us(more, lambda segment: heap.add(segment, now=NOW)),
        "stash": _median_us(more, lambda segment: heap.prune([segment.segment_id])),
        "restore": _median_us(more, lambda segment: heap.restore([segment.segment_id])),
    }


def cost_of_one_more_on_disk(count: int, tries: int = 100) -> dict[str, float]:
    """The same in a durable window, in CPU time: how long the disk takes to sync a transaction is its own affair."""
    with tempfile.TemporaryDirectory(prefix="memsweep-bench-") as home, open_memory(home=home) as memory:
        return _cost_in(memory.context("bench"), count, tries, time.process_time)


def cost_of_one_more_on_falkor(count: int, tries: int = 100) -> dict[str, float]:
    """The same in a window of a FalkorDB server, by the clock on the wall: the work is done in another process."""
    with tempfile.TemporaryDirectory(prefix="memsweep-bench-") as home, server_in(Path(home)) as server:
        app = make_app(load_settings({"MEMSWEEP_HOME": home, "MEMSWEEP_STORE": server.url}))
        try:
            return _cost_in(app.memory().context("bench"), count, tries, time.perf_counter)
        finally:
            app.close()


ON_FALKOR = "on FalkorDB"
COSTS = {
    "in memory": cost_of_one_more,
    "on disk": cost_of_one_more_on_disk,
    ON_FALKOR: cost_of_one_more_on_falkor,
}


def _cost_in(window: Any, count: int, tries: int, clock: Callable[[], float]) -> dict[str, float]:
    window.configure(soft_tokens=1 << 50, hard_tokens=1 << 50)
    segments = make_segments(count + 2 * tries)
    for at in range(0, count, 5_000):
        window.add(segments[at : min(count, at + 5_000)])
    window.prune([segment.segment_id for segment in segments[: count // 2]])
    for segment in segments[count : count + tries]:  # pages in the cache, statements prepared
        window.add([segment])
    more = segments[count + tries :]
    return {
        "add": _median_us(more, lambda segment: window.add([segment]), clock),
        "stash": _median_us(more, lambda segment: window.prune([segment.segment_id]), clock),
        "restore": _median_us(more, lambda segment: window.restore([segment.segment_id]), clock),
    }


def _median_us(
    segments: Sequence[ContextSegment],
    act: Callable[[ContextSegment], object],
    clock: Callable[[], float] = time.perf_counter,
) -> float:
    times = []
    for segment in segments:
        began = clock()
        act(segment)
        times.append(clock() - began)
    return round(statistics.median(times) * 1e6, 1)


def measure(most: int) -> Iterator[Figure]:
    window = make_segments(190, words=85)
    assert sum(segment.tokens for segment in window) > 32_000
    yield at_most("analyse and plan 32k tokens", best_of(20, window), 0.02, "s")
    yield at_most("10,000 segments with 50 topics", best_of(5, make_segments(10_000, topics=50)), 0.5, "s")
    least: tuple[int, float] | None = None
    before = (0, 0.0)
    for count in (size for size in SIZES if size <= most):
        seconds = best_of(TRIES[count], make_segments(count))
        yield Figure(f"{count:,} segments", seconds, "s")
        if least is None:
            least = before = count, seconds
            continue
        growth, step = (seconds / _n_log_n(start, count) for start in (least, before))
        yield at_most(f"growth from {least[0]:,} to {count:,}, over n log n", growth, 1.0, "×")
        if before != least:
            yield Figure(f"growth from {before[0]:,} to {count:,}, over n log n", step, "×")
        before = count, seconds
    for place, cost in COSTS.items():
        size = min(most, 100_000)
        few, many = cost(1_000), cost(size)
        for act, microseconds in many.items():
            yield Figure(f"{act} one more {place}, at {size:,}", microseconds, "µs")
            most_growth = 3.0 if place == ON_FALKOR else 2.0  # by the clock on the wall, which is less even
            yield at_most(f"{act} one more {place}, over that at 1,000", microseconds / few[act], most_growth, "×")


def _n_log_n(start: tuple[int, float], count: int) -> float:
    """The seconds that `count` would take if a smaller number's seconds grew as n log n."""
    few, seconds = start
    return seconds * count * math.log(count) / (few * math.log(few))


def best_of(tries: int, segments: Sequence[ContextSegment]) -> float:
    return min(analyse_and_plan(segments) for _ in range(tries))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--most", type=int, default=max(SIZES), help="the largest number of segments to try")
    arguments = parser.parse_args()
    figures = list(measure(arguments.most))
    show_figures(figures)
    write_json(arguments.json, "context", figures)


if __name__ == "__main__":
    main()
