"""Campaign: the same as `ghosts`, on FalkorDB."""

from typing import Any

from tests.faults import index_histories

NAME = "falkor_ghosts"


def run(seed: int) -> dict[str, Any]:
    return index_histories.run(seed, "falkor")
