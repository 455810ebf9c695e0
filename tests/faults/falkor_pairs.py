"""Campaign: the same as `pairs`, on FalkorDB."""

from typing import Any

from tests.faults import pair_histories

NAME = "falkor_pairs"


def run(seed: int) -> dict[str, Any]:
    return pair_histories.run(seed, "falkor")
