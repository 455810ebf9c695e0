"""Kill an operation on workspaces at its steps: `python -m tests.workspaces.killed_at_each_step OPERATION [thorough]`.

A step is an SQL statement that may write, or something that is done to a file. For a step a child gets a copy of the
same home, does the operation, and dies by SIGKILL right before that step; the last one dies when it is done, before
anything is closed. It dies wherever another kind of step begins, and if it is thorough, at every step. Then another
process runs one ordinary command. After that the home must be in one of two states, as if nothing had been done or as
if all of it had, with nothing left beside it and nothing for the doctor. One line of JSON says how often it died and
what was wrong.
"""

import json
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw

from memsweep.app import App, make_app
from memsweep.embed.local import LocalEmbedder
from memsweep.settings import load_settings
from tests.support import store_files
from tests.support.counts import some_of, turns
from tests.support.memory_disk import MEMORY_DISK

SECRET = "quarantined-heliotrope"
_FILE_EVENTS = {"os.link", "os.rename", "os.remove", "os.truncate", "os.mkdir"}
_READS = ("select", "with", "pragma", "begin", "rollback")
_PASSING = ("intent", "pending_event")
_SIDES = ("", "-wal", "-shm", "-mark")


@dataclass(frozen=True)
class Operation:
    """`prepare` brings the home to where `run` begins; it may hand something on. `frees`: the secret is gone then."""

    run: Callable[[App, Path, Any], object]
    prepare: Callable[[App, Path], Any] = lambda app, folder: None
    frees: bool = False


def _deleted(app: App, folder: Path) -> str:
    receipt = app.delete_workspace("other", confirm=True).receipt_id
    assert receipt is not None
    return receipt


def _backed_up(app: App, folder: Path) -> None:
    app.memory("other").care.backup(folder / "copy.backup")
    app.memory("other").remember("written after the backup")


OPERATIONS = {
    "create": Operation(lambda app, folder, _: app.create_workspace("new", "a new one")),
    "delete": Operation(lambda app, folder, _: app.delete_workspace("other", confirm=True)),
    "undelete": Operation(lambda app, folder, receipt: app.undo(receipt), _deleted),
    "purge": Operation(lambda app, folder, _: app.purge_workspaces(0), _deleted, frees=True),
    "restore": Operation(lambda app, folder, _: app.restore(folder / "copy.backup", "new"), _backed_up),
    "replacing restore": Operation(
        lambda app, folder, _: app.restore(folder / "copy.backup", "other", replace=True), _backed_up
    ),
}


def open_app(home: Path) -> App:
    app = make_app(load_settings({"MEMSWEEP_HOME": str(home)}))
    app.__dict__["local_model"] = _model
    return app


_model = LocalEmbedder()


def fill(home: Path) -> None:
    app = open_app(home)
    app.memory().remember("Ada Lovelace wrote the first program.")
    for number in range(3):
        app.memory("other").remember(f"{SECRET} number {number} of Grace Hopper")
    app.close()


def state(home: Path) -> dict[str, Any]:
    """What a person could see: live workspaces with their texts, and deleted ones with theirs; what the logs say."""
    rows = store_files.query(home / "registry.db", "select name, file, deleted_at is not null from workspace")
    files = [(name, bool(gone), home / "workspaces" / file) for name, file, gone in rows]
    return {"workspaces": sorted((name, gone, _texts(file), _events(file)) for name, gone, file in files)}


def _texts(file: Path) -> list[str]:
    return sorted(store_files.query(file, "select text from live_memory"))


def _events(file: Path) -> list[Any]:
    return store_files.query(
        file, "select action || ' by ' || actor from audit where subject not like '%/%' order by id"
    )


def leftovers(home: Path) -> list[str]:
    """Files that nothing accounts for, and intents that nobody has finished."""
    files = store_files.query(home / "registry.db", "select file from workspace")
    known = {f"workspaces/{file}{end}" for file in files for end in _SIDES} | {f"registry.db{end}" for end in _SIDES}
    there = {str(path.relative_to(home)) for path in home.rglob("*") if path.is_file()}
    strange = [name for name in sorted(there - known) if not name.endswith(".vec")]
    strange += [f"open to others: {path}" for path in home.rglob("*") if path.is_file() and path.stat().st_mode & 0o77]
    left = {table: store_files.query(home / "registry.db", f"select * from {table}") for table in _PASSING}
    return strange + [f"{table} {row}" for table, rows in left.items() for row in rows]


