"""Campaign: whatever happened to a folder and its index, in the end the graph holds what the files state."""

from typing import Any

from tests.faults import index_histories

NAME = "ghosts"


def run(seed: int) -> dict[str, Any]:
    return index_histories.run(seed, "sqlite")
