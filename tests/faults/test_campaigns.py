"""A few seeds of each campaign; `python -m tests.faults.campaign` and `make soak` run as many as are wanted."""

from __future__ import annotations

import json
import sys
from collections import Counter

import pytest

from tests.support import commands

# What each run of these seeds must at least have done, so that a campaign that stops doing anything is noticed.
FEW = [
    ("power_cuts", "0-3", {"images": 240, "atomic_steps": 8}),
    ("disk_errors", "0-2", {"errors": 80, "refusals": 60}),
    ("bit_flips", "0", {"flips": 8, "answers": 150}),
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


# Stores that break their promises, and what must be noticed.
BROKEN = {
    "no sync": ("power_cuts", "connect._PRAGMAS = connect._PRAGMAS.replace('full', 'off')", "a state that never was"),
    "no sync of names": ("power_cuts", "connect._sync_names = lambda folder: None", "a state that never was"),
    "no sentence": ("disk_errors", "connect._translate = lambda error, path: OSError(str(error))", "not a sentence of"),
    "success for nothing": ("disk_errors", "Lease = connect.Lease; Lease.__exit__ = forgets(Lease)", "but not all is"),
}
PROGRAM = """
import apsw, json, sys
from memsweep.store.sqlite import connect
from tests.faults import {campaign}

def forgets(lease, kept=connect.Lease.__exit__):
    def leave(self, *error):
        try:
            kept(self, *error)
        except connect.errors.StoreError:
            return True
    return leave

{change}
found = (said for seed in range(20) for said in {campaign}.run(seed, 20)["violations"] if {said!r} in said)
print(json.dumps(next(found, "")))
"""


@pytest.mark.parametrize("name", BROKEN)
def test_a_store_that_breaks_its_promises_is_noticed(name: str) -> None:
    campaign, change, said = BROKEN[name]
    program = PROGRAM.format(campaign=campaign, change=change, said=said)
    assert said in commands.run([sys.executable, "-c", program], home=None).json
