"""Disk errors: every write, sync, open, truncation, removal and read of a step is refused in turn.

A run of a seed takes one step on a copy of the prepared home and does it again and again; the first time the first
thing that is done to the disk fails, then the second, until the step comes to its end undisturbed. The error is a full
disk or a broken one, for once or from then on. Each time:

- The answer is a success or a sentence of ours, never another exception.
- It is true: after a success the home holds what the undisturbed step leaves; after a refusal it holds what it held
  before, unless the refusal says that it was done. A step of several transactions may have stopped between two.
- Nothing else has changed, the doctor finds nothing or mends all of it, and the same step can be done afterwards.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

from memsweep.errors import MemsweepError
from memsweep.store.file import connect
from memsweep.store.sqlite import vectors
from tests.faults import examining, lab, steps
from tests.faults.examining import State
from tests.faults.injector import Injector, injecting

NAME = "disk_errors"
ERRORS = 60
_MOST_STEPS_IN = 100_000
# What a refusal says when the work was done all the same.
_SAYS_DONE = ("is freed, but", "is deleted for good, but", "was compacted, but", "it is not certain")
# Known, and each to be taken out of this list with its cure.
AWAITED = (
    # An error after the commit claims that nothing was changed.
    r"^(purge|forever|workspace undelete|workspace purge): .*: refused, but it was done",
    # The record of the schedule and the removal of a purged workspace's files meet the system's errors as they are.
    r"^(schedule|workspace purge): .*: not a sentence of ours; .*raised OSError",
    # So does the removal of what was made of a workspace, if the disk stays broken.
    r"^(workspace create|first add): broken, lasting, .*(not a sentence of ours; .*raised OSError|'stranger')",
    # The new file is removed although the registry leads to it already.
    r"^restore over: .*(half of it was done|file_missing|file of workspace 'default' is missing)",
    # A read that is refused for once counts as damage, which is then mended.
    r"^doctor: broken, .*read of .*: success, but not all is there: \S+ audit",
)


def run(seed: int, errors: int = ERRORS) -> dict[str, int | list[str]]:
    steps.template()
    outcome = lab.in_child(lambda: _run(seed, errors), seconds=600)
    if isinstance(outcome, str):
        return {"violations": [f"seed {seed}: {outcome}"]}
    outcome.set_aside(AWAITED)
    outcome.violations = [f"seed {seed}: {said}" for said in outcome.violations]
    return outcome.shown()


def _run(seed: int, errors: int) -> lab.Outcome:
    """Seeds go through steps, kinds and durations in turn, so that few of them meet all; long steps are sampled."""
    chance = random.Random(f"{NAME} {seed}")
    everything = (*steps.STEPS, *steps.READS)
    step = everything[seed % len(everything)]
    kind = ("full", "broken")[seed // len(everything) % 2]
    lasts = bool(seed // len(everything) // 2 % 2)
    connect.BUSY_SECONDS = 0.05
    vectors._TAIL_MIN = 3  # so that a search writes a vector file
    with lab.place("error-") as folder, injecting() as injector:
        return _Trial(step, kind, lasts, folder / "place", injector).go(chance, errors)


class _Trial:
    def __init__(self, step: steps.Step, kind: str, lasts: bool, place: Path, injector: Injector) -> None:
        self._step, self._kind, self._lasts, self._place, self._injector = step, kind, lasts, place, injector
        self._outcome = lab.Outcome()
        self._before: State = {}
        self._after: State = {}

    def go(self, chance: random.Random, errors: int) -> lab.Outcome:
        self._before = examining.state_of(self._fresh())
        whole = self._attempt(_MOST_STEPS_IN)
        self._after = examining.state_of(self._place / "home")
        if whole != "done":
            self._outcome.violations.append(f"{self._step.name}: undisturbed, {whole}")
        for at in _places(chance, self._injector.done, errors):
            self._one(at)
        return self._outcome

    def _one(self, at: int) -> None:
        self._fresh()
        said = self._attempt(at)
        if not self._injector.refused:
            return
        self._outcome.count("errors")
        self._outcome.count("refusals" if said != "done" else "unharmed")
        found = [*self._untrue(said), *self._aftermath(said)]
        where = (
            f"{self._step.name}: {self._kind}, {'lasting' if self._lasts else 'once'}, {self._injector.what} (at {at})"
        )
        self._outcome.violations += [f"{where}: {each}; the answer was: {said[:300]}" for each in found]

    def _fresh(self) -> Path:
        steps.copy_template(self._place)
        return self._place / "home"

    def _attempt(self, at: int) -> str:
        """Do the step with an error at one of its points; what the caller is told."""
        with lab.pinned(random.Random(1), lab.Clock(lab.START + timedelta(minutes=10))):
            app = lab.open_app(self._place / "home")
            scene = steps.Scene(app, self._place, steps.template()[1], 7)
            try:
                self._injector.arm(self._place, at, self._kind, lasts=self._lasts)
                self._step.act(scene)
                return "done"
            except MemsweepError as error:
                return f"refused: {error}"
            except Exception as error:  # noqa: BLE001  # which is what must not be
                return f"raised {type(error).__name__}: {error}"
            finally:
                self._injector.disarm()
                lab.close_app(app)

    def _untrue(self, said: str) -> Iterator[str]:
        if said.startswith("raised"):
            yield "not a sentence of ours"
        now = examining.state_of(self._place / "home")
        claims = said == "done" or any(part in said for part in _SAYS_DONE)
        if said == "done" and now != self._after:
            yield f"success, but not all is there: {examining.difference(self._after, now)}"
        elif said != "done" and now != self._before and self._step.atomic and not (claims and now == self._after):
            what = "it was done" if now == self._after else "half of it was done"
            yield f"refused, but {what}: {examining.difference(self._before, now)}"

    def _aftermath(self, said: str) -> Iterator[str]:
        undone = said != "done" and examining.state_of(self._place / "home") == self._before
        backups = self._place / "out" if "backup" in self._step.name else None
        found, mended = examining.faults_of(self._place / "home", backups)
        self._outcome.count("mended", mended)
        yield from found
        if undone and (again := self._again()):
            yield f"done again without errors: {again}"

    def _again(self) -> str:
        """The step once more on a healthy disk; empty if it works."""
        later = lab.Clock(lab.START + timedelta(minutes=20))
        with lab.pinned(random.Random(2), later), lab.opened(self._place / "home") as app:
            try:
                self._step.act(steps.Scene(app, self._place, steps.template()[1], 7))
            except MemsweepError as error:
                return str(error)
        return ""


def _places(chance: random.Random, last: int, errors: int) -> list[int]:
    """Every point if there are few, else a sample of them."""
    every = range(1, last + 1)
    return list(every) if last <= errors else sorted(chance.sample(every, errors))
