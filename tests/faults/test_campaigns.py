"""Every campaign with a few seeds; `make soak` takes more of them."""

import json

import pytest

from tests.faults import audits, soak
from tests.support import falkor
from tests.support.commands import run_warm
from tests.support.counts import THOROUGH, TIMES

FEW = {
    "histories": (0, 12, {"operations": 120}),
    "crowds": (0, 5, {"kills": 2}),
    "all_doors": (1, 2, {"acknowledged": 60, "kills": 1}),
    "falkor_kills": (3, 4, {"kills": 1}),
    "falkor_stalls": (0, 1, {"stalls": 5}),
    "forks": (0, 3, {"forks": 5, "in_calls": 2, "acknowledged": 60}),
    "falkor_replies": (0, 1, {"replies_lost": 6}),
    "falkor_reads": (1, 3, {"operations": 8, "reads": 600}),
    "kills": (0, 1, {"kills": 4}),
    "power_cuts": (1, 2, {"images": 20, "atomic_steps": 2}),
    "disk_errors": (1, 2, {"errors": 10, "refusals": 7}),
    "bit_flips": (0, 1, {"flips": 8, "answers": 150}),
    "clock_jumps": (0, 3, {"calls": 100, "jumps": 40}),
    "many_workspaces": (0, 1, {"workspaces": 60, "answers": 150}),
    "merges": (0, 12, {"histories": 12}),
    "falkor_merges": (0, 3, {"histories": 3}),
    "leaks": (0, 5, {"operations": 50, "keys": 80}),
    "redactions": (0, 2, {"kills": 1, "keys": 15}),
    "backups": (0, 2, {"flips": 40}),
    "overlaps": (0, 8, {"histories": 8, "index_runs": 60}),
    "windows": (0, 20, {"plans": 90, "segments_planned": 180}),
    "ghosts": (48, 56, {"operations": 100}),
    "falkor_ghosts": (52, 54, {"operations": 20}),
    "pairs": (0, 12, {"undos": 12, "compared": 10}),
    "falkor_pairs": (0, 3, {"undos": 3, "compared": 2}),
    "audits": (0, 5, {"acts": 60, "events": 70}),
    "falkor_audits": (0, 2, {"acts": 25, "events": 25}),
    "long_runs": (0, 1, {"calls": 100}),
}
"""From which seed to which, and what they must at least have done: a campaign that stops doing anything is noticed."""

SMALL = {
    "power_cuts": 24,
    "disk_errors": 15,
    "falkor_stalls": 5,
    "falkor_replies": 6,
    "falkor_reads": 4,
    "all_doors": 20,
    "many_workspaces": "60 64",
    "long_runs": 100,
}
SIZES: dict[str, object] = {} if THOROUGH else SMALL
"""How much one seed does, where that would be more than `make test` has time for."""


def _campaigns() -> list[str]:
    return [name for name in soak.CAMPAIGNS if falkor.can_run() or not name.startswith("falkor")]


@pytest.mark.soak
@pytest.mark.parametrize("name", _campaigns())
def test_a_few_seeds_of_every_campaign_violate_nothing(name: str) -> None:
    first, end, least = FEW[name]
    totals = _totals(name, range(first, first + (end - first) * TIMES))
    assert {what: totals[what] >= number for what, number in least.items()} == dict.fromkeys(least, True)


SHORT = {"power_cuts": "power_cuts.run(1, images=10)", "clock_jumps": "clock_jumps.run(1)"}


@pytest.mark.parametrize("name", SHORT)
def test_a_seed_gives_the_same_run_each_time(name: str) -> None:
    program = f"import json; from tests.faults import {name}; print(json.dumps({SHORT[name]}))"
    one, other = (run_warm("-c", program) for _ in range(2))
    assert one.status == 0, one.err
    assert one.json == other.json


def _totals(name: str, seeds: range) -> dict[str, int]:
    """What the worker of a soak answers to these seeds, added up."""
    orders = "".join(f"{seed} {SIZES.get(name, '')}\n" for seed in seeds)
    ran = run_warm("-m", "tests.faults.soak", "--worker", name, stdin=orders.encode())
    results = [soak.Result(**json.loads(line)) for line in ran.out.splitlines()]
    assert [result.seed for result in results] == list(seeds), ran.err
    assert [f"seed {result.seed}: {said}" for result in results for said in result.violations] == []
    return soak.totals(results)


def test_a_log_that_leaves_ids_out_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memsweep.store.audit_rows._kept", lambda ids: {})
    assert any("nothing is told of it" in said for seed in range(3) for said in audits.run(seed)["violations"])


# Stores that break their promises, and what must be noticed. The seed that noticed it last is tried first.
BROKEN = {
    "no sync": (
        "power_cuts",
        1,
        "connect._PRAGMAS = connect._PRAGMAS.replace('full', 'off')",
        "a state that never was",
    ),
    "no sync of names": ("power_cuts", 2, "connect._sync_names = lambda folder: None", "a state that never was"),
    "no sentence": (
        "disk_errors",
        0,
        "connect._translate = lambda error, path: OSError(str(error))",
        "not a sentence of",
    ),
    "success for nothing": (
        "disk_errors",
        0,
        "Lease = connect.Lease; Lease.__exit__ = forgets(Lease)",
        "but not all is",
    ),
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
seeds = sorted(range(20), key=lambda seed: seed != {first})
found = (said for seed in seeds for said in {campaign}.run(seed, 20)["violations"] if {said!r} in said)
print(json.dumps(next(found, "")))
"""


@pytest.mark.parametrize("name", BROKEN)
def test_a_store_that_breaks_its_promises_is_noticed(name: str) -> None:
    campaign, first, change, said = BROKEN[name]
    program = PROGRAM.format(campaign=campaign, first=first, change=change, said=said)
    assert said in run_warm("-c", program).json
