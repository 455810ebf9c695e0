"""The command line: one file a command (or a family of them)."""

from __future__ import annotations

import io
import logging
import sys
from collections.abc import Sequence

from memsweep.cli.door import run_door


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command line; its exit status says what kind of error there was."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a letter that a terminal does not know is no error
    logging.basicConfig(stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s")
    given = sys.argv[1:] if arguments is None else arguments
    if given[:1] == ["serve"]:
        from memsweep.cli.serve import cli
    else:
        from memsweep.cli.commands import cli
    return run_door(cli, arguments)
