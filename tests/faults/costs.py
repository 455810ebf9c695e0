"""What each call costs by size: processor time and memory, fitted; what grows faster than the data is named.

python -m tests.faults.costs [--memories N] [--segments N] [--trash N] [--workspaces N] [--json FILE]

Each measure is taken at four sizes up to N. The exponent is that of the last step, by the least of three calls: 0 where
a call costs the same in a store of any size, 1 where it costs what it reads. Exit status 1 if one is above linear.
"""

import argparse
import json
import math
import random
import shutil
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import apsw

from memsweep import open_memory
from memsweep.app import App, Memory, make_app
from memsweep.settings import load_settings

ABOVE_LINEAR = 1.2
LEAST_MS, LEAST_MB = 5.0, 4.0
"""Below these a fit says more of the machine than of the call."""
WORDS = "gateway deploy port April Lisbon cart tax public staging database timeout retry cache token".split()
NAMES = [f"Anna{number}" for number in range(40)]
FRESH = count(10**9)
Calls = Mapping[str, Callable[[], object]]


@dataclass(frozen=True, slots=True)
class Cost:
    """One call at one size."""

    dimension: str
    call: str
    size: int
    milliseconds: float
    megabytes: float


def text_of(number: int) -> str:
    chance = random.Random(number)
    return " ".join([f"note {number}", chance.choice(NAMES), *chance.choices(WORDS, k=12)])


def memories(home: Path, before: int, size: int) -> Calls:
    memory = open_memory("default", home=home)
    for number in range(before, size):
        memory.remember(text_of(number), entities=[NAMES[number % len(NAMES)]])
    return memory_calls(memory, size)


def memory_calls(memory: Memory, size: int) -> Calls:
    """Calls that leave the workspace as large as it was."""
    held = memory.remember(text_of(size)).memory_id

    def deleted() -> str:
        return memory.delete(memory.remember(text_of(next(FRESH))).memory_id, confirm=True).id

    return {
        "add and delete": deleted,
        "delete and undo": lambda: memory.sweep.undo(memory.delete(held, confirm=True).id),
        "update": lambda: memory.update(held, text=text_of(next(FRESH))),
        "get": lambda: memory.get(held),
        "search": lambda: memory.search("which port has the gateway"),
        "list": lambda: memory.memories(),
        "stats": lambda: memory.stats(),
        "briefing": lambda: memory.briefing(),
        "explain": lambda: memory.sweep.explain(held),
        "names": lambda: memory.graph.entities(),
        "plan expired": lambda: memory.sweep.plan("expired"),
        "plan duplicates": lambda: memory.sweep.plan("duplicates"),
        "validate": lambda: memory.graph.validate(),
    }


def segments(home: Path, before: int, size: int) -> Calls:
    window = open_memory("default", home=home).context("p")
    if not before:
        window.add([{"segment_id": "first", "text": "the first"}])
        window.configure(soft_tokens=10**8, hard_tokens=10**9)
    for first in range(before, size, 500):
        window.add([{"segment_id": f"s{n}", "text": text_of(n)} for n in range(first, min(size, first + 500))])
    return {
        "context add": lambda: window.add([{"segment_id": f"s{next(FRESH)}", "text": "one more"}]),
        "context analyze": lambda: window.analyze(budget=10 * size),
        "context working set": lambda: window.working_set(budget=1000),
        "context search": lambda: window.search("gateway"),
    }


