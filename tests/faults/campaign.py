"""Run seeds of a campaign and print what came of each as a line of JSON: `python -m tests.faults.campaign NAME SEED…`.

A range of seeds is written `0-20`. One seed gives the same run each time. Each campaign is a module with a `NAME` and
`run(seed) -> {count: number, …, "violations": [sentence, …]}`:

- `power_cuts`: what a disk may hold after a power cut, with two processes at work.
- `disk_errors`: a full or broken disk at every point of every operation.
- `bit_flips`: damaged files.
- `clock_jumps`: a clock that goes a year ahead or back.
"""

from __future__ import annotations

import importlib
import json
import sys

NAMES = ("power_cuts", "disk_errors", "bit_flips", "clock_jumps")


def main(name: str, *seeds: str) -> int:
    campaign = importlib.import_module(f"tests.faults.{name}")
    failed = False
    for seed in (seed for given in seeds for seed in _range(given)):
        found = campaign.run(seed)
        failed |= bool(found["violations"])
        print(json.dumps({"seed": seed, **found}, ensure_ascii=False), flush=True)
    return int(failed)


def _range(given: str) -> range:
    first, _, last = given.partition("-")
    return range(int(first), int(last or first) + 1)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
