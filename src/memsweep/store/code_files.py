"""Files of code, each a memory: once, over the rows of any engine."""

from __future__ import annotations

from abc import abstractmethod
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from memsweep.model.code import (
    LISTED,
    CodeRoot,
    CodeTotals,
    FileChunk,
    FileMark,
    FileWrite,
    KnownFile,
    Listing,
    RunEnd,
    code_roots,
)
from memsweep.model.origin import UNKNOWN, Origin
from memsweep.model.times import to_micros
from memsweep.model.workspace import EmbeddingModel
from memsweep.store.refusals import file_removed_meanwhile
from memsweep.store.rows import Find, RowReads, Rows, Show, Tally
from memsweep.store.texts import tombstoned
from memsweep.store.things.code import CodeFileRow, CodeRootRow, CodeScopeRow, CodeSkipRow
from memsweep.store.things.memories import MemoryRow
from memsweep.store.views import COUNTED_FILES, HASHES, KNOWN_FILES, VERIFIED

Refer = Callable[[CodeRootRow], Any]
"""What the files of a root refer to it by: its number in a file, its path in a graph."""


class CodeFiles:
    """The index of code of a workspace."""

    def __init__(self, rows: RowReads, refer: Refer) -> None:
        self._rows, self._refer = rows, refer

    def roots(self) -> list[str]:
        """The folders that were indexed."""
        return [row.path for row in self._rows.find(CodeRootRow)]

    def overview(self) -> tuple[CodeRoot, ...]:
        """The folders that were indexed, with their files and runs."""
        files = Tally(COUNTED_FILES, ("root", "language", "stale"), ("lines",), (("path", "known", None),))
        roots, counted, scopes = self._rows.ask(Find(CodeRootRow), files, Find(CodeScopeRow))
        path_of = {self._refer(root): root.path for root in roots}
        ran = ((path_of[run.root], run.filters, run.runs, run.verified_at) for run in scopes if run.root in path_of)
        found = ((root, language, bool(stale), count, int(lines)) for root, language, stale, count, lines in counted)
        return code_roots([root.path for root in roots], found, ran)

    def files(self, root: str) -> list[KnownFile]:
        """Every file of a root that is known, stale ones included, and those it lists without a memory of its own."""
        own = [self._refer(row) for row in self._rows.find(CodeRootRow, ("path", "=", root))]
        files, skips = self._rows.ask(
            Show(KNOWN_FILES, (("root", "=", root),)), Find(CodeSkipRow, (("root", "in", own),), order=("path",))
        )
        found = [_known(row["id"], row, row["stale"]) for row in files if row["path"] is not None]
        return [*found, *(_known("", skip._asdict(), stale=False) for skip in skips)]

    def chunk_hashes(self, memory_ids: Sequence[str]) -> dict[str, set[bytes]]:
        """The hashes of the chunks that these files have now: what need not be embedded again."""
        found: dict[str, set[bytes]] = defaultdict(set)
        for row in self._rows.ask(Show(HASHES, (("id", "in", memory_ids),)))[0]:
            found[row["id"]].add(row["hash"])
        return found

    def tombstoned(self, texts: Sequence[str]) -> set[str]:
        """Return those of these texts that were forgotten for good and may not be learned again."""
        return tombstoned(self._rows, texts)

    def totals(self, root: str) -> CodeTotals:
        live = Tally(
            COUNTED_FILES,
            ("language",),
            ("lines", "functions", "classes"),
            (("root", "=", root), ("stale", "=", False)),
        )
        rows, stale = self._rows.ask(live, Tally(COUNTED_FILES, ("stale",), (), (("stale", "=", True),)))
        lines, functions, classes = (int(sum(row[column] for row in rows)) for column in (2, 3, 4))
        return CodeTotals({row[0]: row[1] for row in sorted(rows)}, lines, functions, classes, sum(n for _, n in stale))

    @abstractmethod
    def write(
        self,
        root: str,
        files: Sequence[FileWrite],
        model: EmbeddingModel,
        now: datetime,
        new_id: Callable[[str], str],
        origin: Origin = UNKNOWN,
    ) -> None:
        """Files in their new form, each of them whole."""

    @abstractmethod
    def end_run(self, run: RunEnd, now: datetime) -> None:
        """Staleness and verification of a complete run, all at once."""


def _known(memory_id: str, row: dict[str, Any], stale: bool) -> KnownFile:
    mark = FileMark(row["stamp"], row["digest"], row["read_at_ns"])
    return KnownFile(memory_id, row["path"], row["language"], mark, stale)


def ensure_root(rows: Rows, path: str) -> CodeRootRow:
    found = rows.find(CodeRootRow, ("path", "=", path))
    if found:
        return found[0]
    new = CodeRootRow(path, 0, 0)
    return new._replace(key=rows.add([new])[0])


