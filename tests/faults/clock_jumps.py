"""Clock jumps: between any two calls the clock may go a year ahead or back.

A run of a seed does a history of adds, deletions, plans, applies, undos, purges, schedules and context calls while the
clock jumps, and compares with a model what is there: nothing goes that was not asked to go, every answer is a success
or a sentence of ours, what was applied can be undone, the doctor finds nothing at the end.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from memsweep.app import App
from memsweep.errors import MemsweepError
from memsweep.model.times import CLOCK_TOLERANCE
from memsweep.schedule.background import Background
from tests.faults import lab
from tests.support import store_files

CALLS = 40
_JUMPS = (
    timedelta(0),
    timedelta(0),
    timedelta(minutes=30),
    timedelta(hours=2),
    timedelta(days=40),
    timedelta(days=365),
)


def run(seed: int, calls: int = CALLS) -> dict[str, int | list[str]]:
    chance = random.Random(f"clock_jumps {seed}")
    watch = lab.Clock()
    with lab.place("clock-") as folder, lab.pinned(chance, watch), lab.opened(folder / "home") as app:
        history = _History(app, folder / "home", watch, chance)
        history.go(calls)
    outcome = history.outcome
    outcome.violations = [f"seed {seed}: {said}" for said in outcome.violations]
    return outcome.shown()


@dataclass
class _History:
    """What was done, and what must be there because of it."""

    app: App
    home: Path
    watch: lab.Clock
    chance: random.Random
    outcome: lab.Outcome = field(default_factory=lab.Outcome)
    live: set[str] = field(default_factory=set)
    trash: dict[str, set[str]] = field(default_factory=dict)
    """Receipts and the memories that they took."""
    plans: dict[str, tuple[timedelta, timedelta]] = field(default_factory=dict)
    """Plans that were not used yet: how far the clock has gone since they were made, and how far it had been ahead."""
    number: int = 0

    def go(self, calls: int) -> None:
        for _ in range(3):
            self._add()
        for _ in range(calls):
            self._jump()
            name = self.chance.choice(list(_ACTS))
            try:
                _ACTS[name](self)
            except MemsweepError as error:
                self.outcome.violations.append(f"{name} at {self.watch.at:%Y-%m-%d %H:%M}: refused: {error}")
            except Exception as error:  # noqa: BLE001  # which is what must not be
                self.outcome.violations.append(f"{name}: raised {type(error).__name__}: {error}")
            self.outcome.count("calls")
            self._compare(name)
        findings = self.app.memory().care.doctor().findings
        self.outcome.violations += [f"the doctor finds {finding}" for finding in findings]

    def _jump(self) -> None:
        by = self.chance.choice(_JUMPS) * self.chance.choice((1, -1))
        self.outcome.count("jumps", by != timedelta(0))
        self.watch.jump(by)
        self.plans = {plan: (gone + by, max(ahead, gone + by)) for plan, (gone, ahead) in self.plans.items()}

    def _compare(self, name: str) -> None:
        there = set(store_files.query(store_files.file_of(self.home), "select uid from live_memory"))
        if there != self.live:
            lost, come = sorted(self.live - there), sorted(there - self.live)
            self.outcome.violations.append(f"after {name}: {lost} went and {come} came, which nobody asked for")
            self.live = there

    def _add(self) -> None:
        self.number += 1
        stays = self.chance.choice((None, timedelta(days=1), timedelta(days=400)))
        expires = None if stays is None else (self.watch.at + stays).isoformat()
        self.live.add(self.app.memory().remember(f"note {self.number} of a long history", expires_at=expires).memory_id)

    def _delete(self) -> None:
        if self.live:
            gone = self.chance.choice(sorted(self.live))
            self.trash[self.app.memory().delete(gone, confirm=True).id] = {gone}
            self.live.discard(gone)

    def _plan(self) -> None:
        self.plans[self.app.memory().sweep.plan("expired").id] = timedelta(0), timedelta(0)

    def _apply(self) -> None:
        """A plan lasts an hour, and one that was made while the clock was ahead is refused.

        While the clock was ahead, the plan may have been swept away as an old one.
        """
        if not self.plans:
            return
        plan, (gone, ahead) = self.plans.popitem()
        memory = self.app.memory()
        try:
            wanted = {view.id for view in memory.sweep.items(plan, limit=100) if view.kind == "memory"} & self.live
            receipt = memory.sweep.apply(plan, confirm=True, allow_large=True)
        except MemsweepError as error:
            self.outcome.count("refusals")
            if ahead < timedelta(minutes=50) and gone > -CLOCK_TOLERANCE:
                self.outcome.violations.append(f"a plan is refused {gone} after it was made: {error}")
            return
        if gone < -CLOCK_TOLERANCE:
            self.outcome.violations.append(f"a plan is applied {gone} after it was made, when the clock was ahead")
        went = wanted - set(store_files.query(store_files.file_of(self.home), "select uid from live_memory"))
        self.trash[receipt.id] = went
        self.live -= went

    def _undo(self) -> None:
        if self.trash:
            receipt, gone = self.trash.popitem()
            self.app.undo(receipt)
            self.live |= gone

    def _purge(self) -> None:
        """What was put into the trash less than 30 days ago, by either clock, stays."""
        for receipt in self.app.memory().sweep.purge(30, confirm=True).receipts:
            self.trash.pop(receipt, None)

    def _schedule(self) -> None:
        record = Background(self.app).run()
        for item in (record or {}).get("outcomes", []):
            if item["deleted_memories"]:
                self.outcome.violations.append(f"the schedule deleted {item}")
        Background(self.app).status()

    def _context(self) -> None:
        window = self.app.memory().context("talk")
        self.number += 1
        added = window.add([{"text": f"turn {self.number}", "type": "message"}])
        window.analyze(target_tokens=1)
        window.prune(added.segment_ids, strategy="stash")
        window.restore(added.segment_ids)

    def _facts(self) -> None:
        memory = self.app.memory()
        memory.graph.relate("Ada", "KNOWS", self.chance.choice(("Grace", "Charles", "Alan")))
        memory.graph.decay(dry_run=self.chance.random() < 0.5)
        memory.graph.status()

    def _read(self) -> None:
        memory = self.app.memory()
        memory.search("note of a long history")
        memory.stats()
        memory.sweep.trash()
        memory.sweep.audit()
        if self.live:
            memory.sweep.explain(self.chance.choice(sorted(self.live)))


_ACTS: dict[str, Callable[[_History], None]] = {
    "add": _History._add,
    "delete": _History._delete,
    "plan": _History._plan,
    "apply": _History._apply,
    "undo": _History._undo,
    "purge": _History._purge,
    "schedule": _History._schedule,
    "context": _History._context,
    "facts": _History._facts,
    "read": _History._read,
}
