"""`memsweep` and `python -m memsweep`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn


def main() -> None:
    # numpy would start a thread for every core, which takes longer than a command; nothing here is worth them.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from memsweep.cli import run

    if sys.argv[1:2] == ["hook"]:
        _end_at_once(run)
    sys.exit(run())


def _end_at_once(run: Callable[[], int]) -> NoReturn:
    """A client waits for this process: it ends before there is garbage, and the system clears up after it."""
    import gc

    gc.set_threshold(100_000)
    status = run()
    with suppress(OSError):  # the client has hung up
        sys.stdout.flush()
    os._exit(status)


if __name__ == "__main__":
    main()
