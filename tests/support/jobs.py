"""What children of the fork_server can do. Each job says what it did; see `fork_server`."""

import dataclasses
import os
import sys
import threading
import time
from operator import attrgetter
from typing import Any

from memsweep.app import App
from memsweep.errors import MemsweepError
from tests.support.context_jobs import CONTEXT_JOBS
from tests.support.fork_server import Say, wait_for_word


def add_many(app: App, say: Say, *, prefix: str, count: int, workspace: str = "", wait: bool = False) -> None:
    """Add so many memories; say their ids."""
    if wait:
        say("ready")
        wait_for_word()
    memory = app.memory(workspace)
    say([memory.remember(f"{prefix} note {number} about Ada Lovelace").memory_id for number in range(count)])


def add_until_killed(app: App, say: Say, *, prefix: str, workspace: str = "") -> None:
    """Add memories of one and of several chunks; say each one's id and text once it is acknowledged."""
    memory = app.memory(workspace)
    number = 0
    while True:
        number += 1
        added = memory.remember(
            text_of_turn(prefix, number),
            tags=["crash", f"n{number % 3}"],
            thread_id=f"thread {prefix}" if number % 2 else None,
            entities=["Grace Hopper", f"Thing {number}"] if number % 3 else None,
            relations=[{"from": "Grace Hopper", "relation": "knows", "to": "Alan Turing"}] if number % 4 else None,
        )
        say([added.memory_id, number])


def text_of_turn(prefix: str, number: int) -> str:
    return f"{prefix} turn {number} with Grace Hopper and Alan Turing. " * (60 if number % 5 == 0 else 1)


def attempt(app: App, say: Say, *, calls: list[list[Any]], workspace: str = "", wait: bool = False) -> None:
    """Do these calls one after the other; say what each gave, or which error it raised."""
    say([_outcome(app, workspace, name, arguments) for name, arguments in calls])
    if wait:
        wait_for_word()


def attempt_when_told(
    app: App, say: Say, *, first: list[list[Any]], then: list[list[Any]], workspace: str = ""
) -> None:
    """The same in two halves, with a word from the test between them."""
    say([_outcome(app, workspace, name, arguments) for name, arguments in first])
    wait_for_word()
    say([_outcome(app, workspace, name, arguments) for name, arguments in then])


def search_with_small_tail(
    app: App, say: Say, *, calls: list[list[Any]], workspace: str = "", wait: bool = False
) -> None:
    """The same with a vector file already for a few memories."""
    from memsweep.store.sqlite import vectors

    vectors._TAIL_MIN = 20
    attempt(app, say, calls=calls, workspace=workspace, wait=wait)


def add_and_search(app: App, say: Say, *, rounds: int, prefix: str, workspace: str = "") -> None:
    """Write and read in turns; say how many searches did not find what was just written."""
    memory, missed = app.memory(workspace), 0
    for number in range(rounds):
        word = f"{prefix}x{number}"
        memory.remember(f"remember {word} well")
        missed += not any(word in hit.passage.text for hit in memory.search(word).hits)
    say(missed)


def threads(app: App, say: Say, *, count: int, rounds: int, workspace: str = "") -> None:
    """One memory used by many threads at once; say the errors."""
    memory, errors = app.memory(workspace), []

    def work(name: int) -> None:
        try:
            for number in range(rounds):
                added = memory.remember(f"thread {name} remembers {number}")
                assert memory.get(added.memory_id).text == f"thread {name} remembers {number}"
                assert memory.search(f"thread {name} remembers {number}").hits
                memory.stats()
        except Exception as error:  # noqa: BLE001  # whatever it is, the test wants to see it
            errors.append(repr(error))

    workers = [threading.Thread(target=work, args=(name,)) for name in range(count)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    say(errors)


def copy_in_small_batches(app: App, say: Say, *, source: str, target: str, batch: int) -> None:
    """Copy the workspace, without haste; say how far it is after each batch, and the notes at last."""
    from memsweep.store.falkor import copying, reading

    def progress(done: int, total: int) -> None:
        say([done, total])
        time.sleep(0.02)

    copying._BATCH = reading._PAGE = batch
    say(app.copy_workspace("default", source, target, progress=progress).notes)


def fork_while_open(app: App, say: Say, *, count: int, workspace: str = "") -> None:
    """Fork with the workspace open, as `multiprocessing` does; both sides write and read; the parent closes first."""
    memory = app.memory(workspace)
    memory.remember("before the fork")
    memory.search("fork")
    closed, close = os.pipe()
    child = os.fork()
    side = "parent" if child else "child"
    for number in range(count):
        memory.remember(f"{side} note {number}")
        assert memory.search(f"{side} note {number}").hits
    if child:
        app.close()
        os.write(close, b".")
        say(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    else:
        os.read(closed, 1)
        for number in range(count):
            memory.remember(f"late note {number}")
        os._exit(0)


def run_schedule(app: App, say: Say, *, due: str) -> None:
    """Run the schedule when it is due, as a server does; say what the run did, or None if it was not ours."""
    from datetime import datetime

    from memsweep.schedule.background import Background

    background = Background(app)
    say("ready")
    wait_for_word()
    say(background.run(datetime.fromisoformat(due)))


def _outcome(app: App, workspace: str, name: str, arguments: dict[str, Any]) -> Any:
    try:
        target = app if hasattr(App, name) else app.memory(workspace)
        result = attrgetter(name)(target)(**arguments)
    except MemsweepError as error:
        return {"error": type(error).__name__, "message": str(error)}
    return {"result": _plain(result)}


def _plain(result: Any) -> Any:
    if dataclasses.is_dataclass(result) and not isinstance(result, type):
        return {key: _plain(value) for key, value in dataclasses.asdict(result).items()}
    if isinstance(result, list | tuple):
        return [_plain(item) for item in result]
    if isinstance(result, dict):
        return {str(key): _plain(value) for key, value in result.items()}
    return result if isinstance(result, str | int | float | bool | None) else str(result)


def program(app: App, say: Say, *, module: str, arguments: list[Any]) -> None:
    """Run `main` of a module that the fork server has imported; say what it returns."""
    say(sys.modules[module].main(*arguments))


JOBS = {
    job.__name__: job
    for job in (
        add_many,
        add_until_killed,
        attempt,
        attempt_when_told,
        search_with_small_tail,
        add_and_search,
        threads,
        fork_while_open,
        copy_in_small_batches,
        run_schedule,
        program,
    )
} | CONTEXT_JOBS
