"""Campaign: the real server and the real command line are killed in every operation.

A seed chooses an operation and kills it a few times, each time on a fresh copy of the same home: on both sides of
a commit, at a step of SQLite or of the file system, and at a random moment from outside. What is left is looked at
by a new process: the state before or the state after, and the state after if the answer had arrived; `doctor`
finds nothing; the next call works; doing it again completes it.
"""

import atexit
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from memsweep.errors import MemsweepError
from tests.faults import doors, views
from tests.faults.doors import Act, Outcome, perform
from tests.faults.kill_switch import Point
from tests.faults.kill_table import OPERATIONS, Operation, build, copy_place, open_app
from tests.support import killing
from tests.support.memory_disk import MEMORY_DISK

_ORDER = sorted(OPERATIONS)


@dataclass(frozen=True, slots=True)
class Reference:
    """An undisturbed run of an operation at one door: the states before and after, and what there is to count."""

    before: views.View
    after: views.View
    counts: dict[str, int]
    seconds: float
    sick: tuple[str, ...]
    """What `doctor` found before it: only where that is what the operation is about."""


class Bench:
    """Homes in memory, copied from one template."""

    def __init__(self) -> None:
        doors.warm_up()
        self.folder = Path(tempfile.mkdtemp(prefix="memsweep-kills-", dir=MEMORY_DISK))
        atexit.register(shutil.rmtree, self.folder, ignore_errors=True)
        self.template = self.folder / "template"
        self.given = in_child(lambda: build(self.template, self.folder / "repo"))
        self._references: dict[tuple[str, int], Reference] = {}

    def place(self, operation: Operation) -> Path:
        target = self.folder / "place"
        shutil.rmtree(target, ignore_errors=True)
        copy_place(self.template, target)
        operation.prepare(target)
        return target

    def acts(self, name: str) -> list[Act]:
        return OPERATIONS[name].acts(self.given, self.folder / "place")

    def reference(self, name: str, door: int) -> Reference:
        if (name, door) not in self._references:
            self._references[name, door] = self._undisturbed(name, self.acts(name)[door])
        return self._references[name, door]

    def _undisturbed(self, name: str, act: Act) -> Reference:
        operation = OPERATIONS[name]
        place = self.place(operation)
        before, sick = views.view(place / "home"), fresh_look(place)
        done = perform(act, place, **dict(operation.settings))
        assert done.acknowledged, f"{name} by {act.tool or act.command} failed unharmed: {done}"
        assert done.counts is not None
        found = fresh_look(place)
        assert not found, f"{name} leaves what the doctor finds even if nobody is killed: {found}"
        return Reference(before, views.view(place / "home"), dict(done.counts), done.seconds, tuple(sick))


@cache
def bench() -> Bench:
    return Bench()


def in_child(function: Callable[[], Any]) -> Any:
    """What a function returns in a process of its own."""
    said = killing.in_child(function, may_fail=True)
    return ["the process that was to look failed"] if said is None else said


def fresh_look(place: Path) -> list[str]:
    """What a new process finds wrong, before anything else has opened the files."""

    def look() -> list[str]:
        app = open_app(place)
        try:
            findings = app.memory().care.doctor().findings
            app.memory().stats()
            return [f"doctor: {each.invariant} {', '.join(each.samples)}" for each in findings]
        except MemsweepError as error:
            return [f"{type(error).__name__}: {error}"]
        finally:
            app.close()

    return list(in_child(look))


def next_call(place: Path) -> list[str]:
    """Whether life goes on: remember, find, forget, undo."""

    def live() -> list[str]:
        app = open_app(place)
        try:
            memory = app.memory()
            uid = memory.remember("life goes on after the kill").memory_id
            if not any(hit.passage.memory_id == uid for hit in memory.search("life goes on after the kill").hits):
                return ["what was added after the kill is not found"]
            memory.sweep.undo(memory.delete(uid, confirm=True).id)
            return [] if memory.get(uid).text == "life goes on after the kill" else ["undo after the kill lost a text"]
        except MemsweepError as error:
            return [f"the next call: {type(error).__name__}: {error}"]
        finally:
            app.close()

    return list(in_child(live))


