"""Two memories with one text: whether one was said in place of the other, or both belong there."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from memsweep.collector.brought_memories import as_the_rows_are, by_memory
from memsweep.model.memory_act import MemoryAct, state_of

if TYPE_CHECKING:
    from memsweep.store.changes import Changes
    from memsweep.store.trash import SameText


def said_again(tx: Changes, found: Iterable[SameText]) -> list[SameText]:
    """Of memories that would come back beside one with their text: those that it was said in place of.

    Not where one of the two was superseded, or says this text only because another one of it was taken back: then
    both were there before, and are told apart again once everything is undone.
    """
    pairs = list(found)
    if not pairs:
        return pairs
    keys = {key for each in pairs for key in (each.key, each.other)}
    apart = tx.acts.ever_superseded(keys) | _saying_otherwise(tx, keys)
    return [each for each in pairs if apart.isdisjoint((each.key, each.other))]


def _saying_otherwise(tx: Changes, memories: Collection[int]) -> set[int]:
    """Return the memories that would say another text if nobody were taken back."""
    journal = as_the_rows_are(by_memory(tx.acts.of_memories(memories)), tx.texts.at(memories))
    taken = {act.trash for acts in journal.values() for act in acts if act.trash is not None}
    # Undoing an update takes its act back as well, which is meant to last.
    retractions = {key for key, row in tx.receipts.at(taken).items() if row.plan_id} if taken else set()
    return {key for key, acts in journal.items() if _text(acts) != _text(acts, retractions)}


def _text(acts: Iterable[MemoryAct], given_back: Collection[int] = ()) -> str | None:
    state = state_of(act._replace(trash=None) if act.trash in given_back else act for act in acts)
    return None if state is None else state.text
