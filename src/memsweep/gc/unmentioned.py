"""Entities that nobody speaks of any more, though the memories that did come back: who handed them in is taken back."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from memsweep.gc.earlier_texts import Entities
from memsweep.model.memory_act import entities_of, only_taken_back

if TYPE_CHECKING:
    from memsweep.model.graph_rows import EntityRecord
    from memsweep.store.changes import Changes


def unmentioned(
    tx: Changes, own: Mapping[int, EntityRecord], memories: Collection[int], receipt: int, spoken: Collection[int]
) -> dict[int, int]:
    """Of the entities that a receipt gives back with memories, those that wait for another receipt; and that receipt.

    `spoken` is what the memories mention now, and what facts lead to.
    """
    left = {key: each for key, each in own.items() if key not in spoken and not each.pinned}
    acts = tx.acts.of_memories(memories) if left and memories else []
    if all(act.trash in (None, receipt) for act in acts):
        return {}
    entities = Entities(tx, entities_of(acts))
    theirs = {act.origin for act in acts if act.trash not in (None, receipt)}
    found = {entities.now(key): taken for key, taken in only_taken_back(acts, receipt).items()}
    return {
        key: found[key] for key, each in left.items() if key in found and (not each.explicit or each.origin in theirs)
    }
