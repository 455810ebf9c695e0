"""Campaign: pairs and triples of operations, undone in any order, are as if the undone ones had never been."""

from typing import Any

from tests.faults import pair_histories

NAME = "pairs"


def run(seed: int) -> dict[str, Any]:
    return pair_histories.run(seed, "sqlite")