def trash(home: Path, before: int, size: int) -> Calls:
    """A row for each memory, one for its piece."""
    memory = open_memory("default", home=home)
    for number in range(before // 2, size // 2):
        memory.remember(text_of(number), expires_at=datetime.now(UTC) - timedelta(days=1))
    memory.sweep.prune("expired", confirm=True, allow_large=True)
    return {
        **memory_calls(memory, size),
        "trash": lambda: memory.sweep.trash(),
        "receipts": lambda: memory.sweep.receipts(),
        "audit": lambda: memory.sweep.audit(),
    }


def workspaces(home: Path, before: int, size: int) -> Calls:
    app: App = make_app(load_settings({"MEMSWEEP_HOME": str(home)}))
    for number in range(before, size):
        app.memory(f"w{number}").remember(text_of(number))
    return {
        "workspaces": lambda: app.workspaces(),
        "add in one of many": lambda: app.memory("w0").remember(text_of(next(FRESH))),
        "search in one of many": lambda: app.memory("w0").search("port"),
    }


DIMENSIONS: dict[str, tuple[Callable[[Path, int, int], Calls], int]] = {
    "memories": (memories, 200_000),
    "segments": (segments, 50_000),
    "trash": (trash, 500_000),
    "workspaces": (workspaces, 2_000),
}


def measured(dimension: str, most: int, steps: int = 4) -> list[Cost]:
    folder = Path(tempfile.mkdtemp())
    fill, found, before = DIMENSIONS[dimension][0], [], 0
    try:
        for size in (max(2, most // 2**step) for step in reversed(range(steps))):
            for name, call in fill(folder, before, size).items():
                call()  # what is loaded once is no cost of this size
                found.append(Cost(dimension, name, size, *_least(call)))
            before = size
            print(f"{dimension}: {size:,}", file=sys.stderr, flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return found


def _least(call: Callable[[], object]) -> tuple[float, float]:
    taken = []
    for _ in range(3):
        begun = time.process_time()
        call()
        taken.append(1000 * (time.process_time() - begun))
    return round(min(taken), 2), round(_peak_megabytes(call), 1)


def _peak_megabytes(call: Callable[[], object]) -> float:
    """Return what Python and SQLite take at most while a call runs, beyond what they had before it."""
    tracemalloc.start()
    in_sqlite = apsw.memory_used()
    apsw.memory_high_water(True)
    try:
        call()
        return (tracemalloc.get_traced_memory()[1] + apsw.memory_high_water() - in_sqlite) / 1e6
    finally:
        tracemalloc.stop()


def exponent(smaller: float, larger: float, growth: float, least: float) -> float:
    """Return how cost grew with size; 0 where it is too small to say."""
    return 0.0 if larger < least else math.log(larger / max(smaller, least / 4)) / math.log(growth)


def fits(costs: list[Cost]) -> dict[tuple[str, str], tuple[float, float]]:
    """By dimension and call the exponents of time and memory between the last two sizes."""
    by_call: dict[tuple[str, str], list[Cost]] = {}
    for each in costs:
        by_call.setdefault((each.dimension, each.call), []).append(each)
    found = {}
    for key, (*_, one, other) in by_call.items():
        growth = other.size / one.size
        found[key] = (
            exponent(one.milliseconds, other.milliseconds, growth, LEAST_MS),
            exponent(one.megabytes, other.megabytes, growth, LEAST_MB),
        )
    return found


def table(costs: list[Cost]) -> list[str]:
    fitted = fits(costs)
    rows = ["| call | by | at most | ms | exponent | MB | exponent | |", "|---|---|---|---|---|---|---|---|"]
    last = {(each.dimension, each.call): each for each in costs}
    for (dimension, call), each in last.items():
        slow, large = fitted[dimension, call]
        said = "above linear" if max(slow, large) > ABOVE_LINEAR else ""
        rows.append(
            f"| {call} | {dimension} | {each.size:,} | {each.milliseconds:.1f} | {slow:.2f} | {each.megabytes:.1f} |"
            f" {large:.2f} | {said} |"
        )
    return rows


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults.costs", description=(__doc__ or "").splitlines()[0])
    for name, (_, most) in DIMENSIONS.items():
        parser.add_argument(f"--{name}", type=int, default=most, help="0: leave them out (%(default)s)")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    costs = [each for name in DIMENSIONS if (most := getattr(options, name)) for each in measured(name, most)]
    if options.json:
        said: list[dict[str, Any]] = [asdict(each) for each in costs]
        options.json.write_text(json.dumps(said, indent=1))
    print("\n".join(table(costs)))
    return any(max(each) > ABOVE_LINEAR for each in fits(costs).values())


if __name__ == "__main__":
    sys.exit(main())
