"""Memories that change in place: once, over the rows of any engine. Inside the caller's transaction."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

from memsweep.model.columns import Bin, part
from memsweep.model.memory import CODE_SOURCE, EmbeddingModel
from memsweep.model.revision import MemoryText, Piece, mentioned_by
from memsweep.model.text import content_hash, name_key
from memsweep.model.times import to_micros
from memsweep.model.workspace import model_from
from memsweep.store.facts import OwnedMention
from memsweep.store.rows import Find, RowReads, Rows, ThreadEnds, Values, Where
from memsweep.store.things.code import CodeFileRow
from memsweep.store.things.collected import TombstoneRow
from memsweep.store.things.graph import MentionLink, NameSeen
from memsweep.store.things.memories import MEMORY, ChunkRow, MemoryRow, ThreadRow, VectorRow

part(MemoryText, MEMORY)
_DECIDED = tuple(name for name, column in MEMORY.columns.items() if column.kept or column.by_acts)
_CHANGES = (*_DECIDED, "updated_at", "version", "origin")


class Texts:
    """Memories and their chunks, live or in the trash."""

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

    def model(self) -> EmbeddingModel | None:
        """Return the model of the workspace's vectors."""
        return model_from(self._rows.told("model"))

    def pieces(self, memories: Collection[int]) -> dict[int, list[Piece]]:
        """Return the pieces of each memory, in the order of their positions."""
        chunks, mentioned = self._rows.ask(
            Find(ChunkRow, (("memory", "in", memories),), "any", order=("memory", "position")),
            Values(MentionLink, ("chunk", "entity", "origin"), (("chunk.memory", "in", memories),), "any"),
        )
        vectors = {row.key: row.data for row in self._rows.find(VectorRow, ("key", "in", [row.key for row in chunks]))}
        mentions: dict[int, list[tuple[int, int | None]]] = defaultdict(list)
        for chunk, entity, origin in mentioned:
            mentions[chunk].append((entity, origin))
        found: dict[int, list[Piece]] = {key: [] for key in memories}
        for row in chunks:
            said = (row.id, row.text, row.start, row.first_line, row.last_line, vectors.get(row.key, b""))
            place = (row.stream, row.stream_position, row.symbol, row.symbol_kind, row.words)
            found[row.memory].append(Piece(*said, *place, *mentioned_by(mentions[row.key]), key=row.key))
        return found

    def write(self, memory: MemoryText, pieces: Sequence[Piece] | None) -> list[int]:
        """Write a memory in another form; with `pieces` these take the place of its chunks. Their keys."""
        if pieces is None:
            self.change_text(memory)
            return []
        bin: Bin = "live" if memory.trash is None else "trash"
        (found,) = self._rows.ask(Values(ChunkRow, ("key",), (("memory", "=", memory.key),), "any", near=bin))
        before = {key for (key,) in found}
        places = self._placed(memory, pieces)
        counted = self._rows.find(NameSeen, ("chunks", "meets", before))
        self.change_text(memory)
        self._rows.free(ChunkRow, ("key", "in", before), wiped=False)
        left = without_chunks(counted, before)
        self._rows.put(left, replace=True)
        kept = {row.name_key for row in left}
        self._rows.drop(NameSeen, [(row.name_key,) for row in counted if row.name_key not in kept])
        return add_pieces(self._rows, memory.key, pieces, places, memory.trash)

    def _placed(self, memory: MemoryText, pieces: Sequence[Piece]) -> list[tuple[int | None, int | None]]:
        """Return the places of new chunks: the wanted ones if all are free, else the next ones."""
        places = [piece.stream_position for piece in pieces]
        if None not in places and not self._are_taken(memory, {place for place in places if place is not None}):
            return [(piece.stream, piece.stream_position) for piece in pieces]
        if memory.thread is None:
            return own_places(memory.key, len(pieces))
        (names,) = self._rows.ask(Values(ThreadRow, ("id",), (("key", "=", memory.thread),)))
        (ends,) = self._rows.ask(ThreadEnds([uid for (uid,) in names]))
        last = next((last for _, _, last in ends if last is not None), -1)
        return [(memory.thread, last + 1 + index) for index in range(len(pieces))]

    def _are_taken(self, memory: MemoryText, places: Collection[int]) -> bool:
        """Return whether others stand there, live or in the trash."""
        if memory.thread is None:
            return False
        there: tuple[Where, ...] = (("stream", "=", memory.thread), ("stream_position", "in", places))
        (found,) = self._rows.ask(Values(ChunkRow, ("memory",), there, "any"))
        return any(other != memory.key for (other,) in found)


def without_chunks(counted: Iterable[NameSeen], gone: Collection[int]) -> list[NameSeen]:
    """Return names that are counted yet without these chunks; not those that nothing else speaks of."""
    left = [row._replace(chunks=[chunk for chunk in row.chunks if chunk not in gone]) for row in counted]
    return [row for row in left if row.chunks or not gone]


def own_places(memory: int, count: int) -> list[tuple[int | None, int | None]]:
    """Return the places of chunks in an order of their own, which never meets that of a thread."""
    return [(-memory, index) if count > 1 else (None, None) for index in range(count)]


def add_pieces(
    rows: Rows,
    memory: int,
    pieces: Sequence[Piece],
    places: Sequence[tuple[int | None, int | None]],
    trash: int | None = None,
) -> list[int]:
    """Add the chunks of a memory, with their vectors and mentions, each at its place in a thread; their keys."""
    keys = rows.add(
        [
            ChunkRow(
                id=piece.id,
                memory=memory,
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
                trash=trash,
                key=0,
            )
            for position, (piece, (stream, at)) in enumerate(zip(pieces, places, strict=True))
        ]
    )
    made = list(zip(keys, pieces, strict=True))
    rows.add([VectorRow(key, piece.vector) for key, piece in made if piece.vector])
    mentions = [OwnedMention(key, *mention) for key, piece in made for mention in piece.mentions]
    rows.put(mentions, replace=False, live=("chunk",) if trash is None else ())
    return list(keys)


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
