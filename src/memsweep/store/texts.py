"""Memories that change in place: once, over the rows of any engine. Inside the caller's transaction."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from memsweep.model.columns import part
from memsweep.model.memory import CODE_SOURCE, EmbeddingModel, NewMemory
from memsweep.model.revision import MemoryText, Piece
from memsweep.model.text import content_hash, name_key
from memsweep.model.times import to_micros
from memsweep.model.workspace import model_from
from memsweep.store.facts import OwnedMention
from memsweep.store.rows import Find, RowReads, Rows, Values, Where
from memsweep.store.things.code import CodeFileRow
from memsweep.store.things.collected import TombstoneRow
from memsweep.store.things.memories import MEMORY, ChunkRow, MemoryRow, VectorRow

part(MemoryText, MEMORY)
_DECIDED = tuple(name for name, column in MEMORY.columns.items() if column.kept or column.by_acts)
_CHANGES = (*_DECIDED, "updated_at", "version", "origin")


class Texts:
    """Memories and their chunks, live or in the trash; an engine knows what is kept beside chunks."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def at(self, memories: Collection[int]) -> dict[int, MemoryText]:
        return {row.key: row for row in self._rows.find(MemoryText, ("key", "in", memories), bin="any")}

    def since(self, at: datetime) -> list[MemoryText]:
        """Return memories written or changed since that moment, but for files of code."""
        where: tuple[Where, ...] = (("updated_at", ">=", to_micros(at)), ("source", "<>", CODE_SOURCE))
        return self._rows.find(MemoryText, *where, bin="any")

    def page(self, after: int, limit: int) -> list[MemoryText]:
        """So many beyond a key, in the order of their keys."""
        return self._rows.ask(Find(MemoryText, (("key", ">", after),), "any", limit=limit))[0]

    def duplicate_of(self, memory: MemoryText, besides: Collection[int] = ()) -> str | None:
        """The id of another live memory with the same text in the same thread; code is known by its file."""
        same: list[Where] = [("content_hash", "=", memory.content_hash), ("source", "<>", CODE_SOURCE)]
        same += [("text", "=", memory.text), ("thread", "null" if memory.thread is None else "=", memory.thread)]
        found = self._rows.find(MemoryText, *same)
        return next((row.id for row in found if row.key != memory.key and row.key not in besides), None)

    def read_again(self, memories: Collection[int]) -> None:
        """Files of code that the next run of the index reads, changed or not."""
        self._rows.set(CodeFileRow, ("key", "in", memories), digest="")

    def change_text(self, memory: MemoryText) -> None:
        """All of a memory that can change, but for its chunks and what finds it."""
        said = {name: getattr(memory, name) for name in (*_CHANGES, "content_hash")}
        self._rows.change(
            MemoryRow,
            tuple(said),
            {memory.key: tuple(said.values())},
            bin="live" if memory.trash is None else "trash",
        )

    def add_chunks(
        self, memory: MemoryText, pieces: Sequence[Piece], places: Sequence[tuple[int | None, int | None]]
    ) -> list[int]:
        """Add the chunks of a memory, with what belongs to them, each at its place in a thread; their keys."""
        keys = self._rows.add(
            [
                ChunkRow(
                    id=piece.id,
                    memory=memory.key,
                    position=position,
                    text=piece.text,
                    start=piece.start,
                    first_line=piece.first_line,
                    last_line=piece.last_line,
                    hash=content_hash(piece.text),
                    stream=stream,
                    stream_position=at,
                    symbol=piece.symbol,
                    symbol_kind=piece.symbol_kind,
                    words=piece.words,
                    trash=memory.trash,
                    key=0,
                )
                for position, (piece, (stream, at)) in enumerate(zip(pieces, places, strict=True))
            ]
        )
        made = list(zip(keys, pieces, strict=True))
        self._rows.add([VectorRow(key, piece.vector) for key, piece in made if piece.vector])
        mentions = [OwnedMention(key, *mention) for key, piece in made for mention in piece.mentions]
        self._rows.put(mentions, replace=False, live=("chunk",) if memory.trash is None else ())
        return list(keys)

    def model(self) -> EmbeddingModel | None:
        """Return the model of the workspace's vectors."""
        return model_from(self._rows.told("model"))

    @abstractmethod
    def pieces(self, memories: Collection[int]) -> dict[int, list[Piece]]:
        """In the order of their positions."""

    @abstractmethod
    def write(self, memory: MemoryText, pieces: Sequence[Piece] | None) -> list[int]:
        """A memory in another form; with `pieces` these take the place of its chunks. Their keys."""

    @abstractmethod
    def name(self, memory: int, chunks: Mapping[int, str], new: NewMemory, origin: int | None) -> list[str]:
        """The names that new chunks speak of, given with their texts; the ids of new entities."""


def forgotten_hash(text: str) -> bytes:
    """Return the hash of a tombstone: equal for texts that differ in Unicode form, case or white space alone."""
    return content_hash(name_key(text))


def about(texts: Sequence[str]) -> Values:
    """Return the query of `tombstoned`."""
    return Values(TombstoneRow, ("hash",), (("hash", "in", {digest for text in texts for digest in hashes(text)}),))


def tombstoned(rows: RowReads, texts: Sequence[str]) -> set[str]:
    """Return those of these texts that were forgotten for good and may not be learned again."""
    found = {digest if isinstance(digest, bytes) else bytes.fromhex(digest) for (digest,) in rows.ask(about(texts))[0]}
    return {text for text in texts if found and not found.isdisjoint(hashes(text))}


def hashes(text: str) -> tuple[bytes, bytes]:
    """Return the hashes that tombstones know a text by: the second is what they had at first, of the exact text."""
    return forgotten_hash(text), content_hash(text)
