"""Disk errors: every write, sync, open, truncation, removal and read of a step is refused in turn.

A run of a seed takes one step on a copy of the prepared home and does it again and again; the first time the first
thing that is done to the disk fails, then the second, until the step comes to its end undisturbed. The error is a full
disk or a broken one, for once or from then on; the process goes on, or it is killed as soon as it has answered.
Each time:

- The answer is a success or a sentence of ours, never another exception.
- It is true: after a success the home holds what the undisturbed step leaves; after a refusal it holds what it held
  before, unless the refusal says that it was done. A step of several transactions may have stopped between two.
- Nothing else has changed, the doctor finds nothing or mends all of it, and the same step can be done afterwards.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from memsweep.app import App
from memsweep.errors import MemsweepError
from memsweep.store.file import connect
from memsweep.store.sqlite import vectors
from tests.faults import examining, lab, steps
from tests.faults.examining import State
from tests.faults.injector import Injector, injecting

ERRORS = 60
_MOST_STEPS_IN = 100_000
_EVERYTHING = (*steps.STEPS, *steps.READS)
# What a refusal says when the work was done all the same.
_SAYS_DONE = (
    "the trash is freed, but",
    "deleted workspace is freed, but",
    "the memory is deleted for good, but",
    "was compacted, but",
    "workspace 'gone' is back, but",
    "it is not certain whether the change was kept",
)


def run(seed: int, errors: int = ERRORS) -> dict[str, int | list[str]]:
    steps.template()
    outcome = lab.in_child(lambda: _run(seed, errors), seconds=600)
    if isinstance(outcome, str):
        return {"violations": [f"seed {seed}: {outcome}"]}
    outcome.violations = [f"seed {seed}: {said}" for said in outcome.violations]
    return outcome.shown()


@dataclass(frozen=True, slots=True)
class Case:
    """Which step is disturbed, and how."""

    step: steps.Step
    kind: str
    lasts: bool = False
    dies: bool = False
    """Whether the process is killed after its answer, so that nothing is closed."""

    def __str__(self) -> str:
        how = [self.kind, "lasting" if self.lasts else "once", *(["then killed"] if self.dies else [])]
        return f"{self.step.name}: {', '.join(how)}"


def run_step(name: str, kind: str, points: slice, *, lasts: bool = False, dies: bool = False) -> lab.Outcome | str:
    """One step, with an error at some of its points. In a child: SQLite keeps the functions that refuse."""
    steps.template()
    case = Case(next(step for step in _EVERYTHING if step.name == name), kind, lasts, dies)
    return lab.in_child(lambda: _try(case, lambda every: every[points]), seconds=600)


def _run(seed: int, errors: int) -> lab.Outcome:
    """Seeds go through steps, kinds and durations in turn, so that few of them meet all; long steps are sampled."""
    chance = random.Random(f"disk_errors {seed}")
    turn, number = divmod(seed, len(_EVERYTHING))
    case = Case(_EVERYTHING[number], ("full", "broken")[turn % 2], bool(turn // 2 % 2), bool(turn // 4 % 2))
    return _try(case, lambda every: _some(chance, every, errors))


def _try(case: Case, choose: Callable[[range], Sequence[int]]) -> lab.Outcome:
    connect.BUSY_SECONDS = 0.05
    vectors._TAIL_MIN = 3  # so that a search writes a vector file
    with lab.place("error-") as folder, injecting() as injector:
        return _Trial(case, folder / "place", injector).go(choose)


class _Trial:
    def __init__(self, case: Case, place: Path, injector: Injector) -> None:
        self._case, self._step, self._place, self._injector = case, case.step, place, injector
        self._outcome = lab.Outcome()
        self._before: State = {}
        self._after: State = {}
        self._left_open: list[App] = []

    def go(self, choose: Callable[[range], Sequence[int]]) -> lab.Outcome:
        self._before = examining.state_of(self._fresh())
        whole = self._attempt(_MOST_STEPS_IN)
        self._after = examining.state_of(self._place / "home")
        if whole != "done":
            self._outcome.violations.append(f"{self._step.name}: undisturbed, {whole}")
        for at in choose(range(1, self._injector.done + 1)):
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
        where = f"{self._case}, {self._injector.what} (at {at})"
        self._outcome.violations += [f"{where}: {each}; the answer was: {said[:300]}" for each in found]

    def _fresh(self) -> Path:
        steps.copy_template(self._place)
        return self._place / "home"

    def _attempt(self, at: int) -> str:
        """Do the step with an error at one of its points; what the caller is told."""
        if not self._case.dies:
            return self._do(at)
        answer = lab.in_child(lambda: (self._do(at), vars(self._injector)))
        if isinstance(answer, str):
            return f"raised nothing, but {answer}"
        said, counted = answer
        vars(self._injector).update(counted)
        return said

    def _do(self, at: int) -> str:
        with lab.pinned(random.Random(1), lab.Clock(lab.START + timedelta(minutes=10))):
            app = lab.open_app(self._place / "home")
            scene = steps.Scene(app, self._place, steps.template()[1], 7)
            try:
                self._injector.arm(self._place, at, self._case.kind, lasts=self._case.lasts)
                self._step.act(scene)
                return "done"
            except MemsweepError as error:
                return f"refused: {error}"
            except Exception as error:  # noqa: BLE001  # which is what must not be
                return f"raised {type(error).__name__}: {error}"
            finally:
                self._injector.disarm()
                if self._case.dies:
                    self._left_open.append(app)
                else:
                    lab.close_app(app)

    def _untrue(self, said: str) -> Iterator[str]:
        if said.startswith("raised"):
            yield "not a sentence of ours"
        now = examining.state_of(self._place / "home")
        claims = said == "done" or any(part in said for part in _SAYS_DONE)
        # A backup is done when its file is; that it was made is noted in the store where that can be written.
        is_noted_only = self._step.name == "backup" and now == self._before
        if said == "done" and now != self._after and not is_noted_only:
            yield f"success, but not all is there: {examining.difference(self._after, now)}"
        elif said != "done" and now != self._before and self._step.atomic and not (claims and now == self._after):
            what = "it was done" if now == self._after else "half of it was done"
            yield f"refused, but {what}: {examining.difference(self._before, now)}"

    def _aftermath(self, said: str) -> Iterator[str]:
        undone = (
            said != "done"
            and "was written, but" not in said
            and examining.state_of(self._place / "home") == self._before
        )
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


def _some(chance: random.Random, every: range, most: int) -> Sequence[int]:
    """Every point if there are few, else a sample of them."""
    return every if len(every) <= most else sorted(chance.sample(every, most))
