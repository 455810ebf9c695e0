"""The vectors of a workspace for search: a Redis vector set beside the graph, which can be made again from it.

The `Embedding` nodes are the truth and come and go with their transaction. A writer adds what is new to the
set before it gives up its place, and notes how far it came. A search takes what the set does not have yet
straight from the nodes, and every score is computed from them, so the set only has to know who is near.
"""

from __future__ import annotations

import base64
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from memsweep.store.falkor import cypher
from memsweep.store.falkor.transaction import Graph

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_EXACT_BELOW = 2000  # so few are looked at one by one
_EFFORT = 400
_BATCH = 500
_TAIL = 5000
_DISMISS = "for _, key in ipairs(ARGV) do redis.call('vrem', KEYS[1], key) redis.call('srem', KEYS[2], key) end"


class VectorSet:
    """The nearest chunks of one workspace by angle."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def nearest(self, generation: int, query: bytes, count: int) -> tuple[list[int], bool]:
        """Keys of about so many chunks nearest to the query, of any state; and whether those were all."""
        import numpy as np

        name, mark = self._names(generation)
        size, indexed = self._graph.link.send_all([("VCARD", name), ("GET", mark)])
        tail = [key for key, _ in self._graph.ask(cypher.EMBEDDINGS_AFTER, after=int(indexed or 0), limit=_TAIL)]
        if not size or not any(query):
            return tail, True
        floats = np.frombuffer(query, np.int8).astype(np.float32).tobytes()
        command: list[Any] = ["VSIM", name, "FP32", floats, "COUNT", count]
        command += ["TRUTH"] if size <= _EXACT_BELOW else ["EF", max(_EFFORT, count)]
        found = [int(key) for key in self._graph.link.read(*command)]
        return [*found, *tail], size <= count

    def catch_up(self, generation: int) -> None:
        """Add what was written since the last time; the caller holds the writer's place, or repairs."""
        import numpy as np

        name, mark = self._names(generation)
        while True:
            indexed = self.indexed(generation)
            rows = self._graph.ask(cypher.EMBEDDINGS_AFTER, after=indexed, limit=_BATCH)
            if not rows:
                return
            vectors = [(key, np.frombuffer(base64.b64decode(data), np.int8).astype(np.float32)) for key, data in rows]
            add = [("VADD", name, "FP32", vector.tobytes(), key, "Q8") for key, vector in vectors]
            self._graph.link.send_all([*add, ("SET", mark, rows[-1][0])])
            if len(rows) < _BATCH:
                return

    def announce(self, generation: int, keys: Collection[int]) -> None:
        """Before the transaction that drops these: if this process dies, another knows what to take out of the set."""
        if keys:
            self._graph.link.write("SADD", self._leaving(generation), *keys)

    def dismiss(self, generation: int) -> None:
        """Take out of the set what was announced, by whom ever, and has left the graph."""
        name, leaving = self._names(generation)[0], self._leaving(generation)
        gone = self._gone(generation)
        for start in range(0, len(gone), _BATCH):
            self._graph.link.write("EVAL", _DISMISS, 2, name, leaving, *gone[start : start + _BATCH])

    def _gone(self, generation: int) -> list[int]:
        announced = sorted(map(int, self._graph.link.read("SMEMBERS", self._leaving(generation))))
        kept = {key for (key,) in self._graph.ask(cypher.EMBEDDED, keys=announced)} if announced else set()
        return [key for key in announced if key not in kept]

    def forget(self, generation: int) -> None:
        """Drop the set; the next writer makes it again."""
        name, mark = self._names(generation)
        self._graph.link.send_all([("UNLINK", name), ("UNLINK", mark), ("UNLINK", self._leaving(generation))])

    def size_bytes(self, generation: int) -> int:
        name, _ = self._names(generation)
        return int(self._graph.link.read("MEMORY", "USAGE", name, "SAMPLES", 5) or 0)

    def count(self, generation: int) -> int:
        """How many are in the set that have not left the graph."""
        return int(self._graph.link.read("VCARD", self._names(generation)[0]) or 0) - len(self._gone(generation))

    def indexed(self, generation: int) -> int:
        """The key up to which everything is in the set."""
        return int(self._graph.link.read("GET", self._names(generation)[1]) or 0)

    def _leaving(self, generation: int) -> str:
        return f"{self._graph.name}:leaving:{generation}"

    def _names(self, generation: int) -> tuple[str, str]:
        return f"{self._graph.name}:vectors:{generation}", f"{self._graph.name}:indexed:{generation}"


def cosines(query: bytes, rows: Iterable[Sequence[Any]]) -> dict[int, float]:
    """The cosine of the query with each vector, by key; nothing has an angle with a vector of no length."""
    import numpy as np

    pairs = [(key, base64.b64decode(data)) for key, data in rows]
    pairs = [(key, data) for key, data in pairs if len(data) == len(query)]
    if not pairs:
        return {}
    matrix: npt.NDArray[np.float32] = np.frombuffer(b"".join(data for _, data in pairs), np.int8).astype(np.float32)
    matrix = matrix.reshape(len(pairs), -1)
    wanted = np.frombuffer(query, np.int8).astype(np.float32)
    lengths = np.linalg.norm(matrix, axis=1) * np.linalg.norm(wanted)
    scores = np.divide(matrix @ wanted, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    return {key: float(score) for (key, _), score in zip(pairs, scores, strict=True)}
