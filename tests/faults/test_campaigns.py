"""A few seeds of each campaign; `python -m tests.faults.campaign` and `make soak` run as many as are wanted."""

from __future__ import annotations

import json
import sys
from collections import Counter

import pytest

from tests.support import commands

# What each run of these seeds must at least have done, so that a campaign that stops doing anything is noticed.
FEW = [
    ("power_cuts", "0-4", {"images": 300, "atomic_steps": 10}),
    ("disk_errors", "0-3", {"errors": 80, "refusals": 60}),
    ("bit_flips", "0-1", {"flips": 16, "answers": 300}),
    ("clock_jumps", "0-4", {"calls": 200, "jumps": 80}),
]


@pytest.mark.parametrize(("name", "seeds", "least"), FEW, ids=[name for name, *_ in FEW])
def test_a_few_seeds_of_a_campaign_find_nothing(name: str, seeds: str, least: dict[str, int]) -> None:
    ran = commands.run([sys.executable, "-m", "tests.faults.campaign", name, seeds], home=None)
    found = [json.loads(line) for line in ran.out.splitlines()]
    assert [said for run in found for said in run.pop("violations")] == []
    assert ran.status == 0
    done = Counter[str]()
    for run in found:
        done.update({what: number for what, number in run.items() if what != "seed"})
    assert {what: done[what] >= number for what, number in least.items()} == dict.fromkeys(least, True)


@pytest.mark.parametrize("name", ["power_cuts", "clock_jumps"])
def test_a_seed_gives_the_same_run_each_time(name: str) -> None:
    command = [sys.executable, "-m", "tests.faults.campaign", name, "1"]
    assert commands.run(command, home=None).raw == commands.run(command, home=None).raw
