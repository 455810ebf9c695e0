"""Bit flips: a file of the home is damaged, and every door is tried.

A run of a seed damages copies of a home that has everything in it, a log with unsaved pages and a vector file included:
single bits, a few bits, sectors overwritten with zeros or noise, a file cut short. A child process then reads and
writes through every operation. Each one answers, with a sentence that names the doctor or a file, or rightly: what a
read returns is what it returned before the damage, or the doctor says that something is wrong. No child dies or hangs.
"""

import random
import shutil
from collections.abc import Callable
from datetime import timedelta
from functools import cache
from pathlib import Path

from memsweep.errors import MemsweepError
from memsweep.store.file import connect
from memsweep.store.sqlite import vectors
from tests.faults import lab, steps

FLIPS = 8
_SECONDS = 300
_SECTOR = 512
_WRITES = ("add", "delete", "prune", "undo", "context add", "relate", "backup", "workspace create", "doctor")
_DOORS = (*steps.READS, *(steps.BY_NAME[name] for name in _WRITES))
_NOT_COMPARED = {"examine", "stats"}  # a size of a file is not content


def run(seed: int, flips: int = FLIPS) -> dict[str, int | list[str]]:
    outcome = lab.Outcome()
    chance = random.Random(f"bit_flips {seed}")
    _filled()
    with lab.place("flip-") as folder:
        for _ in range(flips):
            _one(chance, folder / "place", outcome)
    outcome.violations = [f"seed {seed}: {said}" for said in outcome.violations]
    return outcome.shown()


def _one(chance: random.Random, place: Path, outcome: lab.Outcome) -> None:
    source, known, right = _filled()
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(source, place)
    file = chance.choice(_targets(place / "home"))
    how = chance.choice(list(_DAMAGES))
    data = bytearray(file.read_bytes())
    where = f"{how} in {_kind(file)}"
    _DAMAGES[how](data, chance)
    file.write_bytes(data)
    outcome.count("flips")
    outcome.count(f"flips_{_kind(file)}")
    answers = lab.in_child(lambda: _try_all(place, known), _SECONDS)
    if isinstance(answers, str):
        outcome.violations.append(f"{where}: the process {answers}")
        return
    told = "findings=()" not in answers["examine"]
    for door, answer in answers.items():
        outcome.count("answers")
        if answer.startswith("raised"):
            outcome.violations.append(f"{where}: {door}: {answer[:200]}")
        elif answer.startswith("refused"):
            outcome.count("sentences")
            if "doctor" not in answer and str(place) not in answer:
                outcome.violations.append(f"{where}: {door}: {answer[:300]} names neither the doctor nor a file")
        elif door in right and answer != right[door] and door not in _NOT_COMPARED and not told:
            outcome.violations.append(f"{where}: {door} answers wrongly, and the doctor finds nothing")
    outcome.count("told", told)


def _try_all(place: Path, known: steps.Known) -> dict[str, str]:
    """What each door answers, each in an app of its own, with time and ids pinned."""
    connect.BUSY_SECONDS = 0.5
    answers = {}
    for number, door in enumerate(_DOORS):
        with lab.pinned(random.Random(number), lab.Clock(lab.START + timedelta(hours=1))):
            answers[door.name] = _answer(place, known, door)
    return answers


def _answer(place: Path, known: steps.Known, door: steps.Step) -> str:
    try:
        with lab.opened(place / "home") as app:
            return repr(door.act(steps.Scene(app, place, known, 3)))
    except MemsweepError as error:
        return f"refused: {error}"
    except Exception as error:  # noqa: BLE001  # which is what must not be
        return f"raised {type(error).__name__}: {error}"


@cache
def _filled() -> tuple[Path, steps.Known, dict[str, str]]:
    """A place with a log that holds more than the file and with a vector file, and the right answers."""
    folder = lab.lasting_place("filled-")
    known = steps.copy_template(folder / "live")
    kept, vectors._TAIL_MIN = vectors._TAIL_MIN, 3
    try:
        with (
            lab.pinned(random.Random(3), lab.Clock(lab.START + timedelta(minutes=30))),
            lab.opened(folder / "live" / "home") as app,
        ):
            app.memory().search("Ada")
            app.memory().remember("only in the log so far, with Grace Hopper")
            app.create_workspace("in-the-log")
            shutil.copytree(folder / "live", folder / "filled", ignore=shutil.ignore_patterns("*-shm", "*.lock"))
    finally:
        vectors._TAIL_MIN = kept
    shutil.copytree(folder / "filled", folder / "read")
    right = lab.in_child(lambda: _try_all(folder / "read", known))
    assert not isinstance(right, str), right
    return folder / "filled", known, {door.name: right[door.name] for door in steps.READS}


def _targets(home: Path) -> list[Path]:
    """The files of the default workspace and of the home, each kind as likely as another."""
    files = [home / "registry.db", home / "registry.db-wal"]
    stem = max(home.glob("workspaces/*.vec"), key=lambda path: path.stat().st_size).name.split(".")[0]
    return [*files, *sorted(home.glob(f"workspaces/{stem}*"))]


def _kind(file: Path) -> str:
    if file.name.startswith("registry"):
        return "registry log" if file.name.endswith("-wal") else "registry"
    return {"db": "database", "db-wal": "log", "db-mark": "mark", "vec": "vectors"}[file.name.split(".")[-1]]


def _flip(data: bytearray, chance: random.Random) -> None:
    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def _flip_some(data: bytearray, chance: random.Random) -> None:
    for _ in range(chance.randrange(2, 20)):
        _flip(data, chance)


def _overwrite(data: bytearray, chance: random.Random, noise: Callable[[int], bytes]) -> None:
    start = chance.randrange(0, len(data), _SECTOR)
    end = min(start + _SECTOR, len(data))
    data[start:end] = noise(end - start)


def _cut(data: bytearray, chance: random.Random) -> None:
    del data[chance.randrange(len(data)) :]


_DAMAGES: dict[str, Callable[[bytearray, random.Random], None]] = {
    "a bit": _flip,
    "some bits": _flip_some,
    "zeros": lambda data, chance: _overwrite(data, chance, bytes),
    "noise": lambda data, chance: _overwrite(data, chance, chance.randbytes),
    "a cut": _cut,
}
