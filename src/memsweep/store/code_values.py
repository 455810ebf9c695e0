"""Indexed files as the engines keep them, and which pieces of a file that was read again are there already. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from memsweep.model.code import FileChunk
from memsweep.store.refusals import file_removed_meanwhile


class StoredChunk(NamedTuple):
    """A piece of a file, as it is stored."""

    key: int
    hash: bytes
    text: str
    words: str
    symbol: str
    kind: str
    first_line: int
    last_line: int
    position: int

    def is_still(self, chunk: FileChunk, position: int) -> bool:
        """Return whether it needs no change. Other blank lines around a piece change it; the hash ignores them."""
        after = (chunk.text, chunk.words, chunk.symbol, chunk.kind, chunk.first_line, chunk.last_line, position)
        return self[2:] == after


class ChunkChanges(NamedTuple):
    """The changes of the chunks of a file; `kept` and `new` go by their positions in it."""

    kept: dict[int, StoredChunk]
    new: dict[int, int | None]
    """With the chunk whose vector is the same, where none was given."""
    dropped: list[StoredChunk]


def compare_chunks(before: Sequence[StoredChunk], chunks: Sequence[FileChunk]) -> ChunkChanges:
    """Equal hashes take the chunks that are there, in their order."""
    waiting: dict[bytes, list[StoredChunk]] = defaultdict(list)
    for old in before:
        waiting[old.hash].append(old)
    same = {old.hash: old.key for old in before}
    kept, new = dict[int, StoredChunk](), dict[int, int | None]()
    for position, chunk in enumerate(chunks):
        if waiting.get(chunk.hash):
            kept[position] = waiting[chunk.hash].pop(0)
        elif chunk.vector is None and chunk.hash not in same:
            raise file_removed_meanwhile("a file")
        else:
            new[position] = same[chunk.hash] if chunk.vector is None else None
    return ChunkChanges(kept, new, [old for rest in waiting.values() for old in rest])
