"""Looking at what a collection would take, and at what was done: what a page asks for, at 10,000 memories.

The processor's time of each call, the best of some rounds; the store is like that of `collector.py`.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

from collector import Bench, fill_memories
from common import Figure, arguments, at_most, show_figures, write_json
from memsweep import Memory, open_memory

PAGE = 50


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--memories", type=int, default=10_000, help="how many (%(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="of each call; the best counts (%(default)s)")
    options = parser.parse_args()
    texts = (f"piece {n} of a file about something" for n in count())
    with tempfile.TemporaryDirectory(prefix="memsweep-looking-") as folder:
        bench = Bench(Path(folder), options.rounds)
        bench.build("look", lambda db: fill_memories(db, texts, options.memories, stale_every=70))
        with open_memory("large", home=Path(folder) / "look") as memory:
            figures = measured(memory, options.rounds)
    show_figures(figures)
    write_json(options.json, "looking", figures, memories=options.memories)


def measured(memory: Memory, rounds: int) -> list[Figure]:
    plan = memory.sweep.plan("stale_code")
    spared = memory.sweep.groups(plan.id, limit=1).groups[0].root.id
    calls: dict[str, Callable[[], Any]] = {
        "preview of every quick strategy": lambda: memory.sweep.preview(),
        "preview of stale_code": lambda: memory.sweep.preview("stale_code"),
        "a page of groups": lambda: memory.sweep.groups(plan.id, limit=PAGE),
        "a part of a plan": lambda: memory.sweep.narrow(plan.id, [spared]),
        "difference of two plans": lambda: memory.sweep.compare(plan.id, plan.id),
        "a page of receipts": lambda: memory.sweep.receipts(limit=PAGE),
        "trash by receipt": lambda: memory.sweep.trash_by_receipt(limit=PAGE),
        "a page of the log": lambda: memory.sweep.audit_page(limit=PAGE, since="2020-01-01"),
        "revision": memory.revision,
    }
    memory.sweep.apply(memory.sweep.plan("stale_code").id, confirm=True, exclude=[spared])  # so that there is a receipt
    memory.sweep.undo(memory.sweep.receipts(limit=1).receipts[0].id)
    return [at_most(name, best(call, rounds) * 1000, 300, "ms") for name, call in calls.items()]


def best(call: Callable[[], Any], rounds: int) -> float:
    taken = []
    for _ in range(rounds):
        began = time.process_time()
        call()
        taken.append(time.process_time() - began)
    return min(taken)


if __name__ == "__main__":
    main()
