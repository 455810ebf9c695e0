"""Every campaign with a few seeds; `make soak` takes more of them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults import soak
from tests.support import falkor

TIMES = int(os.environ.get("MEMSWEEP_SOAK", "1"))
FEW = {"histories": (0, 60), "kills": (0, 2), "crowds": (0, 8), "falkor_kills": (3, 8)}
"""From which seed to which; others begin with three."""


def _campaigns() -> list[str]:
    return [name for name in soak.CAMPAIGNS if falkor.can_run() or not name.startswith("falkor")]


@pytest.mark.soak
@pytest.mark.parametrize("name", _campaigns())
def test_a_few_seeds_of_every_campaign_violate_nothing(name: str, tmp_path: Path) -> None:
    record, (first, end) = tmp_path / "record", FEW.get(name, (0, 3))
    seeds = f"{first}:{first + (end - first) * TIMES}"
    command = [sys.executable, "-m", "tests.faults.soak", "--campaign", name, "--seeds", seeds]
    ran = subprocess.run(
        [*command, "--record", str(record)], cwd=soak.ROOT, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert sum(soak.totals(soak.read_record(record).values()).values()) > 0
