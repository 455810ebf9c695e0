"""Two processes at work on one home, step by step in an order that a seed decides, recorded.

The processes are real and stay open from the first step to the last, so each has its own connections and caches. A
step may be stopped at any of its writes and syncs while the other process reads or writes; who finds the
write lock taken then is refused, as after a long wait. Since one of them always waits for the other, a seed gives the
same log each time.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import traceback
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from multiprocessing.connection import Connection, Pipe
from pathlib import Path

from memsweep.errors import MemsweepError
from memsweep.store.file import connect
from memsweep.store.sqlite import vectors
from tests.faults import lab, steps
from tests.faults.disk import Disk
from tests.faults.recorder import Event, Recorder, read_log, recording

_LONGEST_WAY_IN = 80  # events of a step before it is stopped
_PATIENCE_SECONDS = 0.02
_LONGEST_LIFE_SECONDS = 600


@dataclass
class Story:
    """What happened to the disk that was there before, event by event."""

    disk: Disk
    events: list[Event]


def tell(chance: random.Random, folder: Path, *, prepared: bool) -> Story:
    """Let two processes work; what they did."""
    disk, workers = _begin(folder, prepared, [chance.randbytes(8) for _ in range(2)])
    for number in range(chance.randrange(3, 7)):
        one, other = chance.sample(workers, 2)
        step = chance.choice((*steps.STEPS, _READS["search"]))
        stop = chance.randrange(1, _LONGEST_WAY_IN) if chance.random() < 0.5 else 0
        one.begin(step.name, 2 * number, stop)
        if one.stopped():
            other.begin(chance.choice(_beside(step)).name, 2 * number + 1, 0)
            other.finish()
            one.finish()
    for worker in chance.sample(workers, 2):
        worker.end()
    return Story(disk, read_log(folder / "log"))


def tell_exactly(folder: Path, acts: Sequence[tuple[int, str]], *, prepared: bool) -> Story:
    """These steps one after the other, each by the first or the second process; both are left open."""
    disk, workers = _begin(folder, prepared, [b"first", b"second"])
    for number, (who, name) in enumerate(acts):
        workers[who].begin(name, number, 0)
        workers[who].stopped()
    told = read_log(folder / "log")
    for worker in workers:
        worker.end()
    return Story(disk, told)


def _begin(folder: Path, prepared: bool, seeds: Sequence[bytes]) -> tuple[Disk, list[_Worker]]:
    steps.template()
    root = folder / "place"
    if prepared:
        steps.copy_template(root)
    else:
        (root / "out").mkdir(parents=True)
    return Disk(root), [_Worker(root, folder / "log", seed) for seed in seeds]


def _beside(step: steps.Step) -> tuple[steps.Step, ...]:
    """What another process may do in the middle of a step.

    Nothing that writes to one file while a commit to another waits for its sync: the two are not in any order
    then, and both answers would be right. And no second index run: it would wait for the first, which is stopped.
    """
    if step.of_home:
        return steps.READS
    return (*steps.READS, *(other for other in steps.STEPS if not other.of_home and other is not step))


class _Worker:
    """A process, as the one that sends it to work sees it."""

    def __init__(self, root: Path, log: Path, seed: bytes) -> None:
        self._pipe, theirs = Pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # the threads that were started before only wait
            self._pid = os.fork()
        if self._pid == 0:
            self._pipe.close()
            _work(root, log, seed, theirs)
        theirs.close()

    def begin(self, name: str, number: int, stop: int) -> None:
        self._pipe.send((name, number, stop))

    def stopped(self) -> bool:
        """Whether it waits in the middle of its step; False when the step is done."""
        return bool(self._pipe.recv() == "stopped")

    def finish(self) -> None:
        """Let a stopped one go on, and wait for the end of the step."""
        self._pipe.send("go")
        while self._pipe.recv() == "stopped":
            self._pipe.send("go")

    def end(self) -> None:
        self._pipe.send(None)
        self._pipe.close()
        _, status = os.waitpid(self._pid, 0)
        assert status == 0, f"a worker ended with {status}"


def _work(root: Path, log: Path, seed: bytes, pipe: Connection) -> None:
    """The life of a worker; it never returns into the code of its parent."""
    status = 1
    try:
        signal.alarm(_LONGEST_LIFE_SECONDS)
        connect.BUSY_SECONDS = _PATIENCE_SECONDS
        vectors._TAIL_MIN = 3  # so that a search writes a vector file
        chance = random.Random(seed)
        with lab.pinned(chance, lab.Clock(lab.START + timedelta(minutes=10))):
            _do_as_told(root, log, pipe)
        status = 0
    except BaseException:  # noqa: BLE001  # the last stop of this process
        traceback.print_exc(file=sys.stderr)
    finally:
        lab.close_sandbox()
        os._exit(status)


def _do_as_told(root: Path, log: Path, pipe: Connection) -> None:
    stops = _Stops(pipe)
    recorder = Recorder(root, log, stops.look)
    with recording(recorder):
        app = lab.open_app(root / "home")
        while (order := pipe.recv()) is not None:
            if order == "go":
                continue
            name, number, stop = order
            recorder.note("begin", name, number)
            stops.at = recorder.events + stop if stop else -1
            said = _attempt(steps.Scene(app, root, steps.template()[1], number), name)
            stops.at = -1
            recorder.note("ack" if said == "done" and name in steps.BY_NAME else "refused", name, number)
            pipe.send(said)
        lab.close_app(app)


def _attempt(scene: steps.Scene, name: str) -> str:
    try:
        (steps.BY_NAME.get(name) or _READS[name]).act(scene)
    except MemsweepError as error:
        return f"refused: {error}"
    return "done"


_READS = {step.name: step for step in steps.READS}


class _Stops:
    """Stops a worker before one event, until it is told to go on."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe
        self.at = -1

    def look(self, events: int) -> None:
        if 0 <= self.at <= events:
            self.at = -1
            self._pipe.send("stopped")
            while self._pipe.recv() != "go":
                pass
