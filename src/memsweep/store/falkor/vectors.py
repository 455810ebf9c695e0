"""The vectors of a workspace for search: a Redis vector set beside the graph, which can be made again from it.

The `Embedding` nodes are the truth and come and go with their transaction. The set follows: who writes a memory
adds what the writers before left behind, in one go with its own query, and notes how far it came; who writes many
catches up at once. A search takes what the set does not have yet straight from the nodes, and every score is
computed from them, so the set only has to know who is near.

The server cannot look into a graph and change the set in one go, and between the two a writer may stand still for as
long as it takes others to free what it has read. So it reads first where the set stands: how far it has come, and how
often something was taken out of it. Its vectors only go in if the set stands there still; if not, they are behind, as
if nobody had tried.
"""

from __future__ import annotations

from binascii import a2b_base64
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from memsweep.store.falkor import care_cypher, cypher
from memsweep.store.falkor.link import Command
from memsweep.store.falkor.transaction import GraphHandle, Transaction
from memsweep.store.falkor.wire import Query, Row

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Ask = Callable[..., list[Row]]
_EXACT_BELOW = 2000  # so few are looked at one by one
_EFFORT = 400
_BATCH = 500
_TAIL = 5000
_AT_ONCE = 50  # so many go in while the server does nothing else
# A vector of another width is refused, and the others are not.
_ADD = """
    local come, taken = redis.call('get', KEYS[2]) or '', redis.call('get', KEYS[3]) or ''
    if redis.call('exists', KEYS[4]) == 0 or come ~= ARGV[1] or taken ~= ARGV[2] then return 0 end
    for at = 4, #ARGV, 2 do redis.pcall('vadd', KEYS[1], 'FP32', ARGV[at + 1], ARGV[at], 'Q8') end
    redis.call('set', KEYS[2], ARGV[3])
    return 1"""
_OPEN = "if redis.call('get', KEYS[3]) ~= 'closed' then redis.call('incr', KEYS[3]) end"
_DISMISS = f"""
    for _, key in ipairs(ARGV) do redis.call('vrem', KEYS[1], key) redis.call('srem', KEYS[2], key) end
    {_OPEN}"""
_FORGET = f"redis.call('unlink', KEYS[1], KEYS[2]) {_OPEN}"
_CLOSE = "redis.call('unlink', KEYS[1], KEYS[2], KEYS[4]) redis.call('set', KEYS[3], 'closed')"


class Look(NamedTuple):
    """The questions about the set, and its state as it was known when they were made."""

    generation: int
    come: int
    size: int
    lacking: Query
    commands: list[Command]


class _Stand(NamedTuple):
    """The state of the set of a generation, as the server has it."""

    mark: bytes = b""
    """The key up to which everything is in it."""
    taken: bytes = b""
    """How often something was taken out of it; or that it was given up for the set of another generation."""

    @property
    def come(self) -> int:
        return int(self.mark or 0)

    @property
    def is_closed(self) -> bool:
        return self.taken == b"closed"


class _Left(NamedTuple):
    """The vectors that this process left at a revision, when the set had come so far."""

    revision: int
    generation: int
    come: int
    rows: list[Row]


_NOTHING = _Left(-1, 0, 0, [])


