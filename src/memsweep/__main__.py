"""`memsweep` and `python -m memsweep`."""

from __future__ import annotations

import sys


def main() -> None:
    from memsweep.cli import run

    sys.exit(run())


if __name__ == "__main__":
    main()
