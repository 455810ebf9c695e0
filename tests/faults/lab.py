"""What every campaign works with: a place to work in, pinned time and ids, and the questions asked of a home.

A place is a folder with `home` (the data of memsweep), `repo` (a small folder of sources) and `out` (backups). It
lies in memory where the system offers that. Nothing here is a stand-in: the store, the embedder and the parser are
the real ones; the model and the parser processes are only shared, because starting them takes longer than most steps.
"""

from __future__ import annotations

import atexit
import contextlib
import dataclasses
import os
import pickle
import random
import secrets
import shutil
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from memsweep import clock
from memsweep.app import App, make_app
from memsweep.code.sandbox import Sandbox
from memsweep.embed.local import LocalEmbedder
from memsweep.settings import Settings, load_settings
from memsweep.store.file import connect
from tests.support.memory_disk import MEMORY_DISK
from tests.support.warm import warm_up

T = TypeVar("T")
START = datetime(2026, 1, 1, 12, tzinfo=UTC)
FOLDER = Path(MEMORY_DISK or tempfile.gettempdir())


@dataclass
class Outcome:
    """What a run counted, and what it found that must not be."""

    counts: dict[str, int] = field(default_factory=dict)
    violations: list[str] = field(default_factory=list)

    def count(self, what: str, number: int = 1) -> None:
        self.counts[what] = self.counts.get(what, 0) + number

    def add(self, other: Outcome) -> None:
        for what, number in other.counts.items():
            self.count(what, number)
        self.violations += other.violations

    def shown(self) -> dict[str, int | list[str]]:
        return {**self.counts, "violations": self.violations}


@contextlib.contextmanager
def place(name: str = "") -> Iterator[Path]:
    """A folder that is removed afterwards."""
    folder = Path(tempfile.mkdtemp(prefix=f"memsweep-faults-{name}", dir=FOLDER))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def lasting_place(name: str) -> Path:
    """A folder that is removed when this process ends."""
    keeper = place(name)
    folder = keeper.__enter__()
    atexit.register(keeper.__exit__, None, None, None)
    return folder


def embedder() -> LocalEmbedder:
    model: LocalEmbedder = warm_up()
    return model


def sandbox() -> Sandbox:
    """One for each process: its threads do not come along into a fork."""
    if os.getpid() not in _sandboxes:
        _sandboxes[os.getpid()] = Sandbox(1)
    return _sandboxes[os.getpid()]


def close_sandbox() -> None:
    if shared := _sandboxes.pop(os.getpid(), None):
        shared.close()


_sandboxes: dict[int, Sandbox] = {}
atexit.register(close_sandbox)


@cache
def _settings() -> Settings:
    return load_settings({})


def open_app(home: Path) -> App:
    app = make_app(dataclasses.replace(_settings(), home=home))
    app.__dict__["local_model"] = embedder()
    app.__dict__["sandbox"] = sandbox()
    return app


def close_app(app: App) -> None:
    """Close the store; the shared parser goes on."""
    app.__dict__.pop("sandbox", None)
    app.close()


@contextlib.contextmanager
def opened(home: Path) -> Iterator[App]:
    app = open_app(home)
    try:
        yield app
    finally:
        close_app(app)


class Clock:
    """Goes on by a second each time it is asked; `jump` sets it."""

    def __init__(self, at: datetime = START) -> None:
        self.at = at

    def jump(self, by: timedelta) -> None:
        self.at += by

    def now(self, zone: tzinfo | None = None) -> datetime:
        self.at += timedelta(seconds=1)
        return self.at.astimezone(zone)


class _Seconds:
    """Time for those who wait: a sleep passes at once."""

    def __init__(self) -> None:
        self._now = 0.0

    def monotonic(self) -> float:
        return self._now

    def sleep(self, seconds: float) -> None:
        self._now += seconds


@contextlib.contextmanager
def pinned(chance: random.Random, watch: Clock) -> Iterator[None]:
    """Time, ids and file names from the seed, and no waiting while a file is opened again and again."""
    kept = clock.datetime, secrets.token_hex, os.urandom, connect.time, clock._entropy.left
    clock.datetime = watch  # type: ignore[assignment]
    secrets.token_hex = lambda size=8: chance.randbytes(size or 8).hex()  # type: ignore[assignment]
    os.urandom = chance.randbytes  # type: ignore[assignment]
    connect.time = _Seconds()  # type: ignore[assignment]
    clock._entropy.pid, clock._entropy.left = os.getpid(), chance.randbytes(1 << 16)
    try:
        yield
    finally:
        clock.datetime, secrets.token_hex, os.urandom, connect.time, clock._entropy.left = kept  # type: ignore[assignment]


def fork(work: Callable[[], None], failed: Path) -> int:
    """A child that works beside this process; its traceback goes to a file."""
    if pid := os.fork():
        return pid
    status = 1
    try:
        work()
        status = 0
    except BaseException:  # noqa: BLE001  # the last stop of this process
        failed.write_text(traceback.format_exc())
    finally:
        os._exit(status)


def in_child(work: Callable[[], T], seconds: int = 600) -> T | str:
    """What a function returns in a forked child; how the child ended, if it came to no end of its own."""
    ours, theirs = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the threads that were started before only wait
        pid = os.fork()
    if pid == 0:
        os.close(ours)
        _work(work, theirs, seconds)
    os.close(theirs)
    with open(ours, "rb") as pipe:
        said = pipe.read()
    _, status = os.waitpid(pid, 0)
    if status:
        ended = os.waitstatus_to_exitcode(status)
        return f"ended by {signal.Signals(-ended).name}" if ended < 0 else f"ended with {ended}"
    result: T = pickle.loads(said)
    return result


def _work(work: Callable[[], Any], pipe: int, seconds: int) -> None:
    """The end of a child: it never returns into the code of its parent."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(seconds)
    status = 1
    try:
        result = pickle.dumps(work())
        while result:
            result = result[os.write(pipe, result) :]
        status = 0
    except BaseException:  # noqa: BLE001  # the last stop of this process
        traceback.print_exc(file=sys.stderr)
    finally:
        close_sandbox()
        os._exit(status)