def keep_listed(rows: Rows, files: Iterable[Listing], refer: Refer) -> None:
    """The roots that had these files list them still."""
    known = {root.path: refer(root) for root in rows.find(CodeRootRow)}
    listed = [CodeSkipRow(known[each.root], each.path, each.language, "0:0", LISTED, 0) for each in files]
    rows.put(listed, replace=True)


class RunWrites:
    """The writes at the end of a run: a reader sees one complete run or the one before."""

    def __init__(self, rows: Rows, run: RunEnd, now: datetime, refer: Refer) -> None:
        self._rows, self._run, self._at, self._refer = rows, run, to_micros(now), refer
        self._root = refer(ensure_root(rows, run.root))
        others = {*run.gone, *run.returned, *run.doubtful, *run.marks, *(each.memory_id for each in run.handed_over)}
        groups, found = rows.ask(
            Tally(VERIFIED, ("root", "scope"), (), (("id", "in", run.verified),)),
            Show(VERIFIED, (("id", "in", others),)),
        )
        if sum(count for _, _, count in groups) < len(run.verified):
            raise file_removed_meanwhile(run.root)
        self._groups = {(root, scope) for root, scope, _ in groups}
        self._files = {row["id"]: row for row in found}

    def write(self) -> None:
        self._verify()
        self._mark()
        self._skip()
        self._hand_over()
        self._rows.set(CodeRootRow, ("path", "=", self._run.root), total_files=self._run.total_files)

    def _live(self, ids: Iterable[str]) -> list[dict[str, Any]]:
        return [self._files[uid] for uid in ids if uid in self._files]

    def _found(self, ids: Collection[str]) -> list[dict[str, Any]]:
        (found,) = self._rows.ask(Show(VERIFIED, (("id", "in", ids),)))
        return found

    def _verify(self) -> None:
        """Mark the scope as verified; files that were doubted and then found in another scope belong to this one."""
        run, known = (
            self._run,
            self._rows.find(CodeScopeRow, ("root", "=", self._root), ("filters", "=", self._run.scope)),
        )
        if known:
            scope, before = known[0].key, known[0].verified_at
            self._rows.set(CodeScopeRow, ("key", "=", scope), runs=known[0].runs + 1, verified_at=self._at)
        else:
            scope, before = self._rows.add([CodeScopeRow(self._root, run.scope, 1, self._at, 0)])[0], None
        doubtful = {row["key"] for row in self._live(run.doubtful) if row["scope"] == scope}
        changed: dict[int, tuple[int | None, int | None]] = dict.fromkeys(doubtful, (None, before))
        for row in self._live(run.verified) if self._groups == {(run.root, scope)} else self._found(run.verified):
            if row["root"] == run.root and (row["scope"] != scope or row["key"] in doubtful):
                changed[row["key"]] = scope, None
        self._rows.change(CodeFileRow, ("scope", "verified_at"), changed)

    def _mark(self) -> None:
        """A file that has left was last seen by the run that verified it last."""
        seen = {row["key"]: (True, _seen(row)) for row in self._live(self._run.gone)}
        seen |= {row["key"]: (False, self._at) for row in self._live(self._run.returned)}
        self._rows.change(MemoryRow, ("stale", "last_seen_at"), seen)
        marks = {uid: (mark.stamp, mark.digest, mark.read_at_ns) for uid, mark in self._run.marks.items()}
        marked = {self._files[uid]["key"]: mark for uid, mark in marks.items() if uid in self._files}
        self._rows.change(CodeFileRow, ("stamp", "digest", "read_at_ns"), marked)

    def _skip(self) -> None:
        run = self._run
        self._rows.free(CodeSkipRow, ("root", "=", self._root), ("path", "in", run.forgotten_skips))
        marks = ((each, each.mark) for each in run.skips)
        skips = [
            CodeSkipRow(self._root, each.path, each.language, mark.stamp, mark.digest, mark.read_at_ns)
            for each, mark in marks
        ]
        self._rows.put(skips, replace=True)
        keep_listed(self._rows, run.listed, self._refer)

    def _hand_over(self) -> None:
        """The root that has a file now reads it anew: its names are other ones there."""
        handed = [(each, self._refer(ensure_root(self._rows, each.root))) for each in self._run.handed_over]
        moved = {self._files[h.memory_id]["key"]: (to, h.path, "") for h, to in handed if h.memory_id in self._files}
        self._rows.change(CodeFileRow, ("root", "path", "digest"), moved)
        for each, root in handed:
            self._rows.free(CodeSkipRow, ("root", "=", root), ("path", "=", each.path))


def _seen(file: dict[str, Any]) -> int | None:
    verified = file["verified"] if file["run_verified"] is None else file["run_verified"]
    return max(filter(None, (file["last_seen_at"], verified)), default=None)


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
