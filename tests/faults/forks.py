"""Campaign: a program whose threads use one `Memory` forks; nothing acknowledged is lost, and nobody waits for a ghost.

A seed opens a workspace, lets threads remember and search in it, and forks at a random moment, mostly in the middle of
their calls. Parent, children and grandchildren remember on, some of them when the parent has closed. Then all that was
acknowledged must be there, and the doctor finds nothing.
"""

import json
import multiprocessing
import os
import random
import select
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from memsweep import forking
from memsweep.errors import MemsweepError, UnknownWorkspace
from memsweep.library import open_memory
from memsweep.services.memory import Memory
from tests.faults import lab
from tests.support.waiting import PATIENCE, wait_for

ROUNDS = 2
EACH = 5
REFUSED = "this process was forked while another thread"


class Child:
    """A process that was forked from this one and remembers some texts when it is told to."""

    def __init__(self, work: Callable[[], list[str]], *, generations: int = 1) -> None:
        self._answer, answer = os.pipe()
        told, self._tell = os.pipe()
        self.pid = quiet_fork()
        if not self.pid:
            with suppress(BaseException):
                os.close(self._tell)  # a parent that fails is heard as well
                while generations > 1 and quiet_fork() == 0:  # like a daemon: who is in between ends at once
                    generations -= 1
                if generations == 1:
                    os.read(told, 1)
                    os.write(answer, json.dumps(_said(work)).encode())
            os._exit(0)
        for end in (answer, told):
            os.close(end)

    def go(self) -> None:
        with suppress(BrokenPipeError):  # it was told before, and has ended
            os.write(self._tell, b"!")

    def said(self) -> list[str]:
        """The ids of what it remembered, or one sentence."""
        heard = b""
        while select.select([self._answer], [], [], PATIENCE)[0] and (piece := os.read(self._answer, 65536)):
            heard += piece
        if not heard:
            with suppress(ProcessLookupError):
                os.kill(self.pid, 9)
        os.waitpid(self.pid, 0)
        for end in (self._answer, self._tell):
            os.close(end)
        found: list[str] = json.loads(heard or b'["a forked child said nothing"]')
        return found