def in_child(work: Callable[[], Any]) -> Any:
    """Do it in a process of its own; what it gives, or None if it died."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(writing, json.dumps([work()]).encode())
        finally:
            os.kill(os.getpid(), signal.SIGKILL)  # acknowledged, and no time to close anything
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read()
    os.waitpid(pid, 0)
    return json.loads(said)[0] if said else None


def attempt(place: Path, operation: Operation, given: Any, at: int) -> list[str] | None:
    """The steps it took, if it came to the end."""

    def work() -> list[str]:
        steps = die_at(at)
        operation.run(open_app(place / "home"), place, given)
        return steps

    found: list[str] | None = in_child(work)
    return found


def die_at(at: int) -> list[str]:
    """End this process before its step of that number; 0 is the first one."""
    return at_step(at, lambda: os.kill(os.getpid(), signal.SIGKILL))


def at_step(at: int, act: Callable[[], None]) -> list[str]:
    """Do something before the step of that number; the steps that were taken are added to the list."""
    steps: list[str] = []

    def take(step: str) -> None:
        if len(steps) == at:
            act()
        steps.append(step)

    def see(event: str, arguments: tuple[Any, ...]) -> None:
        if event in _FILE_EVENTS or (event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR)):
            take(event)

    def statement(_: object, sql: str, __: object) -> bool:
        if not sql.lstrip().lower().startswith(_READS):
            take(sql.split()[0].lower())
        return True

    def trace(db: apsw.Connection) -> None:
        if db.filename:
            db.exec_trace = statement

    apsw.connection_hooks.append(trace)
    sys.addaudithook(see)
    return steps


def begin(home: Path, at: int) -> None:
    """Begin an ordinary command, and die at a step of that."""
    die_at(at)
    open_app(home).workspaces()


def next_command(home: Path) -> list[str]:
    """What the doctor finds, in a process that has run an ordinary command before."""

    def work() -> list[str]:
        app = open_app(home)
        app.workspaces()
        found = [f"left: {each}" for each in leftovers(home)]
        return found + [f"doctor: {each.invariant} {each.samples}" for each in app.memory().care.doctor().findings]

    said: list[str] | None = in_child(work)
    return ["the next command failed"] if said is None else said


def bytes_of(home: Path) -> bytes:
    return b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())


def main(name: str, thorough: bool) -> dict[str, Any]:
    operation, problems = OPERATIONS[name], []
    with tempfile.TemporaryDirectory(dir=MEMORY_DISK) as folder:
        origin = Path(folder) / "origin"
        fill(origin / "home")
        app = open_app(origin / "home")
        given = operation.prepare(app, origin)
        app.close()
        before = state(origin / "home")

        def copy(number: int) -> Path:
            shutil.copytree(origin, Path(folder) / str(number))
            return Path(folder) / str(number)

        whole = copy(0)
        steps = attempt(whole, operation, given, at=-1)
        assert steps is not None
        done = state(whole / "home")
        problems += [] if done != before else ["what was acknowledged is not there"]
        outcomes = {"before": 0, "done": 0}
        end = len(steps)
        points = some_of(range(end + 1), 3, turns(steps), thorough)
        for at in points:
            place = copy(at + 1)
            lived = attempt(place, operation, given, at) is not None
            where = f"killed at step {at} of {end}"
            problems += [f"{where}: it lived"] if lived != (at == end) else []
            in_child(lambda home=place / "home", at=at: begin(home, at % 9))  # cleaning up may be killed, too
            problems += [f"{where}: {each}" for each in next_command(place / "home")]
            left = state(place / "home")
            problems += [] if left in (before, done) else [f"{where}: neither nor: {left}"]
            outcomes["done" if left == done else "before"] += 1
            if operation.frees and left == done and SECRET.encode() in bytes_of(place / "home"):
                problems.append(f"{where}: the purged text is still there")
            shutil.rmtree(place)
    return {"points": len(points), "problems": problems, **outcomes}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], "thorough" in sys.argv)))
