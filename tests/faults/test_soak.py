"""The driver of the campaigns: it adds up, goes on where it stopped, and says what went wrong."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults import soak

TOY = """
import os
def run(seed):
    if seed == 3:
        raise ValueError("three")
    if seed == 4:
        os._exit(9)
    return {"steps": seed, "violations": ["two is wrong"] if seed == 2 else []}
"""


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A campaign of which the seeds 2, 3 and 4 go wrong, each in its own way."""
    (tmp_path / "toys").mkdir()
    (tmp_path / "toys" / "toy.py").write_text(TOY)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return tmp_path / "record"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.faults.soak", *arguments]
    return subprocess.run(command, cwd=soak.ROOT, capture_output=True, text=True, check=False, env={**os.environ})


def test_counts_are_added_up_and_a_second_invocation_goes_on(toy: Path) -> None:
    first = run("--campaign", "toys.toy", "--seeds", "0:2", "--record", str(toy))
    assert first.returncode == 0, first.stdout + first.stderr
    second = run("--campaign", "toys.toy", "--seeds", "0:7", "--jobs", "2", "--record", str(toy))
    assert "2 seeds done before, 5 to do" in second.stdout
    assert soak.totals(soak.read_record(toy).values()) == {"steps": 0 + 1 + 2 + 5 + 6}
    assert "0 to do" in run("--campaign", "toys.toy", "--seeds", "0:7", "--record", str(toy)).stdout


def test_violations_exceptions_and_dead_workers_are_violations_and_stay_so(toy: Path) -> None:
    for said in ("5 to do", "0 to do"):
        ran = run("--campaign", "toys.toy", "--seeds", "1:6", "--record", str(toy))
        assert ran.returncode == 1
        assert said in ran.stdout
        for each in ("seed 2: two is wrong", "seed 3: the campaign failed: ValueError: three", "status 9"):
            assert each in ran.stdout
    assert "3 to do" in run("--campaign", "toys.toy", "--seeds", "1:6", "--record", str(toy), "--again").stdout


def test_a_line_that_was_cut_short_is_done_again(toy: Path) -> None:
    run("--campaign", "toys.toy", "--seeds", "0:2", "--record", str(toy))
    toy.write_bytes(toy.read_bytes()[:-9])
    ran = run("--campaign", "toys.toy", "--seeds", "0:2", "--record", str(toy))
    assert "1 seeds done before, 1 to do" in ran.stdout
    assert soak.totals(soak.read_record(toy).values()) == {"steps": 1}


def test_the_table_has_a_row_for_every_campaign_of_a_record(toy: Path) -> None:
    run("--campaign", "toys.toy", "--seeds", "0:3", "--record", str(toy))
    rows = run("--table", str(toy)).stdout.splitlines()
    assert rows[2].startswith("| `toys.toy` | 0:3 | 3 steps | 1 |")


def test_no_time_left_begins_no_seed(toy: Path) -> None:
    ran = run("--campaign", "toys.toy", "--seeds", "0:3", "--minutes", "0", "--record", str(toy))
    assert ran.returncode == 0
    assert not toy.exists()


def test_an_unknown_campaign_is_named() -> None:
    assert "there is no campaign 'nonsense'" in run("--campaign", "nonsense").stderr
