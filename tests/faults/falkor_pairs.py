"""Campaign: the same as `pairs`, on FalkorDB."""

from __future__ import annotations

from typing import Any

from tests.faults import pair_histories

NAME = "falkor_pairs"


def run(seed: int) -> dict[str, Any]:
    return pair_histories.run(seed, "falkor")
