"""Pairs and triples of operations, undone in any order: what is left is a workspace in which only the others were done.

A seed makes a workspace with something for every operation, does two or three of them, and undoes those that have a
receipt, in a random order. After each undo the workspace must be what another one is in which only the operations that
stand were done; or an undo has named a conflict. Operations go by names and texts, so that both do the same.
"""

import atexit
import itertools
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from datetime import timedelta
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from memsweep.app import App
from memsweep.code.sandbox import Sandbox
from memsweep.errors import MemsweepError
from memsweep.settings import load_settings
from tests.code.indexed_workspace import CountingEmbedder
from tests.faults.pair_operations import OPERATIONS, UNDONE
from tests.faults.pair_world import (
    BEGIN,
    DOCTOR,
    VIEWS,
    Made,
    Named,
    NotComparable,
    NotDone,
    State,
    Taken,
    World,
    prepare,
)
from tests.support.engines import Home
from tests.support.memory_disk import MEMORY_DISK


@dataclass
class Done:
    """An operation that was done, and what its receipt is."""

    name: str
    number: int
    receipt: Made
    taken: Taken


class Campaign:
    """One home, in which every world is a workspace."""

    def __init__(self, engine: str) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="memsweep-pairs-", dir=MEMORY_DISK))
        self.home = Home(engine, self.folder / "home")
        settings = load_settings(self.home.variables | {"MEMSWEEP_SECRETS_ACTION": "off"})
        self.clock = [BEGIN]
        self.app = App(settings, clock=lambda: self.clock[0])
        self.app.embedder = CountingEmbedder()  # type: ignore[misc]
        self.app.sandbox = _sandbox()  # type: ignore[misc]
        self.numbers = itertools.count()
        self.known: dict[tuple[Any, ...], State | None] = {}
        """States in which only some operations were done, which many histories compare with."""

    @cached_property
    def untouched(self) -> State:
        with self.world() as w:
            return w.state()

    def close(self) -> None:
        self.app.close()
        self.home.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    @contextmanager
    def world(self) -> Iterator[World]:
        name = f"w{next(self.numbers)}"
        root = self.folder / name
        root.mkdir()
        self.clock[0] = BEGIN
        made = World(self.app, self.app.memory(name), root, self.clock)
        prepare(made)
        try:
            yield made
        finally:
            shutil.rmtree(root, ignore_errors=True)
            self.app.delete_workspace(name, confirm=True)
            self.app.purge_workspaces(0)


@cache
def _sandbox() -> Sandbox:
    made = Sandbox(1)
    atexit.register(made.close)
    return made


_OPEN: dict[str, Campaign] = {}


def _campaign(engine: str) -> Campaign:
    """One home for some histories: a process keeps files of every workspace that it has seen."""
    known = _OPEN.get(engine)
    if known is not None and next(known.numbers) < 300:
        return known
    if known is not None:
        atexit.unregister(known.close)
        known.close()
    made = _OPEN[engine] = Campaign(engine)
    atexit.register(made.close)
    return made


@cache
def _pairs() -> list[tuple[str, str]]:
    names = sorted(OPERATIONS)
    pairs = [(one, other) for one in names for other in names if UNDONE & {one, other}]
    random.Random(0).shuffle(pairs)
    return pairs


def names_of(seed: int) -> list[str]:
    """Every pair of which something can be undone first, then triples."""
    if seed < len(_pairs()):
        return list(_pairs()[seed])
    chance = random.Random(seed)
    names = [chance.choice(sorted(UNDONE)), *chance.choices(sorted(OPERATIONS), k=2)]
    chance.shuffle(names)
    return names


def run(seed: int, engine: str = "sqlite") -> dict[str, Any]:
    """One history; what was wrong with it."""
    return History(_campaign(engine), names_of(seed), random.Random(seed)).run()


