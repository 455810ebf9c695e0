"""Compute the confidence of an entity without one of the merges and splits that raised it. Reads and decides."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from functools import reduce
from typing import TYPE_CHECKING, Any

from memsweep.model.graph_rows import EntityRecord, Move
from memsweep.model.merging import Step, highest, without
from memsweep.model.splitting import SPLIT, given_by_split

if TYPE_CHECKING:
    from memsweep.store.changes import Changes

_TARGET = "target"
_VALUES = 4
"""So many numbers are a strength; the version comes after them."""


def weakened(tx: Changes, kept: EntityRecord, receipt: int) -> tuple[EntityRecord | None, list[Move]]:
    """The entity as it would be without what a receipt did to it, unless something else has changed it since; and what
    later merges and splits have to write down instead."""
    merges = sorted(merge for merge, target in tx.moves.targets().items() if target == kept.key)
    splits = sorted(split for split, parts in tx.moves.splits().items() if parts.old == kept.key)
    moves = [move for move in tx.moves.of([*merges, *splits], (_TARGET, SPLIT)) if move.a == kept.key]
    given = _given(tx, merges)
    steps = [_step(place, move, given) for place, move in enumerate(moves)]
    retraced = without(steps, receipt, kept.version, highest)
    changed = []
    for step in retraced.steps:
        assert step.versions is not None, "entities are known by their versions"
        move = moves[step.place]
        changed.append(move._replace(said=[*step.before, step.versions[0], *move.said[_VALUES + 1 :]]))
    if retraced.values is None:
        return None, changed
    assert retraced.version is not None, "entities are known by their versions"
    return kept.strengthened(retraced.values, retraced.version), changed


def _given(tx: Changes, merges: Collection[int]) -> dict[int | None, list[tuple[Any, ...]]]:
    """Return the strengths of the entities that merges took in, by entity, and by merge as a negative number."""
    found: dict[int | None, list[tuple[Any, ...]]] = defaultdict(list)
    for source in tx.entities.trashed_by(merges) if merges else ():
        assert source.trash is not None
        found[source.key].append(source.strength)
        found[-source.trash].append(source.strength)
    return found


def _step(place: int, move: Move, given: dict[int | None, list[tuple[Any, ...]]]) -> Step:
    before, version = tuple(move.said[:_VALUES]), move.said[_VALUES]
    if move.kind == SPLIT:
        return Step(place, move.receipt, before, (), given_by_split(move.said[-1]), (version, move.c))
    brought = given[move.b] if move.b else given[-move.receipt]
    return Step(place, move.receipt, before, (), reduce(highest, brought) if brought else before, (version, move.c))
