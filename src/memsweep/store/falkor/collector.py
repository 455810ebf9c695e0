"""The collector's side of a workspace: transactions, and reads that each are one."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple

from memsweep.errors import StoreError
from memsweep.model.code import other_places
from memsweep.store.changes import Changes, WorkspaceReads
from memsweep.store.falkor.memory_act_cypher import ADD_MENTION_AT
from memsweep.store.falkor.rows import FalkorRows, queries_ahead
from memsweep.store.falkor.surveying import FalkorItems
from memsweep.store.falkor.transaction import GraphHandle, Transaction
from memsweep.store.falkor.vectors import VectorSet
from memsweep.store.falkor.wire import Row
from memsweep.store.falkor.words import best_matches
from memsweep.store.memory_acts import MemoryActRows, PlacedMention
from memsweep.store.refusals import too_slow
from memsweep.store.rows import Read, Rows, Values
from memsweep.store.things.code import CodeRootRow
from memsweep.store.things.windows import SegmentRow
from memsweep.store.trash import Clash, Clashes, SameText, Trash

if TYPE_CHECKING:
    from memsweep.store.falkor.link import Link


# Many memories are asked about at once, each for 3 microseconds: not where no file is in the trash.
FILES_OF = """
    MATCH (one:TrashedMemory) WHERE one.root > '' WITH one LIMIT 1
    UNWIND $memories AS key MATCH (m:TrashedMemory {ref: toString(key)}) WHERE m.path IS NOT NULL
    RETURN m.key, m.id, m.root, m.path"""
_WITH_SAME_TEXT = """mine.source <> 'code_indexer'
    WITH mine, mine.content_hash AS hash MATCH (theirs:Memory {content_hash: hash})
    WHERE theirs.source <> 'code_indexer' AND theirs.text = mine.text
      AND coalesce(theirs.thread, -1) = coalesce(mine.thread, -1)
    RETURN mine.key, mine.id, theirs.id, theirs.key"""
SAME_TEXTS = f"""
    UNWIND $memories AS key MATCH (mine:TrashedMemory {{ref: toString(key)}}) WHERE {_WITH_SAME_TEXT}"""
SAME_TEXTS_AT = f"UNWIND $nodes AS node MATCH (mine:TrashedMemory) WHERE ID(mine) = node AND {_WITH_SAME_TEXT}"
FILES_AT = """
    UNWIND $places AS place MATCH (m:Memory {path: place[1]}) WHERE m.root = place[0]
    RETURN m.root, m.path, m.id"""
NAMES_OF_CHUNKS = """
    MATCH (n:NameSeen) WHERE any(chunk IN n.chunks WHERE chunk IN $chunks)
    RETURN n.name_key, n.name, n.evidence, n.chunks"""


class FalkorMemoryActs(MemoryActRows):
    """Implements `memsweep.store.memory_acts.MemoryActRows`."""

    def __init__(self, tx: Transaction) -> None:
        super().__init__(FalkorRows(tx))
        self._tx = tx

    def add_mentions_at(self, mentions: Iterable[PlacedMention]) -> None:
        rows = [each._asdict() for each in mentions]
        for step in ADD_MENTION_AT:
            self._tx.do(step, rows)


class FalkorReads(WorkspaceReads):
    """The rows of a graph at one moment."""

    def __init__(self, asked: GraphHandle | Transaction) -> None:
        super().__init__(FalkorRows(asked))
        self.items = FalkorItems(asked)

    def matches(self, window: int, query: str, count: int) -> dict[int, float]:
        return _stash_matches(self.rows, window, query, count)


class FalkorChanges(Changes):
    """Inside the caller's transaction."""

    def __init__(self, tx: Transaction) -> None:
        super().__init__(FalkorRows(tx))
        self._tx = tx
        self.items = FalkorItems(tx)
        self.trash = FalkorTrash(tx)
        self.acts = FalkorMemoryActs(tx)

    def matches(self, window: int, query: str, count: int) -> dict[int, float]:
        return _stash_matches(self.rows, window, query, count)


def _stash_matches(rows: Rows, window: int, query: str, count: int) -> dict[int, float]:
    (found,) = rows.ask(Values(SegmentRow, ("place", "stash", "text"), (("project", "=", window),)))
    stashed = {place: text for place, stash, text in found if stash is not None}
    return best_matches(query, stashed, [text for *_, text in found], count)


