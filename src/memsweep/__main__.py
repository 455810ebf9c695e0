"""`memsweep` and `python -m memsweep`."""

from __future__ import annotations

import os
import sys


def main() -> None:
    # numpy would start a thread for every core, which takes longer than a command; nothing here is worth them.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from memsweep.cli import run

    sys.exit(run())


if __name__ == "__main__":
    main()
