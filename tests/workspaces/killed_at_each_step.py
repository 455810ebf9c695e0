"""Kill an operation on workspaces at its steps: `python -m tests.workspaces.killed_at_each_step OPERATION [thorough]`.

After the death another process runs one ordinary command. Then nothing may lie beside the home, and the doctor has
nothing to say. One line of JSON says how often it died and what was wrong.
"""

import json
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memsweep.app import App, make_app
from memsweep.embed.local import LocalEmbedder
from memsweep.settings import load_settings
from tests.support import store_files
from tests.support.killing import at_step, in_child, kill_at_steps
from tests.support.memory_disk import MEMORY_DISK

SECRET = "quarantined-heliotrope"
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


def run(operation: Operation, place: Path, given: Any) -> None:
    operation.run(open_app(place / "home"), place, given)


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


def begin(home: Path, at: int) -> None:
    """Begin an ordinary command, and die at a step of that."""
    at_step(at)
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
    operation = OPERATIONS[name]
    with tempfile.TemporaryDirectory(dir=MEMORY_DISK) as folder:
        origin = Path(folder)
        fill(origin / "home")
        app = open_app(origin / "home")
        given = operation.prepare(app, origin)
        app.close()

        def look(place: Path, at: int) -> tuple[Any, list[str]]:
            home = place / "home"
            in_child(lambda: begin(home, at % 9))  # cleaning up may be killed, too
            found, left = next_command(home), state(home)
            is_freed = operation.frees and "other" not in {name for name, *_ in left["workspaces"]}
            if is_freed and SECRET.encode() in bytes_of(home):
                found.append("the purged text is still there")
            return left, found

        return kill_at_steps(origin, lambda place: run(operation, place, given), look, thorough).told()


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], "thorough" in sys.argv)))
