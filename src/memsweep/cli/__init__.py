"""The command line: one file a command (or a family of them)."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence

from memsweep.cli.door import run_door


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command line; its exit status says what kind of error there was."""
    logging.basicConfig(stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s")
    from memsweep.cli.commands import cli

    return run_door(cli, arguments)