class FalkorTrash(Trash):
    def __init__(self, tx: Transaction) -> None:
        super().__init__(FalkorRows(tx))
        self._tx = tx

    def clashes(self, memories: Collection[int]) -> Clashes:
        if not memories:
            return Clashes([], [])
        asked, nodes = {"memories": sorted(memories)}, self._tx.nodes_of("TrashedMemory", memories)
        same = (SAME_TEXTS, asked) if nodes is None else (SAME_TEXTS_AT, {"nodes": nodes})
        files, texts = self._tx.ask_all((FILES_OF, asked), same)
        return Clashes(self._indexed_again(files), [SameText(*row) for row in texts])

    def _indexed_again(self, files: Sequence[Row]) -> list[Clash]:
        """A file may be known by another root, under another path."""
        roots = [root.path for root in self._rows.find(CodeRootRow)] if files else []
        at: dict[tuple[str, str], list[tuple[int, str]]] = defaultdict(list)
        for key, uid, root, path in files:
            for place in ((root, path), *other_places(root, path, roots)):
                at[place].append((key, uid))
        found = self._tx.ask(FILES_AT, places=[list(place) for place in at]) if at else []
        return [Clash(key, uid, other) for root, path, other in found for key, uid in at[root, path]]


@contextmanager
def changing(
    graph: GraphHandle, vectors: VectorSet, seconds: float | None, ahead: Sequence[Read]
) -> Iterator[FalkorChanges]:
    with graph.writing(ahead=queries_ahead(graph, ahead)) as tx, nullcontext() if seconds is None else _within(seconds):
        yield FalkorChanges(tx)
        vectors.announce(tx.meta["generation"], tx.freed_chunks)
    if tx.freed_chunks:
        vectors.dismiss(tx.meta["generation"])


@contextmanager
def _within(seconds: float) -> Iterator[None]:
    """Give up after so many seconds, before anything is changed."""
    deadline = time.monotonic() + seconds
    yield
    if time.monotonic() >= deadline:
        raise too_slow(seconds)


_PATIENCE_SECONDS = 60.0
_PAUSE_SECONDS = 0.02


class _Copy(NamedTuple):
    """A form in which the server keeps its data, the command that makes it anew, and how `INFO` speaks of that."""

    name: str
    command: str
    running: tuple[str, ...]
    outcome: str


_LOG = _Copy("log", "BGREWRITEAOF", ("aof_rewrite_in_progress", "aof_rewrite_scheduled"), "aof_last_bgrewrite_status")
_SNAPSHOT = _Copy("snapshot", "BGSAVE", ("rdb_bgsave_in_progress",), "rdb_last_bgsave_status")


def rewrite(link: Link, key: str) -> list[str]:
    """Have the log, or the snapshot where there is no log, made anew, and wait; what may still be there, in words.

    Replicas write logs of their own, which only they can be asked to make anew.
    """
    copy = _LOG
    try:
        forget_queries(link, key)
        if not _persistence(link, key)["aof_enabled"]:
            copy = _SNAPSHOT
            if not _takes_snapshots(link, key):
                return []
        deadline = time.monotonic() + _PATIENCE_SECONDS
        _wait(link, key, copy, deadline)  # one that has begun before may still hold it
        link.at_node_of(key, copy.command)
        status = _wait(link, key, copy, deadline)
    except StoreError as error:
        return [_left(copy, error.message.rstrip("."))]
    return [] if status == "ok" else [_left(copy, f"its last attempt said {status!r}")]


def forget_queries(link: Link, key: str) -> None:
    """The server keeps the last queries of a graph, with all their values, in a stream beside it."""
    stream = f"telemetry{{{key}}}"
    link.at_node_of(stream, "UNLINK", stream)


def _persistence(link: Link, key: str) -> dict[str, Any]:
    said: dict[str, Any] = link.at_node_of(key, "INFO", "persistence")
    return said


def _takes_snapshots(link: Link, key: str) -> bool:
    said = link.at_node_of(key, "CONFIG", "GET", "save")
    values = said.values() if isinstance(said, dict) else said[1:]
    return any(bool(value) for value in values)


def _wait(link: Link, key: str, copy: _Copy, deadline: float) -> str:
    while any((said := _persistence(link, key))[name] for name in copy.running):
        if time.monotonic() > deadline:
            return "still running"
        time.sleep(_PAUSE_SECONDS)
    return str(said[copy.outcome])


def _left(copy: _Copy, why: str) -> str:
    return (
        f"The {copy.name} on the disk of the FalkorDB server may still have it: it could not be written anew ({why})."
        f" {copy.command} does it there."
    )