class VectorSet:
    """The nearest chunks of one workspace by angle."""

    def __init__(self, graph: GraphHandle) -> None:
        self._graph = graph
        self._seen = 0, 0, 0  # its generation, how far it had come, and its size, when last looked at
        self._left = _NOTHING

    def look(self, generation: int | None = None) -> Look:
        """Return what the set lacks, and how far it has come; of the generation seen last, if none is given."""
        seen, come, size = self._seen
        if generation not in (None, seen):
            seen, come, size = generation or 0, 0, 0
        return Look(seen, come, size, _after(come), [("MGET", *self._names(seen)[1:3])])

    def look_near(self, generation: int, query: bytes, count: int) -> Look:
        """The same, its size, and what is nearest."""
        look, name = self.look(generation), self._names(generation)[0]
        near = [_similar(name, query, count, look.size)] if any(query) else []
        return look._replace(commands=[*look.commands, ("VCARD", name), *near])

    def nearest(
        self, look: Look, lacking: Sequence[Row], replies: Sequence[Any], query: bytes, count: int
    ) -> tuple[list[int], bool]:
        """Keys of about so many chunks nearest to the query, of any state; and whether those were all."""
        stand, size, *near = replies
        tail = [key for key, _ in self._behind(look, lacking, _stand(stand), self._graph.ask)]
        self._seen = *self._seen[:2], size or 0
        if not size or not near:
            return tail, True
        found = near[0]
        if _effort(look.size, count) != _effort(size, count):
            found = self._graph.link.read(*_similar(self._names(look.generation)[0], query, count, size))
        return [*map(int, found), *tail], size <= count

    @contextmanager
    def writing(self) -> Iterator[Transaction]:
        """A transaction that may bring new vectors: they are in the set before the next writer's turn."""
        with self._graph.writing(afterwards=lambda meta: self.catch_up(meta["generation"])) as tx:
            yield tx

    def ahead(self) -> tuple[list[Query], list[Command]]:
        """Return what `follow` will read and ask. If this process wrote last, it need not ask."""
        look = self.look()
        return [] if self._left.revision == self._graph.seen.get("revision") else [look.lacking], look.commands

    def follow(self, tx: Transaction) -> _Left:
        """Put what earlier writers left behind into the set, in one go with this one's query.

        Says how far it has come when that is done.
        """
        look = self.look(tx.meta["generation"])
        stand = _stand(tx.read(*look.commands[0]))
        if self._left[:3] == (tx.meta["revision"], look.generation, stand.come):
            lacking = self._left.rows
        else:
            (lacking,) = tx.ask_all(look.lacking)
        rows = self._behind(look, lacking, stand, tx.ask)
        tx.beside(self._adding(look.generation, stand, rows[:_BATCH]))
        come = rows[-1][0] if rows else stand.come
        return _NOTHING if len(rows) > _BATCH else _Left(tx.meta["revision"] + 1, look.generation, come, [])

    def leave(self, followed: _Left, rows: list[Row]) -> None:
        """The transaction that followed is done, and made these vectors; without any it may not have been one."""
        self._left = followed._replace(rows=rows) if rows else _NOTHING

    def catch_up(self, generation: int) -> None:
        """Add what was written since the last time; the caller holds the writer lease, or repairs."""
        while True:
            look = self.look(generation)
            stand = _stand(self._graph.link.read(*look.commands[0]))  # before the nodes, which may go meanwhile
            (lacking,) = self._graph.ask_all(look.lacking)
            rows = self._behind(look, lacking, stand, self._graph.ask)[:_BATCH]
            if not rows:
                return
            self._graph.link.send_all(self._adding(generation, stand, rows))

    def _behind(self, look: Look, lacking: Sequence[Row], stand: _Stand, ask: Ask) -> list[Row]:
        """The vectors that the set does not have, oldest first."""
        come = stand.come
        if stand.is_closed:  # who looks at it will be refused, for the generation has gone on
            return []
        if come < look.come or (come > look.come and len(lacking) == _TAIL):  # it was made anew, or is far ahead
            query, values = _after(come)
            lacking = ask(query, **values)
        self._seen = look.generation, come, look.size
        return [row for row in lacking if row[0] > come]

    def _adding(self, generation: int, stand: _Stand, rows: Sequence[Row]) -> list[Command]:
        """Vectors, to be sent after another: none is done unless the set stands where the one before left it."""
        import numpy as np

        commands: list[Command] = []
        for at in range(0, len(rows), _AT_ONCE):
            some = rows[at : at + _AT_ONCE]
            last = b"%d" % some[-1][0]
            pairs = ((key, np.frombuffer(a2b_base64(data), np.int8).astype(np.float32)) for key, data in some)
            given = [each for key, vector in pairs for each in (key, vector.tobytes())]
            keys = (*self._names(generation)[:3], self._graph.name)
            commands.append(("EVAL", _ADD, 4, *keys, stand.mark, stand.taken, last, *given))
            stand = stand._replace(mark=last)
        return commands

    def announce(self, generation: int, keys: Collection[int]) -> None:
        """Before the transaction that drops these: if this process dies, another knows what to take out of the set."""
        if keys:
            self._graph.link.write("SADD", self._names(generation)[3], *keys)

    def dismiss(self, generation: int) -> None:
        """Take out of the set what was announced, by whom ever, and has left the graph."""
        name, _, taken, leaving = self._names(generation)
        with self._graph.link.after_a_change():
            gone = self._gone(generation)
            for start in range(0, len(gone), _BATCH):
                self._graph.link.write("EVAL", _DISMISS, 3, name, leaving, taken, *gone[start : start + _BATCH])

    def _gone(self, generation: int) -> list[int]:
        announced = self._announced(generation)
        if not announced:
            return []
        kept = {key for (key,) in self._graph.ask(cypher.EMBEDDED, refs=list(map(str, announced)))}
        return [key for key in announced if key not in kept]

    def _announced(self, generation: int) -> list[int]:
        return sorted(map(int, self._graph.link.read("SMEMBERS", self._names(generation)[3])))

    def forget(self, generation: int) -> None:
        """Drop the set; the next writer makes it again. What was announced may still leave the graph."""
        self._graph.link.write("EVAL", _FORGET, 3, *self._names(generation)[:3])

    def close(self, generation: int) -> None:
        """Drop the set of a generation that is over: who still thinks otherwise does not make it again."""
        self._graph.link.write("EVAL", _CLOSE, 4, *self._names(generation))

    def size_bytes(self, generation: int) -> int:
        name = self._names(generation)[0]
        return int(self._graph.link.read("MEMORY", "USAGE", name, "SAMPLES", 5) or 0)

    def astray(self, generation: int) -> set[int]:
        """Keys that the set has and the graph has not, or the other way round, when looked at twice: once, others may
        have written in between."""
        first = self._astray(generation)
        return first and first & self._astray(generation)

    def _astray(self, generation: int) -> set[int]:
        """Return members to drop or add again: what nobody has come to yet, or announced to leave, is left alone."""
        name, *marks, _ = self._names(generation)
        come = _stand(self._graph.link.read("MGET", *marks)).come
        size = int(self._graph.link.read("VCARD", name) or 0)
        members = set(map(int, self._graph.link.read("VRANDMEMBER", name, 2 * size) if size else ()))
        kept = {key for (key,) in self._graph.ask(care_cypher.EMBEDDING_KEYS)}
        lacking = {key for key in kept - members if key <= come}
        return (members - kept | lacking).difference(self._announced(generation))

    def _names(self, generation: int) -> tuple[str, str, str, str]:
        """The keys of the set, how far it has come, how often something was taken out, and what is about to be."""
        parts = ("vectors", "indexed", "taken", "leaving")
        one, two, three, four = (f"{self._graph.name}:{part}:{generation}" for part in parts)
        return one, two, three, four


