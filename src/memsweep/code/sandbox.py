"""Parses in worker processes, so that a grammar that hangs or crashes costs one file and no server.

Workers start when the first file needs one, and are kept for the next. They are new processes with pipes of their
own: nothing is forked, and stdin, stdout and stderr of this process are out of their reach.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from memsweep.code.parse import has_grammar, parse
from memsweep.code.symbols import Parsed
from memsweep.code.worker import TIMED_OUT, read_frame, unpacked, write_frame
from memsweep.forking import after_fork, new_lock

Key = TypeVar("Key")

SECONDS_PER_FILE = 20.0
SECONDS_TO_LEAVE = 2.0
_PACKAGES = str(Path(__file__).parents[2])
WORKER = "from memsweep.code.worker import main; main()"


class _Died(Exception):
    """The worker is gone; why, and whether another one might do better."""

    def __init__(self, reason: str, *, timed_out: bool) -> None:
        super().__init__(reason)
        self.timed_out = timed_out


class _Worker:
    def __init__(self, program: str) -> None:
        command = f"import sys; sys.path[:] = sys.argv[1:]; {program}"
        self.process = subprocess.Popen(
            # -I -S: neither the environment nor the current folder decides what is imported.
            [sys.executable, "-I", "-S", "-c", command, *filter(None, sys.path), _PACKAGES],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.requests, self.answers = self.process.stdin, self.process.stdout
        self.is_ready = False

    def parse(self, text: str, language: str, seconds: float) -> Parsed:
        try:
            if not self.is_ready:
                read_frame(self.answers)
                self.is_ready = True
            write_frame(self.requests, (text, language, seconds))
            return unpacked(read_frame(self.answers))
        except (EOFError, OSError):
            raise self._died(seconds) from None

    def _died(self, seconds: float) -> _Died:
        status = self.close()
        if not self.is_ready:
            return _Died("the parser process did not start", timed_out=False)
        if status == TIMED_OUT:
            return _Died(f"parsing took longer than {seconds:g} seconds", timed_out=True)
        return _Died(f"the parser crashed (status {status})", timed_out=False)

    def close(self) -> int:
        """Its exit status. The end of its input is a worker's sign to leave."""
        with suppress(OSError):  # a dead worker's pipe refuses what was still to be written
            self.requests.close()
        try:
            self.process.wait(SECONDS_TO_LEAVE)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self.answers.close()
        return self.process.wait()


class Sandbox:
    """A few worker processes behind one door; safe to use from several threads."""

    def __init__(
        self,
        workers: int = 1,
        *,
        seconds_per_file: float = SECONDS_PER_FILE,
        program: str = WORKER,
    ) -> None:
        self.seconds_per_file = seconds_per_file
        self._program = program
        self._workers = max(1, workers)
        self._lock = new_lock()
        self._begin()
        after_fork(self)

    def _begin(self) -> None:
        self._free = threading.Semaphore(self._workers)
        self._idle: list[_Worker] = []
        self._threads: ThreadPoolExecutor | None = None

    def leave_to_parent(self, *, torn: bool) -> None:
        """In a forked child: these workers answer to the parent, and its threads are not here."""
        for worker in self._idle:
            worker.requests.close()
            worker.answers.close()
            worker.process.returncode = 0  # of which the child has no other news
        self._begin()

    def parse(self, text: str, language: str) -> Parsed:
        """As `parse.parse`; if that fails in the worker, a plain text with the failure in it."""
        if not has_grammar(language):
            return parse(text, language)
        with self._free:
            try:
                return self._parse_once(text, language)
            except _Died as died:
                failure = died
            if not failure.timed_out:
                # A worker can also be killed from outside; what crashes twice is the file's fault.
                try:
                    return self._parse_once(text, language)
                except _Died as died:
                    failure = died
        return Parsed(language, failure=str(failure))

    def parse_many(self, jobs: Iterable[tuple[Key, str, str]]) -> Iterator[tuple[Key, Parsed]]:
        """(key, text, language) → (key, parsed), in the same order, a few ahead of what is taken."""
        if self._threads is None:
            self._threads = ThreadPoolExecutor(self._workers, "memsweep-parse")
        ahead: deque[tuple[Key, Future[Parsed]]] = deque()
        try:
            for key, text, language in jobs:
                ahead.append((key, self._threads.submit(self.parse, text, language)))
                if len(ahead) > 2 * self._workers:
                    key, future = ahead.popleft()
                    yield key, future.result()
            while ahead:
                key, future = ahead.popleft()
                yield key, future.result()
        finally:
            for _, future in ahead:
                future.cancel()

    def _parse_once(self, text: str, language: str) -> Parsed:
        with self._lock:
            worker = self._idle.pop() if self._idle else None
        worker = worker or _Worker(self._program)
        parsed = worker.parse(text, language, self.seconds_per_file)
        with self._lock:
            self._idle.append(worker)
        return parsed

    def close(self) -> None:
        """Let the workers go; a closed sandbox starts new ones when it is used again."""
        threads, self._threads = self._threads, None
        if threads is not None:
            threads.shutdown(cancel_futures=True)
        with self._lock:
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.close()

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
