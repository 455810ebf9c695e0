"""Memories that change in place, and their revisions. What writes works inside the caller's transaction."""

from __future__ import annotations

import base64
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from memsweep.model.memory import EmbeddingModel, NewMemory, StatedIn
from memsweep.model.origin import Origin
from memsweep.model.revision import MemoryText, Piece, mentioned_by
from memsweep.store.falkor import code_cypher, cypher, trash_cypher, writing
from memsweep.store.falkor import revision_cypher as own
from memsweep.store.falkor.origins import origin_key
from memsweep.store.falkor.rows import FalkorRows
from memsweep.store.falkor.transaction import GraphHandle, Transaction, writable
from memsweep.store.texts import Texts

_STATES = (True, False)


class FalkorTexts(Texts):
    """Implements `memsweep.store.texts.Texts`."""

    def __init__(self, asked: GraphHandle | Transaction) -> None:
        super().__init__(FalkorRows(asked))
        self._asked = asked
        self.dropped_chunks: set[int] = set()

    @property
    def _tx(self) -> Transaction:
        return writable(self._asked)

    def model(self) -> EmbeddingModel | None:
        asked = self._asked
        return writing.model_of(asked.meta if isinstance(asked, Transaction) else asked.meta())

    def pieces(self, memories: Collection[int]) -> dict[int, list[Piece]]:
        found: dict[int, list[Piece]] = {key: [] for key in memories}
        for memory, _, key, uid, text, start, first, last, vector, stream, at, symbol, kind, words, mentions in sorted(
            self._both(own.PIECES, memories), key=lambda row: row[:3]
        ):
            data = base64.b64decode(vector or "")
            place = (stream, at, symbol, kind, words, *mentioned_by(mentions))
            found[memory].append(Piece(uid, text, start, first, last, data, *place, key=key))
        return found

    def write(self, memory: MemoryText, pieces: Sequence[Piece] | None) -> list[int]:
        self.change_text(memory)
        if pieces is None:
            return []
        self._drop_chunks(memory)
        keys = self.add_chunks(memory, pieces, self._placed(memory, pieces))
        self._tx.do(trash_cypher.LAST_OF_THREAD, [] if memory.thread is None else [memory.thread])
        return keys

    def origin_key(self, origin: Origin) -> int | None:
        return origin_key(self._tx, origin)

    def name(self, memory: int, chunks: Mapping[int, str], new: NewMemory) -> list[str]:
        carrier = StatedIn(memory, list(chunks), origin_key(self._tx, new.origin))
        return writing.add_names(self._tx, new, new.mentions, carrier)[0]

    def _both(self, query: str, keys: Collection[int]) -> list[Any]:
        """Return live rows and those in the trash, in one go."""
        asked = ((own.of_state(query, live=live), {"keys": sorted(keys)}) for live in _STATES)
        return [row for rows in self._asked.ask_all(*asked) for row in rows] if keys else []

    def _drop_chunks(self, memory: MemoryText) -> None:
        live = memory.trash is None
        before = {key for (key,) in self._tx.ask(own.of_state(own.CHUNKS, live=live), key=memory.key)}
        self.dropped_chunks |= before
        for state in _STATES:
            self._tx.do(own.of_state(own.DROP_CHUNK, live=state), sorted(before))
        self._tx.do(code_cypher.DROP_EMBEDDING, sorted(before))
        for key, name, evidence, seen in self._tx.ask(trash_cypher.NAMES_OF_CHUNKS, chunks=sorted(before)):
            if left := [chunk for chunk in seen if chunk not in before]:
                row = {"name_key": key, "name": name, "evidence": evidence, "chunks": left}
                self._tx.do(cypher.SET_NAME_SEEN, [row])
            else:
                self._tx.do(cypher.DROP_NAME_SEEN, [key])

    def _placed(self, memory: MemoryText, pieces: Sequence[Piece]) -> list[tuple[int | None, int | None]]:
        """Return the places of new chunks: the wanted ones if all are free, else the next ones."""
        places = [piece.stream_position for piece in pieces]
        if None not in places and not self._are_taken(memory, places):
            return [(piece.stream, piece.stream_position) for piece in pieces]
        if memory.thread is None:
            return [(-memory.key, index) if len(pieces) > 1 else (None, None) for index in range(len(pieces))]
        ((last,),) = self._tx.ask(own.LAST_PLACE, thread=memory.thread)
        return [(memory.thread, last + 1 + index) for index in range(len(pieces))]

    def _are_taken(self, memory: MemoryText, places: Sequence[int | None]) -> bool:
        asked = {"thread": memory.thread, "places": list(places), "memory": memory.key}
        return memory.thread is not None and bool(self._tx.ask(own.ARE_TAKEN, **asked))
