"""Do an operation, and stop before a step: `python -m tests.workspaces.stopping OPERATION PLACE GIVEN STEP`."""

import os
import signal
import sys
from pathlib import Path

from tests.support.killing import at_step
from tests.workspaces.killed_at_each_step import OPERATIONS, open_app


def main(operation: str, place: Path, given: str, at: int) -> None:
    app = open_app(place / "home")
    at_step(at, lambda: os.kill(os.getpid(), signal.SIGSTOP))
    OPERATIONS[operation].run(app, place, given)
    app.close()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
