"""Backups with random damage, half of them with a seal that was made for it: restored as they were, or refused.

`run(seed)` is the campaign; one seed gives the same damage each time.
"""

import random
import shutil
import tempfile
import traceback
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import apsw

from memsweep.app import App
from memsweep.errors import MemsweepError
from memsweep.store.file.shape import shape_of, things
from tests.care import stores
from tests.support import forging, store_files

ROUNDS = 20
_PAGE = 4096
_CHANGED = ("audit", "sqlite_sequence", "meta")


def run(seed: int) -> dict[str, int | list[str]]:
    chance, violations = random.Random(seed), list[str]()
    counts = {"flips": 0, "refused": 0, "restored": 0}
    with tempfile.TemporaryDirectory(prefix="memsweep-backups-") as name:
        place = Path(name)
        shutil.copytree(_template() / "home", place / "home")
        app = stores.open_app(place / "home")
        try:
            for number in range(ROUNDS):
                outcome, wrong = _one(app, place, chance)
                counts["flips"] += 1
                counts[outcome] += 1
                violations += [f"seed {seed}, round {number}: {each}" for each in wrong]
        finally:
            app.close()
        if stores.dump(store_files.file_of(place / "home")) != _original():
            violations.append(f"seed {seed}: the workspace that was there has changed")
    return {**counts, "violations": violations}


def _one(app: App, place: Path, chance: random.Random) -> tuple[str, list[str]]:
    spoiled = place / "spoiled.backup"
    raw = bytearray((_template() / "copy.backup").read_bytes())
    chance.choice(_DAMAGES)(raw, chance)
    spoiled.write_bytes(raw)
    is_sealed = chance.random() < 0.5 and _sealed_again(spoiled)
    before = _listed(place)
    try:
        app.restore(spoiled, "other", replace=True)
    except MemsweepError as error:
        said = str(error)
        wrong = [] if "spoiled.backup" in said and len(said) < 500 else [f"said {said!r:.300}"]
        return "refused", wrong + ([] if _listed(place) == before else ["a refusal changed the home"])
    except Exception:  # noqa: BLE001  # whatever it is, it is what is looked for
        return "refused", [traceback.format_exc(limit=-3)]
    return "restored", _compare(store_files.file_of(place / "home", "other"), is_same=not is_sealed)


def _compare(file: Path, *, is_same: bool) -> list[str]:
    """A file that was made of a forged one holds something else, but it is whole and of our schema."""
    if is_same and stores.dump(file, without=_CHANGED) != _wanted():
        return ["what was restored is not what was backed up"]
    with store_files.open_file(file) as db:
        found = [str(row[0]) for row in db.execute("pragma integrity_check") if row[0] != "ok"]
        wrong = shape_of(int(db.pragma("user_version"))).problem(things(db))
    return [*found, *([wrong] if wrong else [])]


def _sealed_again(file: Path) -> bool:
    try:
        forging.reseal(file)
    except (apsw.Error, ValueError, TypeError):  # too damaged for that
        return False
    return True


def _listed(place: Path) -> object:
    files = {path.name for path in (place / "home" / "workspaces").iterdir() if path.suffix == ".db"}
    drafts = {path.name for path in (place / "home" / "workspaces").glob(".*")}
    return files, drafts, store_files.query(place / "home" / "registry.db", "select * from workspace")


def _flip(raw: bytearray, chance: random.Random) -> None:
    for _ in range(chance.choice((1, 1, 2, 16))):
        raw[chance.randrange(len(raw))] ^= 1 << chance.randrange(8)


def _flip_in_header(raw: bytearray, chance: random.Random) -> None:
    raw[chance.randrange(120)] = chance.randrange(256)


def _flip_in_page_head(raw: bytearray, chance: random.Random) -> None:
    raw[chance.randrange(len(raw) // _PAGE) * _PAGE + chance.randrange(16)] = chance.randrange(256)


def _overwrite(raw: bytearray, chance: random.Random) -> None:
    at = chance.randrange(len(raw) // 512) * 512
    raw[at : at + 512] = chance.choice((bytes(512), chance.randbytes(512)))


def _swap(raw: bytearray, chance: random.Random) -> None:
    one, other = (chance.randrange(len(raw) // _PAGE) * _PAGE for _ in range(2))
    raw[one : one + _PAGE], raw[other : other + _PAGE] = raw[other : other + _PAGE], raw[one : one + _PAGE]


def _cut(raw: bytearray, chance: random.Random) -> None:
    del raw[chance.choice((chance.randrange(len(raw)), chance.randrange(len(raw) // _PAGE) * _PAGE)) :]


_DAMAGES: tuple[Callable[[bytearray, random.Random], None], ...] = (
    _flip,
    _flip_in_header,
    _flip_in_page_head,
    _overwrite,
    _swap,
    _cut,
)


@cache
def _template() -> Path:
    """A home, and a backup of it; it goes with this process."""
    folder = Path(_kept().name)
    stores.fill(folder / "home")
    app = stores.open_app(folder / "home")
    app.memory().care.backup(folder / "copy.backup")
    app.close()
    return folder


@cache
def _kept() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="memsweep-backup-", ignore_cleanup_errors=True)


@cache
def _original() -> dict[str, list[Any]]:
    return stores.dump(store_files.file_of(_template() / "home"))


@cache
def _wanted() -> dict[str, list[Any]]:
    return stores.dump(store_files.file_of(_template() / "home"), without=_CHANGED)
