"""Kill backups, restores and repairs at their steps: `python -m tests.care.killed_at_each_step OPERATION HOME`.

HOME is a filled one; `thorough` after it takes every step. One line of JSON says how often it died and what was wrong.
"""

import json
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memsweep.app import App
from memsweep.model.care import Checkup
from tests.care import stores
from tests.support import store_files
from tests.support.killing import kill_at_steps
from tests.support.memory_disk import MEMORY_DISK

HEALTHY = Checkup("default", ())
_A_DRAFTS_STEP = 50  # a row more or less in a file that has no name yet makes no difference
_CHANGED = ("meta", "audit", "sqlite_sequence")  # by a restore that puts another file in the place of one


@dataclass(frozen=True)
class Operation:
    """`look` checks what a kill has left, beside the place as it was, and says which state it is in."""

    act: Callable[[App, Path], object]
    look: Callable[[App, Path, Path], object]
    damage: str = ""
    ends_as_it_was: bool = False


def _restores(app: App, file: Path) -> bool:
    return app.restore(file, "check", replace=True).seal.memories > 0


def _after_backup(app: App, place: Path, origin: Path) -> bool:
    made = place / "made.backup"
    was_made = made.exists()
    assert not was_made or _restores(app, made)
    app.memory().care.backup(made, force=True)  # sweeps what is left
    assert {path.name for path in place.iterdir()} == {"home", "copy.backup", "made.backup"}
    assert app.memory().care.doctor() == HEALTHY
    return was_made


def _after_replaced_backup(app: App, place: Path, origin: Path) -> bool:
    assert _restores(app, place / "copy.backup")
    return (place / "copy.backup").read_bytes() == (origin / "copy.backup").read_bytes()


def _after_restore(app: App, place: Path, origin: Path) -> list[str]:
    names = [workspace.id for workspace in app.workspaces()]
    if "other" in names:
        assert app.memory("other").search("Ada").hits
        assert store_files.problems(store_files.file_of(place / "home", "other")) == []
    assert app.memory().care.doctor(repair=True).left == ()
    assert [workspace.id for workspace in app.workspaces()] == names
    app.restore(place / "copy.backup", "other", replace=True)
    assert not list((place / "home" / "workspaces").glob(".*"))
    return names


def _after_replacing_restore(app: App, place: Path, origin: Path) -> bool:
    file, before = store_files.file_of(place / "home"), store_files.file_of(origin / "home")
    kept = place / "home" / "workspaces" / before.name
    assert stores.dump(kept, without=_CHANGED) == stores.dump(before, without=_CHANGED)
    assert store_files.problems(file) == []
    assert app.memory().care.doctor(repair=True).left == ()
    return file.name == before.name


def _after_repair(app: App, place: Path, origin: Path) -> None:
    assert app.memory().care.doctor(repair=True).left == ()
    assert app.memory().care.doctor() == HEALTHY


def _after_compact(app: App, place: Path, origin: Path) -> object:
    assert app.memory().care.doctor() == HEALTHY
    return stores.dump(store_files.file_of(place / "home"))


OPERATIONS = {
    "backup": Operation(lambda app, place: app.memory().care.backup(place / "made.backup"), _after_backup),
    "replaced backup": Operation(
        lambda app, place: app.memory().care.backup(place / "copy.backup", force=True), _after_replaced_backup
    ),
    "restore": Operation(lambda app, place: app.restore(place / "copy.backup", "other"), _after_restore),
    "replacing restore": Operation(
        lambda app, place: app.restore(place / "copy.backup", replace=True), _after_replacing_restore
    ),
    "repair": Operation(
        lambda app, place: app.memory().care.doctor(repair=True),
        _after_repair,
        "delete from memory_tag; delete from chunk_fts_docsize where id = 4; insert into vector values (999, x'00')",
        ends_as_it_was=True,
    ),
    "compact": Operation(lambda app, place: app.memory().care.compact(), _after_compact, ends_as_it_was=True),
}


def main(name: str, home: str, thorough: bool) -> dict[str, Any]:
    operation = OPERATIONS[name]
    with tempfile.TemporaryDirectory(dir=MEMORY_DISK) as folder:
        origin = Path(folder)
        file = stores.copy_of(Path(home), origin / "home")
        with closing(stores.open_app(origin / "home")) as app:
            app.memory().care.backup(origin / "copy.backup")
            app.memory().remember("written after the backup")
        with store_files.open_file(file) as db:
            db.execute(operation.damage)

        def look(place: Path, at: int) -> tuple[Any, list[str]]:
            with closing(stores.open_app(place / "home")) as app:
                return operation.look(app, place, origin), []

        verdict = kill_at_steps(
            origin,
            lambda place: operation.act(stores.open_app(place / "home"), place),
            look,
            thorough,
            rows_of_a_draft=_A_DRAFTS_STEP,
        )
    return verdict.told(may_be_same=operation.ends_as_it_was)


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], sys.argv[2], "thorough" in sys.argv)))
