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
FEW = {"histories": 40, "kills": 3, "crowds": 3, "falkor_kills": 4}


def _campaigns() -> list[str]:
    return [name for name in soak.CAMPAIGNS if falkor.can_run() or not name.startswith("falkor")]


@pytest.mark.soak
@pytest.mark.parametrize("name", _campaigns())
def test_a_few_seeds_of_every_campaign_violate_nothing(name: str, tmp_path: Path) -> None:
    record = tmp_path / "record"
    command = [
        sys.executable,
        "-m",
        "tests.faults.soak",
        "--campaign",
        name,
        "--seeds",
        f"0:{FEW.get(name, 3) * TIMES}",
    ]
    ran = subprocess.run(
        [*command, "--record", str(record)], cwd=soak.ROOT, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert sum(soak.totals(soak.read_record(record).values()).values()) > 0
