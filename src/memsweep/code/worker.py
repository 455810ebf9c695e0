"""A process that parses for another one: frames of JSON in on stdin, frames out on stdout.

A frame is its length in four bytes, big-endian, and then the JSON. If a parse takes too long, or takes
the process down, the parent sees the pipe end and goes on without it.
"""

from __future__ import annotations

import faulthandler
import gc
import json
import os
import signal
import struct
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from operator import attrgetter
from types import TracebackType
from typing import IO, Any

from memsweep.code.parse import parse
from memsweep.code.symbols import Parsed, Relation, Symbol

LENGTH = struct.Struct(">I")
MEMORY_LIMIT_BYTES = 4 * 1024**3
TIMED_OUT = 1
"""What faulthandler exits with, and therefore nothing else may."""
FAILED = 70
_SYMBOL = attrgetter(*(each.name for each in fields(Symbol)))
_RELATION = attrgetter(*(each.name for each in fields(Relation)))


def write_frame(pipe: IO[bytes], message: object) -> None:
    data = json.dumps(message, ensure_ascii=True, separators=(",", ":")).encode("ascii")
    pipe.write(LENGTH.pack(len(data)) + data)
    pipe.flush()


def read_frame(pipe: IO[bytes]) -> Any:
    """The next message; raises EOFError when the other side is gone."""
    data = _read_exactly(pipe, LENGTH.size)
    return json.loads(_read_exactly(pipe, LENGTH.unpack(data)[0]))


def _read_exactly(pipe: IO[bytes], size: int) -> bytes:
    data = pipe.read(size)
    if len(data) < size:
        raise EOFError
    return data


def packed(parsed: Parsed) -> list[object]:
    return [
        parsed.language,
        list(map(_SYMBOL, parsed.symbols)),
        list(map(_RELATION, parsed.relations)),
        parsed.had_errors,
        parsed.failure,
    ]


def unpacked(message: list[Any]) -> Parsed:
    language, symbols, relations, had_errors, failure = message
    return Parsed(
        language,
        tuple(Symbol(*each) for each in symbols),
        tuple(Relation(*each) for each in relations),
        had_errors,
        failure,
    )


def main(parse: Callable[[str, str], Parsed] = parse) -> None:
    """Answer until the other side closes its pipe."""
    requests, answers = _own_pipes()
    sys.excepthook = _leave
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when work stops
    _limit_memory()
    gc.disable()  # nothing here makes cycles, and looking for them costs a tenth of the time
    quiet = open(os.devnull, "w")  # noqa: SIM115 - as long as the process lives
    write_frame(answers, "ready")
    while True:
        try:
            text, language, seconds = read_frame(requests)
        except EOFError:
            return
        # Watched by a thread of C, so that it works while a grammar holds the interpreter.
        faulthandler.dump_traceback_later(seconds, exit=True, file=quiet)
        try:
            with _ending_with(requests):
                parsed = parse(text, language)
        except (ImportError, MemoryError, RecursionError) as error:
            parsed = Parsed(language, failure=f"{type(error).__name__}: {error}"[:200])
        faulthandler.cancel_dump_traceback_later()
        write_frame(answers, packed(parsed))


@contextmanager
def _ending_with(requests: IO[bytes]) -> Iterator[None]:
    """While this is open, the kernel ends the process as soon as the other side is gone.

    By a signal (SIGIO, whose default is to end) rather than a thread, which would wait for a grammar that holds the
    interpreter; and rather than PR_SET_PDEATHSIG, which goes by the thread that started the worker. Nothing is sent
    during a parse, so whatever happens to the pipe is its end. Elsewhere than on Linux the time limit does it.
    """
    if not sys.platform.startswith("linux"):
        yield
        return
    import fcntl
    import select

    flags = fcntl.fcntl(requests, fcntl.F_GETFL)
    fcntl.fcntl(requests, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(requests, fcntl.F_SETFL, flags | os.O_ASYNC)
    ended = select.poll()
    ended.register(requests, 0)
    if ended.poll(0):  # before the signal was asked for
        os._exit(FAILED)
    try:
        yield
    finally:
        fcntl.fcntl(requests, fcntl.F_SETFL, flags)


def _leave(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    os._exit(FAILED)


def _own_pipes() -> tuple[IO[bytes], IO[bytes]]:
    """The two pipes, moved away from where a careless library prints to or reads from."""
    pipes = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    os.close(nothing)
    return pipes


def _limit_memory() -> None:
    try:
        import resource
    except ImportError:  # not on Windows
        return
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    limit = MEMORY_LIMIT_BYTES if hard == resource.RLIM_INFINITY else min(MEMORY_LIMIT_BYTES, hard)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))


if __name__ == "__main__":
    main()
