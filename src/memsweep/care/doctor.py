"""Examine a workspace and its home, mend what can be mended, examine again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from memsweep.care.invariants import CURES, HOME_CURES, cure_of
from memsweep.embed.protocol import Embedder, quantise
from memsweep.errors import MemsweepError, StoreCorrupt, UnknownWorkspace
from memsweep.model.care import Checkup, Finding
from memsweep.model.memory import NewPiece
from memsweep.store.ports.care import HomeKeeper
from memsweep.store.protocol import Store

_ROUNDS = 6  # mending one thing may bring another to light
_BATCH = 256


@dataclass(frozen=True, slots=True)
class DoctorDependencies:
    """What the doctor needs of the world; parts that may fail are asked for when they are needed."""

    workspace_id: str
    home: HomeKeeper
    store: Callable[[], Store]
    embedder: Callable[[], Embedder]
    cut: Callable[[str], Sequence[NewPiece]]
    """A text as the pieces that are searched."""
    actor: str
    clock: Callable[[], datetime]


def doctor(tools: DoctorDependencies, *, repair: bool) -> Checkup:
    found = _examine(tools)
    seen = _by_invariant(found)
    notes: dict[str, None] = {}
    lost: dict[str, None] = {}
    for _ in range(_ROUNDS if repair else 0):
        before = found
        for cure in CURES:
            kept_from, not_saved = _cure(tools, cure, [finding for finding in found if cure_of(finding) == cure])
            notes |= dict.fromkeys(kept_from)
            lost |= dict.fromkeys(not_saved)
        found = _examine(tools)
        seen |= {name: finding for name, finding in _by_invariant(found).items() if name not in seen}
        if not found or found == before:
            break
    return Checkup(tools.workspace_id, _as_repaired(seen.values(), found), tuple(notes), tuple(lost))


def _examine(tools: DoctorDependencies) -> list[Finding]:
    """The home first: it may know why the workspace cannot be opened."""
    found = tools.home.examine()
    try:
        store = tools.store()
    except (UnknownWorkspace, StoreCorrupt):
        if found:
            return found
        raise
    return [*found, *store.keeper.examine()]


def _cure(tools: DoctorDependencies, cure: str, found: Sequence[Finding]) -> tuple[list[str], list[str]]:
    """Mend one kind of finding, in one transaction; what kept it from being done, and what could not be saved."""
    if not found:
        return [], []
    try:
        if cure in HOME_CURES:
            return [], tools.home.repair(cure, found, actor=tools.actor, now=tools.clock())
        if cure == "chunks":
            return [], _cut(tools, found)
        if cure != "embed":
            return [], tools.store().keeper.repair(cure, found, actor=tools.actor, now=tools.clock())
        _embed(tools, found)
    except MemsweepError as error:
        return [str(error)], []
    return [], []


def _cut(tools: DoctorDependencies, found: Sequence[Finding]) -> list[str]:
    """Chunks for memories that lost theirs; the next cures give them vectors and words."""
    keeper, cut = tools.store().keeper, tools.cut
    chunks = {key: cut(text) for key, text in keeper.chunkless()}
    keeper.add_chunks(chunks, found, actor=tools.actor, now=tools.clock())
    return []


def _embed(tools: DoctorDependencies, found: Sequence[Finding]) -> None:
    keeper, embedder = tools.store().keeper, tools.embedder()
    chunks = keeper.unfit_chunks()
    vectors: list[bytes] = []
    for start in range(0, len(chunks), _BATCH):
        vectors += quantise(embedder.embed([text for _, text in chunks[start : start + _BATCH]]))
    made = zip((key for key, _ in chunks), vectors, strict=True)
    keeper.fit_vectors(made, embedder.model, found, actor=tools.actor, now=tools.clock())


def _as_repaired(seen: Iterable[Finding], left: Sequence[Finding]) -> tuple[Finding, ...]:
    """Everything that was seen on the way, as it is now."""
    now = _by_invariant(left)
    return tuple(now.get(finding.invariant) or replace(finding, repaired=True) for finding in seen)


def _by_invariant(found: Iterable[Finding]) -> dict[str, Finding]:
    return {finding.invariant: finding for finding in found}