def run(seed: int) -> dict[str, Any]:
    chance, name = random.Random(seed), _ORDER[seed % len(_ORDER)]
    turn = seed // len(_ORDER)
    door = turn % len(bench().acts(name))
    reference = bench().reference(name, door)
    executed = chance.randrange(4)
    counted: Counter[str] = Counter(kills=0, executed=0, by_server=0, by_command=0)
    violations: list[str] = []
    for number, kind in enumerate(("before commit", "after commit", "step", "moment")):
        outcome, where = _kill(name, door, reference, kind, turn, chance, execute=number == executed)
        counted["kills"] += outcome.killed
        counted["executed"] += outcome.killed and number == executed
        counted["by_server" if bench().acts(name)[door].tool else "by_command"] += outcome.killed
        violations += [f"{name} {where}: {said}" for said in judge(name, door, reference, outcome, chance)]
    return {**counted, "violations": violations}


def _kill(
    name: str, door: int, reference: Reference, kind: str, turn: int, chance: random.Random, *, execute: bool
) -> tuple[Outcome, str]:
    """Do it on a fresh copy and let it die; how that went, and where in words."""
    operation = OPERATIONS[name]
    act, place = bench().acts(name)[door], bench().place(operation)
    settings = dict(operation.settings)
    how = f"by {act.tool or act.command[0]}{' (executed)' if execute else ''}"
    if kind == "moment":
        longest = reference.seconds * 1.1
        seconds = chance.random() * longest + (chance.random() if execute else 0.0)
        outcome = perform(act, place, execute=execute, after_seconds=seconds, **settings)
        return outcome, f"{how} killed after {seconds * 1000:.0f} ms"
    if kind == "step":
        kind = chance.choice(("before step", "after step"))
        number = chance.randint(1, max(1, reference.counts[kind]))
    else:
        number = 1 + turn // 2 % max(1, reference.counts[kind])
    outcome = perform(act, place, Point(kind, number), execute=execute, **settings)
    return outcome, f"{how} killed {kind} {number} of {reference.counts[kind]}"


def judge(name: str, door: int, reference: Reference, outcome: Outcome, chance: random.Random) -> list[str]:
    """What is wrong with what is left; nothing, if all is well."""
    operation, place = OPERATIONS[name], bench().folder / "place"
    if outcome.refusal:
        return [f"refused: {outcome.refusal}; {outcome.log[-500:]}"]
    found = [each for each in fresh_look(place) if operation.law == "atomic" or each not in reference.sick]
    left = views.view(place / "home")
    found += views.flaws(place / "home") if not reference.sick else []
    found += [f"left over: {each}" for each in views.leftovers(place / "home")]
    if outcome.acknowledged and left != reference.after:
        found.append(f"acknowledged, but not there: {views.difference(reference.after, left)}")
    elif not _is_legal(operation, reference, left):
        found.append(f"half done: {views.difference(reference.before, left)}")
    if views.drafts(place) or (left != reference.after and (operation.law != "atomic" or chance.random() < 0.3)):
        found += _again(name, door, reference)
        found += [f"left over: {each}" for each in views.drafts(place)]
    return found + next_call(place)


def _is_legal(operation: Operation, reference: Reference, left: views.View) -> bool:
    match operation.law:
        case "atomic":
            return left in (reference.before, reference.after)
        case "staged":
            return _between(reference, left)
        case "converging":
            return True  # doing it again is what tells


def _between(reference: Reference, left: views.View) -> bool:
    """Each workspace as before or as after; of the records, some of those that came."""
    workspaces = {key.split(": ")[0] for key in views.content(left)}
    for workspace in workspaces:
        forms = [_of(workspace, views.content(each)) for each in (reference.before, reference.after, left)]
        if forms[2] not in forms[:2]:
            return False
    after = views.records(reference.after)
    return all(
        not rows - (after.get(key, Counter()) + reference.before.get(key, Counter()))
        for key, rows in views.records(left).items()
    )


def _of(workspace: str, found: views.View) -> views.View:
    return {key: rows for key, rows in found.items() if key.split(": ")[0] == workspace}


def _again(name: str, door: int, reference: Reference) -> list[str]:
    """Doing it again completes it, or it is refused because it is done."""
    operation, place = OPERATIONS[name], bench().folder / "place"
    again = perform(bench().acts(name)[door], place, **dict(operation.settings))
    left = views.content(views.view(place / "home"))
    if left == views.content(reference.after):
        return []
    said = again.refusal or again.log[-300:]
    return [f"doing it again does not complete it: {views.difference(views.content(reference.after), left)} {said}"]
