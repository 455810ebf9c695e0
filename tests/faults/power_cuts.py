"""Power cuts: two processes work on one home, and at any moment the power may go.

A run of a seed records what two real processes do to the disk (`story`, `recorder`) and follows it in a model (`disk`).
At chosen moments the model says what a disk might hold after a cut, and that image is opened as a user would:

- It holds one of the states that the home went through since the last acknowledgement before the cut: nothing
  acknowledged is lost, nothing is there by half. A step that claims to be atomic has no state in between.
- Backups that were acknowledged are there; every backup that is there can be restored.
- The doctor finds nothing or mends all of it, and the home can be read and written.
"""

import random
import shutil
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from tests.faults import examining, lab, steps
from tests.faults.disk import STYLES
from tests.faults.examining import State
from tests.faults.recorder import Event
from tests.faults.story import Story, tell

IMAGES = 60
_STYLES = (*STYLES, "shuffled", "torn", "mixed", "mixed")
_MARKS = {"sync", "fsync", "begin", "ack", "refused"}


def run(seed: int, images: int = IMAGES) -> dict[str, int | list[str]]:
    chance = random.Random(f"power_cuts {seed}")
    with lab.place("cut-") as folder:
        story = tell(chance, folder, prepared=chance.random() < 0.8)
        cutting = _Cutting(story, folder)
        cutting.cut(chance, images)
    outcome = cutting.outcome
    outcome.violations = [f"seed {seed}: {said}" for said in outcome.violations]
    return outcome.shown()


@dataclass
class _Image:
    """What was found after one cut."""

    at: int
    style: str
    state: State


@dataclass
class _Cutting:
    story: Story
    folder: Path
    outcome: lab.Outcome = field(default_factory=lab.Outcome)
    marks: list[int] = field(default_factory=list)
    """After how many events the state of the home is known."""
    states: list[State] = field(default_factory=list)
    images: list[_Image] = field(default_factory=list)

    def cut(self, chance: random.Random, images: int) -> None:
        events = self.story.events
        cuts = sorted(_moments(chance, events, images))
        self._mark(0)
        for number, event in enumerate(events):
            while cuts and cuts[0] == number:
                self._image(cuts.pop(0), chance)
            self.story.disk.follow(event)
            if event[0] in _MARKS:
                self._mark(number + 1)
        while cuts:
            self._image(cuts.pop(0), chance)
        self.outcome.count("events", len(events))
        self.outcome.violations += [f"not recorded: {said}" for said in self.story.disk.same_as_real()]
        self._compare()
        self._check_atomic()

    def _mark(self, number: int) -> None:
        """The state if everything until here had reached the disk, as after a kill."""
        self.marks.append(number)
        self.states.append(examining.state_of(self._write("kept", random.Random(0)) / "home"))

    def _write(self, style: str, chance: random.Random) -> Path:
        target = self.folder / "image"
        shutil.rmtree(target, ignore_errors=True)
        self.story.disk.image(target, style, chance)
        return target

    def _image(self, at: int, chance: random.Random) -> None:
        style = chance.choice(_STYLES)
        target = self._write(style, chance)
        self.outcome.count("images")
        self.outcome.count(f"images_{style}")
        done = self.story.events[:at]
        where = f"cut at {at} of {len(self.story.events)} ({style}), in {_under_way(done)}"
        said = [f"the backup {name} is lost" for name in _backups(done) if not (target / "out" / name).exists()]
        self.images.append(_Image(at, style, _state(target / "home")))
        indexing = "index" in _under_way(done)
        repo = steps.template()[0] / "repo" if indexing else None
        found, mended = examining.faults_of(target / "home", target / "out", repo)
        self.outcome.count("mended", mended)
        self.outcome.violations += [f"{where}: {each}" for each in [*said, *found]]

    def _compare(self) -> None:
        """Every image against the states between the last acknowledgement and the cut."""
        for image in self.images:
            last = max((n + 1 for n, event in enumerate(self.story.events[: image.at]) if event[0] == "ack"), default=0)
            first, end = bisect_left(self.marks, last), bisect_right(self.marks, image.at)
            possible = self.states[first : end + 1]
            if image.state not in possible:
                under_way = _under_way(self.story.events[: image.at])
                differs = examining.difference(possible[0], image.state)
                self.outcome.violations.append(
                    f"cut at {image.at} ({image.style}), in {under_way}: a state that never was; since the last"
                    f" acknowledgement {differs}"
                )

    def _check_atomic(self) -> None:
        """No step that claims to be atomic changes the state more than once."""
        begun: dict[int, tuple[str, int]] = {}
        for number, event in enumerate(self.story.events):
            if event[0] == "begin":
                begun = {event[2]: (event[1], number), **dict.fromkeys(begun, ("", 0))}  # two at once: not told apart
            elif event[0] in ("ack", "refused"):
                name, start = begun.pop(event[2])
                if name in steps.BY_NAME and steps.BY_NAME[name].atomic and not begun:
                    self._once(name, self.states[bisect_left(self.marks, start) : bisect_right(self.marks, number + 1)])

    def _once(self, name: str, states: list[State]) -> None:
        if not states[0]["registry"]:
            return  # the first write makes the workspace before it writes into it
        self.outcome.count("atomic_steps")
        changes = sum(before != after for before, after in pairwise(states))
        if changes > 1:
            self.outcome.violations.append(f"{name} is seen half done: {changes} changes")


def _state(home: Path) -> State:
    """After the first look of a user, who may have to make the registry again from the files."""
    try:
        with lab.opened(home) as app:
            app.workspaces()
        return examining.state_of(home)
    except Exception as error:  # noqa: BLE001  # which `faults_of` will meet as well
        return {"unreadable": repr(error)}


def _moments(chance: random.Random, events: list[Event], images: int) -> list[int]:
    """Half of them just before a sync or an answer, when most is at stake; the rest anywhere."""
    risky = [number for number, event in enumerate(events) if event[0] in _MARKS]
    return [chance.choice(risky) if chance.random() < 0.5 else chance.randrange(len(events) + 1) for _ in range(images)]


def _under_way(events: list[Event]) -> list[str]:
    """The steps that have begun and not ended."""
    names: dict[int, str] = {}
    for event in events:
        if event[0] == "begin":
            names[event[2]] = event[1]
        elif event[0] in ("ack", "refused"):
            names.pop(event[2])
    return list(names.values())


def _backups(events: list[Event]) -> list[str]:
    return [f"new{event[2]}.backup" for event in events if event[:2] == ("ack", "backup")]
