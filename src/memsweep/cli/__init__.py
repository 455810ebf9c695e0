"""The command line: a file for each family of commands."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Sequence

from memsweep import __version__
from memsweep.errors import MemsweepError, StoreFull

_OUTPUT_REFUSED = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command line; its exit status says what kind of error there was."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a letter that a terminal does not know is no error
    given = [*(sys.argv[1:] if arguments is None else arguments)]
    try:
        status = _run(given, arguments)
        if sys.stdout is not None:
            sys.stdout.flush()  # here a pipe that was closed, or a full disk, can still be caught
    except BrokenPipeError:
        _drop_output()
        return 0
    except OSError as error:
        if error.errno not in _OUTPUT_REFUSED or error.filename is not None:
            raise
        _drop_output()
        why = f"the output cannot be written ({error.strerror})."
        return _refused(StoreFull(why, hint="What the command changed is changed; write its output elsewhere."))
    return status


def _run(given: list[str], arguments: Sequence[str] | None) -> int:
    match given:
        case ["--version"]:
            print(f"memsweep {__version__}")
            return 0
        case ["where"] | ["where", "--json"]:
            return _where(as_json=len(given) > 1)
        case ["serve"]:
            return _serve("default")
        case ["serve", "--profile", profile]:
            return _serve(profile)
        case ["hook", *event] if "--help" not in event:  # a client waits for it, many times a session
            from memsweep.hooks.door import run as run_hook

            return run_hook(event)
    _log_to_stderr()
    from memsweep.cli.door import command_line, run_door

    return run_door(command_line(given[0] if given else ""), arguments)


def _refused(error: MemsweepError) -> int:
    from memsweep.model.visible import visible

    print(f"Error: {visible(str(error))}", file=sys.stderr)
    return error.exit_status


def _log_to_stderr() -> None:
    import logging  # late: what has to start in a moment has nothing to log

    from memsweep.model.visible import visible

    class Shown(logging.Formatter):
        def format(self, record: logging.LogRecord) -> str:
            return visible(super().format(record))

    logging.basicConfig(stream=sys.stderr)
    logging.getLogger().handlers[0].setFormatter(Shown("%(levelname)s %(name)s: %(message)s"))


def _where(*, as_json: bool) -> int:
    """As prompts and hooks ask it: without the library that reads command lines."""
    from memsweep.cli.where import print_where

    try:
        print_where("", as_json)
    except MemsweepError as error:
        return _refused(error)
    return 0


def _drop_output() -> None:
    """Let what is still to be printed go nowhere: whoever read it has hung up, which is no error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _serve(profile: str) -> int:
    """As agents start it: many times, and waiting. Nothing is imported to read a command line that is plain."""
    from memsweep.server.start import start

    _log_to_stderr()
    try:
        start(profile)
    except MemsweepError as error:
        return _refused(error)
    return 0