class History:
    def __init__(self, campaign: Campaign, names: list[str], chance: random.Random) -> None:
        self.campaign, self.names, self.chance = campaign, names, chance
        self.counts: Counter[str] = Counter(histories=1)
        self.log: list[str] = []
        self.told: list[str] = []
        self.named = Named()
        self.wrong: list[str] = []

    def run(self) -> dict[str, Any]:
        with self.campaign.world() as w:
            done = list(self._do(w, enumerate(self.names)))
            waiting = [each for each in done if each.receipt]
            self.chance.shuffle(waiting)
            standing = {each.number for each in done}
            looked_at: list[tuple[frozenset[int], State, Named]] = []
            for number, each in enumerate(waiting):
                self.campaign.clock[0] = BEGIN + timedelta(hours=20 + number)
                if self._undo(w, each):
                    standing -= {each.number}
                looked_at.append((frozenset(standing), w.state(), deepcopy(self.named)))
        for kept, state, named in looked_at:
            self._compare([each for each in done if each.number in kept], state, named)
        return {**self.counts, "violations": [f"{said}\n    after {'; '.join(self.log)}" for said in self.wrong]}

    def _do(self, w: World, wanted: Any) -> Iterator[Done]:
        for number, name in wanted:
            self.campaign.clock[0] = BEGIN + timedelta(hours=4 + number)
            taken = Taken()
            try:
                receipt = OPERATIONS[name](w, taken)
            except NotDone:
                self.log.append(f"{name}: nothing to do")
                continue
            except MemsweepError as error:
                self.log.append(f"{name} was refused: {error.message[:70]}")
                continue
            self.counts["operations"] += 1
            self.log.append(name)
            yield Done(name, number, receipt, taken)

    def _undo(self, w: World, done: Done) -> bool:
        try:
            said = w.memory.sweep.undo(str(done.receipt))
        except MemsweepError as error:
            self.counts["refused"] += 1
            self.log.append(f"undo {done.name} was refused: {error.message} {error.hint}")
            return False
        self.counts["undos"] += 1
        if said.conflicts:
            w.named(said.conflicts, self.named)
        self.told += [f"{w.labelled(uid)}: {why}" for uid, why in said.conflicts]
        named = f" ({'; '.join(self.told)})" if said.conflicts else ""
        self.log.append(f"undo {done.name}{named}")
        return True

    def _compare(self, standing: Collection[Done], state: State, named: Named) -> None:
        """What differs must be what a conflict named, or hang on it."""
        wanted = self._only(standing) if standing else self.campaign.untouched
        if wanted is None:
            self.counts["not_comparable"] += 1
            wanted = state | {DOCTOR: self.campaign.untouched[DOCTOR]}
        self.counts["compared"] += 1
        unnamed = list(differences(state, wanted, named.with_what_hangs_on_it(state, wanted)))
        if unnamed:
            names = ", ".join(each.name for each in standing) or "nothing"
            self.wrong.append(f"with {names}: {'; '.join(unnamed)}")
        elif any(state[name] != wanted[name] for name in state):
            self.counts["named_conflicts"] += 1

    def _only(self, standing: Collection[Done]) -> State | None:
        """A workspace in which nothing else was done; None if that cannot be done without the others."""
        known = tuple((each.name, each.number, each.taken.items, each.taken.names) for each in standing)
        if known not in self.campaign.known:
            self.campaign.known[known] = self._without_others(standing)
        return self.campaign.known[known]

    def _without_others(self, standing: Collection[Done]) -> State | None:
        with self.campaign.world() as w:
            for each in standing:
                self.campaign.clock[0] = BEGIN + timedelta(hours=4 + each.number)
                try:
                    OPERATIONS[each.name](w, each.taken)
                except (NotDone, NotComparable, MemsweepError):
                    return None
            return w.state()


def differences(found: Mapping[str, Counter[Any]], wanted: Mapping[str, Counter[Any]], named: Named) -> Iterator[str]:
    """Yield what differs and was not named."""
    for name in (*VIEWS, DOCTOR):
        for sign, rows in (("too many", found[name] - wanted[name]), ("missing", wanted[name] - found[name])):
            if unnamed := [row for row in rows if not named.explains(name, row)]:
                yield f"{name} {sign}: {[tuple(_short(part) for part in row) for row in unnamed[:3]]}"


def _short(part: Any) -> Any:
    return f"{part[:40]}…" if isinstance(part, str) and len(part) > 50 else part