def quiet_fork() -> int:
    """Fork, which Python thinks unwise among threads."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def _said(work: Callable[[], list[str]]) -> list[str]:
    try:
        return work()
    except Exception as error:  # noqa: BLE001  # whatever it is, the parent must hear it
        return [f"{type(error).__name__}: {error}"]


def remember(memory: Memory, whose: str) -> list[str]:
    return [memory.remember(f"Note {number} of {whose}: the comet came.").memory_id for number in range(EACH)]


@contextmanager
def threads_at_work(memory: Memory, chance: random.Random, acknowledged: list[str], wrong: list[str]) -> Iterator[None]:
    """Threads that remember and search, until the block ends."""
    stop, whose = threading.Event(), chance.random()

    def work(number: int) -> None:
        turn = 0
        while not stop.is_set():
            turn += 1
            try:
                if number % 3 == 2:
                    memory.search("Who saw the comet?")
                else:
                    text = f"Note {turn} of thread {number} in {whose}: the violin came."
                    acknowledged.append(memory.remember(text).memory_id)
            except UnknownWorkspace:
                continue  # nobody has written yet
            except MemsweepError as error:
                wrong.append(f"thread {number}: {error}")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(chance.choice((1, 2, 3, 6)))]
    for thread in threads:
        thread.start()
    least = len(acknowledged) + chance.choice((0, 1, 5))
    wait_for(lambda: len(acknowledged) >= least or wrong, "the threads to begin")
    time.sleep(chance.random() * 0.01)  # anywhere in a call
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def run(seed: int) -> dict[str, int | list[str]]:
    chance, done = random.Random(seed), lab.Outcome()
    acknowledged: list[str] = []
    with lab.place("forks-") as place:
        for number in range(ROUNDS):
            way = chance.choice((_among_threads,) * 12 + (_idle,) * 3 + (_refused,) + (_other_ways,) * (number == 0))
            way(place / "home", chance, acknowledged, done)
        memory = open_memory("notes", home=place / "home")
        lost = sum(not _is_there(memory, each) for each in acknowledged)
        found = memory.care.doctor().findings
        close(memory)
    done.count("acknowledged", len(acknowledged))
    done.count("lost", lost)
    if lost:
        done.violations.append(f"seed {seed}: {lost} of {len(acknowledged)} acknowledged memories are lost")
    done.violations += [f"seed {seed}: the doctor finds {each}" for each in found]
    return done.shown()


def _among_threads(home: Path, chance: random.Random, acknowledged: list[str], done: lab.Outcome) -> None:
    memory = open_memory("notes", home=home)
    if acknowledged or chance.random() < 0.7:
        acknowledged += remember(memory, f"the parent, {chance.random()}")
    children = []
    with threads_at_work(memory, chance, acknowledged, done.violations):
        for _ in range(chance.choice((1, 1, 2))):
            done.count("in_calls", not forking.calls.is_empty)
            done.count("in_stores", not forking.stores.is_empty)
            whose, generations = f"a child, {chance.random()}", chance.choice((1, 1, 1, 2))
            children.append(Child(lambda whose=whose: remember(memory, whose), generations=generations))
            done.count("forks", generations)
            if chance.random() < 0.3:
                children[-1].go()
    close(memory)
    _heard(children, acknowledged, done)


def _idle(home: Path, chance: random.Random, acknowledged: list[str], done: lab.Outcome) -> None:
    """As a server that forks its workers beforehand; all of them work at once, with the parent among them."""
    memory = open_memory("notes", home=home)
    acknowledged += remember(memory, f"a master, {chance.random()}")
    memory.search("Who saw the comet?")
    names = [f"worker {number}, {chance.random()}" for number in range(3)]
    children = [Child(lambda whose=whose: remember(memory, whose)) for whose in names]
    done.count("forks", len(children))
    for child in children:
        child.go()
    acknowledged += remember(memory, f"a master, {chance.random()}")
    _heard(children, acknowledged, done)
    close(memory)


def _refused(home: Path, chance: random.Random, acknowledged: list[str], done: lab.Outcome) -> None:
    """A thread that does not leave the store: the child is refused at once, and the thread is not disturbed."""
    memory = open_memory("notes", home=home)
    acknowledged += remember(memory, f"the parent, {chance.random()}")
    with held(memory), patience(0.05):
        child = Child(lambda: remember(memory, "a ghost"))
    done.count("forks")
    child.go()
    said = child.said()
    if len(said) == 1 and REFUSED in said[0]:
        done.count("refused")
    else:
        done.violations.append(f"a child that must be refused said {said}")
    acknowledged += remember(memory, f"the parent, {chance.random()}")
    close(memory)


def _other_ways(home: Path, chance: random.Random, acknowledged: list[str], done: lab.Outcome) -> None:
    """By forkserver or spawn, which inherit nothing."""
    memory = open_memory("notes", home=home)
    acknowledged += remember(memory, f"the parent, {chance.random()}")
    way = multiprocessing.get_context(chance.choice(("fork", "forkserver", "spawn")))
    here, there = way.Pipe()
    with threads_at_work(memory, chance, acknowledged, done.violations), warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        process = way.Process(target=_remember_there, args=(str(home), f"a process, {chance.random()}", there))
        process.start()
    close(memory)
    said = here.recv() if here.poll(PATIENCE) else ["a process said nothing"]
    process.join()
    done.count("forks")
    _note(said, acknowledged, done)


def _remember_there(home: str, whose: str, answers: Any) -> None:
    answers.send(_said(lambda: remember(open_memory("notes", home=home), whose)))


@contextmanager
def held(memory: Memory) -> Iterator[None]:
    """A thread that stays in a write transaction until the block ends."""
    begun, end = threading.Event(), threading.Event()

    def hold() -> None:
        with memory._access.store._pool.writing():
            begun.set()
            end.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    begun.wait()
    try:
        yield
    finally:
        end.set()
        thread.join()


@contextmanager
def patience(seconds: float) -> Iterator[None]:
    before, forking.SECONDS_FOR_STORES = forking.SECONDS_FOR_STORES, seconds
    try:
        yield
    finally:
        forking.SECONDS_FOR_STORES = before


def _heard(children: list[Child], acknowledged: list[str], done: lab.Outcome) -> None:
    for child in children:
        child.go()
    for child in children:
        _note(child.said(), acknowledged, done)


def _note(said: list[str], acknowledged: list[str], done: lab.Outcome) -> None:
    if len(said) == EACH:
        acknowledged += said
    else:
        done.violations.append(f"a child said {said}")


def _is_there(memory: Memory, memory_id: str) -> bool:
    try:
        return bool(memory.get(memory_id))
    except MemsweepError:
        return False


def close(memory: Memory) -> None:
    memory._access.app.close()
