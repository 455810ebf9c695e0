"""Where merges and splits wrote down that a chunk mentions something, and the chunk is written anew in its place.

A redaction and its undo give a memory new chunks, one for one: what was moved in the old ones is taken back in the new.
Reads first, writes last.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from memsweep.model.splitting import SPLIT_MENTION

if TYPE_CHECKING:
    from memsweep.store.changes import Changes

_MENTIONS = ("mention", SPLIT_MENTION)


class ChunkMoves:
    """What is written down of the chunks of some memories; decided when it is made."""

    def __init__(self, tx: Changes, memories: Collection[int]) -> None:
        standing = {*tx.moves.targets(), *tx.moves.splits()} if memories else set()
        mentions = tx.acts.mentions(memories) if standing else []
        places = {each.chunk: (each.memory, each.position) for each in mentions}
        moves = tx.moves.of(standing, _MENTIONS, about=places) if places else []
        self._moves = [(move, *places[move.a]) for move in moves]

    def write(self, tx: Changes, memory: int, chunks: Sequence[int]) -> None:
        """`chunks` are those that a memory has now, in their order."""
        tx.moves.set(
            move._replace(a=chunks[position])
            for move, of, position in self._moves
            if of == memory and position < len(chunks)
        )
