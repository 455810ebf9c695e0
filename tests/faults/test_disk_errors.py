"""Disk errors that once did harm or got an untrue answer, each at the points where it did."""

import json

import pytest

from tests.support.commands import run_warm
from tests.support.counts import THOROUGH

# A step, the kind of error, whether it lasts, whether the process is then killed, and at which points it strikes.
ONCE_WRONG = {
    "restore over: the old file cannot be marked": ("restore over", "full", False, False, [-30, None]),
    "restore over: the disk fails after the swap": ("restore over", "broken", True, False, [-60, None]),
    "restore over: the swap cannot be synced": ("restore over", "full", True, True, [-60, None]),
    "workspace undelete: what is back cannot be counted": ("workspace undelete", "full", False, False, [-25, None]),
    "workspace undelete: the disk stays full": ("workspace undelete", "full", True, False, [-25, None]),
    "workspace purge: a file cannot be removed": ("workspace purge", "broken", False, False, [-12, None]),
    "workspace purge: the disk stays full": ("workspace purge", "full", True, False, [-12, None]),
    "workspace create: the registry cannot be synced": ("workspace create", "full", True, True, [-5, None]),
    "schedule: no lock can be had": ("schedule", "full", False, False, [0, 5]),
    "backup: its name cannot be synced": ("backup", "full", False, False, [-5, None]),
    "backup: the disk breaks at its name": ("backup", "broken", True, False, [-5, None]),
    "doctor: a read is refused once": ("doctor", "broken", False, False, [80, 130]),
}
STEP = """
import json, sys
from tests.faults import disk_errors
name, kind, lasts, dies, points = json.loads(sys.argv[1])
outcome = disk_errors.run_step(name, kind, slice(*points), lasts=lasts, dies=dies)
print(json.dumps(outcome if isinstance(outcome, str) else outcome.shown()))
"""


@pytest.mark.parametrize("name", ONCE_WRONG)
def test_an_error_gets_a_true_answer_and_does_no_harm(name: str) -> None:
    *step, (first, end) = ONCE_WRONG[name]
    far_apart = 1 if THOROUGH or -20 < first < 20 else 4
    outcome = run_warm("-c", STEP, json.dumps([*step, [first, end, far_apart]])).json
    assert outcome["violations"] == []
    assert outcome["errors"] >= 5


BAD_SECTOR = """
import json
from memsweep.errors import MemsweepError
from tests.faults import examining, lab, steps
from tests.faults.injector import injecting

def look():
    with lab.place("sector-") as folder, injecting() as injector:
        steps.copy_template(folder / "place")
        home = folder / "place" / "home"
        before = examining.state_of(home)
        file = next(home / "workspaces" / file for name, file, *_ in before["registry"] if name == "default")
        said = []
        for page in range(1, file.stat().st_size // 4096, 8):
            injector.bad = str(file), range(page * 4096, page * 4096 + 512)
            with lab.opened(home) as app:
                try:
                    checkup = app.memory().care.doctor(repair=True)
                    said.append([sorted({each.invariant for each in checkup.left}), len(checkup.lost)])
                except MemsweepError as error:
                    said.append([[str(error)], 0])
            injector.bad = None
        return said, examining.state_of(home) == before

steps.template()
print(json.dumps(lab.in_child(look)))
"""


def test_what_the_disk_never_gives_back_is_not_cut_away_as_damage() -> None:
    answers, is_the_same = run_warm("-c", BAD_SECTOR).json
    assert is_the_same
    for names, lost in answers:
        assert not lost
        assert names in ([], ["disk_refuses"]) or "the disk refused to read" in names[0], names
    assert [["disk_refuses"], 0] in answers
