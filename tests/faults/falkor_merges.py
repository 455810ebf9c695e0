"""Histories of merges, prunes, undos and purges on FalkorDB, undone in any order."""

from typing import Any

from tests.faults import merge_histories

NAME = "falkor_merges"


def run(seed: int) -> dict[str, Any]:
    return {"histories": 1, "violations": merge_histories.run(seed, "falkor")}
