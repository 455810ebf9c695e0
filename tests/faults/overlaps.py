"""Random histories of indexed folders that lie inside each other: one memory of each file, and no old text."""

import random
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from memsweep.code.sandbox import Sandbox
from tests.code.indexed_workspace import IndexedWorkspace
from tests.code.overlapping import CONTENTS, IGNORED, PATHS, ROOTS, OverlappingRoots
from tests.support.memory_disk import MEMORY_DISK


@cache
def _sandbox() -> Sandbox:
    return Sandbox()


def run(seed: int) -> dict[str, Any]:
    rng = random.Random(seed)
    steps = [_step(rng) for _ in range(rng.randint(5, 40))]
    violations = []
    with (
        tempfile.TemporaryDirectory(dir=MEMORY_DISK) as folder,
        IndexedWorkspace(Path(folder) / "home", _sandbox()) as workspace,
    ):
        overlap = OverlappingRoots(workspace, Path(folder) / "r")
        try:
            for step in steps:
                overlap.do(*step)
            overlap.settle()
        except AssertionError as error:
            violations.append(f"seed {seed}: {error}")
    index_runs = sum(step[0] == "index" for step in steps) + 2 * len(ROOTS)
    return {"histories": 1, "index_runs": index_runs, "changes": len(steps), "violations": violations}


def _step(rng: random.Random) -> tuple[str, ...]:
    match rng.choice(("write", "write", "write", "delete", "move", "ignore", "prune", "index", "index", "index")):
        case "write":
            return "write", rng.choice(PATHS), rng.choice(CONTENTS)
        case "delete":
            return "delete", rng.choice(PATHS)
        case "move":
            return "move", rng.choice(PATHS), rng.choice(PATHS)
        case "ignore":
            return "ignore", rng.choice(ROOTS), rng.choice(IGNORED)
        case "index":
            return "index", rng.choice(ROOTS)
    return ("prune",)
