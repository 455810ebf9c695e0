"""Every campaign with a few seeds; `make soak` takes more of them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults import soak
from tests.support import commands, falkor

TIMES = int(os.environ.get("MEMSWEEP_SOAK", "1"))
FEW = {
    "histories": (0, 60, {"operations": 600}),
    "crowds": (0, 8, {"kills": 4}),
    "falkor_kills": (3, 8, {"kills": 5}),
    "kills": (0, 2, {"kills": 6}),
    "power_cuts": (0, 5, {"images": 300, "atomic_steps": 10}),
    "disk_errors": (0, 4, {"errors": 80, "refusals": 60}),
    "bit_flips": (0, 2, {"flips": 16, "answers": 300}),
    "clock_jumps": (0, 5, {"calls": 200, "jumps": 80}),
    "merges": (0, 40, {"histories": 40}),
    "falkor_merges": (0, 8, {"histories": 8}),
    "backups": (0, 5, {"flips": 100}),
}
"""From which seed to which, and what they must at least have done: a campaign that stops doing anything is noticed."""


def _campaigns() -> list[str]:
    return [name for name in soak.CAMPAIGNS if falkor.can_run() or not name.startswith("falkor")]


@pytest.mark.soak
@pytest.mark.parametrize("name", _campaigns())
def test_a_few_seeds_of_every_campaign_violate_nothing(name: str, tmp_path: Path) -> None:
    first, end, least = FEW[name]
    totals = _totals(name, f"{first}:{first + (end - first) * TIMES}", tmp_path / "record")
    assert {what: totals[what] >= number for what, number in least.items()} == dict.fromkeys(least, True)


@pytest.mark.parametrize("name", ["power_cuts", "clock_jumps"])
def test_a_seed_gives_the_same_run_each_time(name: str, tmp_path: Path) -> None:
    assert _totals(name, "1:2", tmp_path / "one") == _totals(name, "1:2", tmp_path / "other")


def _totals(name: str, seeds: str, record: Path) -> dict[str, int]:
    command = [sys.executable, "-m", "tests.faults.soak", "--campaign", name, "--seeds", seeds]
    ran = subprocess.run(
        [*command, "--record", str(record)], cwd=soak.ROOT, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return soak.totals(soak.read_record(record).values())


# Stores that break their promises, and what must be noticed.
BROKEN = {
    "no sync": ("power_cuts", "connect._PRAGMAS = connect._PRAGMAS.replace('full', 'off')", "a state that never was"),
    "no sync of names": ("power_cuts", "connect._sync_names = lambda folder: None", "a state that never was"),
    "no sentence": ("disk_errors", "connect._translate = lambda error, path: OSError(str(error))", "not a sentence of"),
    "success for nothing": ("disk_errors", "Lease = connect.Lease; Lease.__exit__ = forgets(Lease)", "but not all is"),
}
PROGRAM = """
import apsw, json, sys
from memsweep.store.file import connect
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