def _stand(replies: Sequence[bytes | None]) -> _Stand:
    return _Stand(*(reply or b"" for reply in replies))


def _after(come: int) -> Query:
    return cypher.EMBEDDINGS_AFTER, {"after": come, "limit": _TAIL}


def _effort(size: int, count: int) -> tuple[Any, ...]:
    return ("TRUTH",) if 0 < size <= _EXACT_BELOW else ("EF", max(_EFFORT, count))


def _similar(name: str, query: bytes, count: int, size: int) -> Command:
    import numpy as np

    floats = np.frombuffer(query, np.int8).astype(np.float32).tobytes()
    return ("VSIM", name, "FP32", floats, "COUNT", count, *_effort(size, count))


def cosines(query: bytes, rows: Sequence[Row]) -> dict[int, float]:
    """The cosine of the query with each vector, by key; nothing has an angle with a vector of no length.

    `rows` is what `cypher.EMBEDDINGS` gives.
    """
    import numpy as np

    ((told, written, *_),) = rows
    keys = list(map(int, told.split(" "))) if told else []
    vectors = _all_bytes(written.split("|"))
    if set(map(len, vectors)) != {len(query)}:
        fitting = [(key, each) for key, each in zip(keys, vectors, strict=bool(keys)) if len(each) == len(query)]
        keys, vectors = [key for key, _ in fitting], [each for _, each in fitting]
    if not keys:
        return {}
    matrix: npt.NDArray[np.float32] = np.frombuffer(b"".join(vectors), np.int8).astype(np.float32)
    matrix = matrix.reshape(len(keys), -1)
    wanted = np.frombuffer(query, np.int8).astype(np.float32)
    lengths = np.linalg.norm(matrix, axis=1) * np.linalg.norm(wanted)
    scores = np.divide(matrix @ wanted, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    return dict(zip(keys, scores.tolist(), strict=True))


def _all_bytes(written: Sequence[str]) -> list[bytes]:
    """Return vectors as bytes; one that is none becomes empty, and so is compared with nothing."""
    try:
        return list(map(a2b_base64, written))
    except ValueError:
        return list(map(_bytes_of, written))


def _bytes_of(data: str) -> bytes:
    try:
        return a2b_base64(data)
    except ValueError:
        return b""
