"""What the tests of the index share: an embedder that counts, and a look at what a workspace knows of a folder."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from memsweep.app import Memory, make_app
from memsweep.code.sandbox import Sandbox
from memsweep.model.code import IndexResult
from memsweep.model.memory import EmbeddingModel
from memsweep.settings import load_settings
from tests.support import store_files
from tests.support.inside import app_of

DIMENSION = 8


class CountingEmbedder:
    """Implements the protocol; the text alone decides the vector. `fails_at` is the call that raises."""

    model = EmbeddingModel("counting", DIMENSION)

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.calls = 0
        self.fails_at = 0
        self.before: Callable[[], None] = lambda: None

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        self.before()
        self.calls += 1
        if self.calls == self.fails_at:
            raise Crash
        self.texts += texts
        return np.array([self._row(text) for text in texts], np.float32).reshape(len(texts), DIMENSION)

    def forget(self) -> None:
        self.texts, self.calls, self.fails_at = [], 0, 0

    def _row(self, text: str) -> list[float]:
        return [byte - 127.5 for byte in hashlib.sha256(text.encode()).digest()[:DIMENSION]]


class Crash(BaseException):
    """Stands for whatever ends a run half way; nothing in the product catches it."""


@dataclass(frozen=True)
class File:
    """A code memory as it is kept; ids apart from content, so that content can be compared across workspaces."""

    id: str
    path: str
    stale: bool
    language: str
    size: int
    tags: str
    pinned: bool
    version: int
    chunk_ids: tuple[str, ...]
    hashes: tuple[bytes, ...]
    content: dict[str, Any] = field(hash=False)


_FILES = """
    select memory.id, uid, code_file.path, stale, language, cast(stamp as integer), tags, pinned, version, text, lines,
           functions, classes, encoding, failure
    from code_file join memory on memory.id = code_file.memory join code_root on code_root.id = code_file.root
    where memory.trash is null and code_root.path = ? order by code_file.path, stale"""
_CHUNKS = """
    select uid, hash, text, first_line, last_line, symbol, symbol_kind, words, data from chunk
    left join vector on vector.chunk = chunk.id
    where memory = ? and trash is null order by position"""
_MENTIONS = """
    select position, name, type from live_mention as mention
    join live_entity as entity on entity.id = mention.entity join chunk on chunk.id = mention.chunk
    where chunk.memory = ? order by 1, 2, 3"""
_RELATIONS = """
    select subject.name, subject.type, relation.relation, object.name, object.type
    from relation_source join live_relation as relation on relation.id = relation_source.relation
    join live_entity as subject on subject.id = subject join live_entity as object on object.id = object
    where relation_source.memory = ? order by 1, 2, 3, 4, 5"""


def files(place: Path, root: Path) -> list[File]:
    """Everything that a workspace file knows of a root, stale files too."""
    with store_files.open_file(place) as db:
        return [_file(db, *row) for row in db.execute(_FILES, (os.path.realpath(root),)).fetchall()]


def _file(db: Any, key: int, uid: str, path: str, stale: int, language: str, size: int, *rest: Any) -> File:
    tags, pinned, version, text, *counts = rest
    chunks = db.execute(_CHUNKS, (key,)).fetchall()
    content = {
        "path": path,
        "language": language,
        "text": text,
        "counts": counts,
        "chunks": [chunk[2:] for chunk in chunks],
        "mentions": db.execute(_MENTIONS, (key,)).fetchall(),
        "relations": db.execute(_RELATIONS, (key,)).fetchall(),
    }
    ids, hashes = tuple(chunk[0] for chunk in chunks), tuple(chunk[1] for chunk in chunks)
    return File(uid, path, bool(stale), language, size, tags, bool(pinned), version, ids, hashes, content)


def live(place: Path, root: Path) -> dict[str, File]:
    """The fresh files by path; two at one path would be a fault."""
    found = [file for file in files(place, root) if not file.stale]
    assert [path for path, times in Counter(file.path for file in found).items() if times > 1] == []
    return {file.path: file for file in found}


def stale(place: Path, root: Path) -> set[str]:
    return {file.path for file in files(place, root) if file.stale}


CONTENT_TABLES = (
    "memory", "memory_tag", "chunk", "vector", "entity", "relation", "mention", "relation_source", "code_file",
    "code_skip", "code_root", "name_seen", "chunk_fts_data", "chunk_fts_docsize",
)  # fmt: skip


def content_tables(place: Path) -> dict[str, list[Any]]:
    """Every row of content, byte for byte. What only says when a scope was last looked at is no content."""
    return {table: store_files.query(place, f"select * from {table}") for table in CONTENT_TABLES}


def skipped(workspace: IndexedWorkspace) -> dict[str, str]:
    """The files without text, with what they were known by."""
    return {row["path"]: row["stamp"] for row in store_files.rows_in(workspace.file)["code_skip"]}


def problems(place: Path) -> list[str]:
    """As `store_files.problems`; but two files with the same text are two memories."""
    return [each for each in store_files.problems(place) if not each.startswith("the same text twice")]


def file_of(memory: Memory) -> Path:
    return store_files.file_of(app_of(memory).settings.home, memory.workspace_id)


class IndexedWorkspace:
    """One workspace with a counting embedder, and looks into it."""

    def __init__(self, home: Path, sandbox: Sandbox, **settings: str) -> None:
        self.app = make_app(load_settings({"MEMSWEEP_HOME": str(home), **settings}))
        self.embedder = CountingEmbedder()
        # Parts that are made when they are first used are there already: one that counts, and one that others share.
        self.app.__dict__ |= {"embedder": self.embedder, "sandbox": sandbox}
        self.memory = self.app.memory()

    def index(self, root: Path | str, **options: Any) -> IndexResult:
        """One run; the embedder remembers the texts of this one only."""
        self.embedder.forget()
        return self.memory.code.index(root, **options)

    @property
    def file(self) -> Path:
        return file_of(self.memory)

    def live(self, root: Path) -> dict[str, File]:
        return live(self.file, root)

    def stale(self, root: Path) -> set[str]:
        return stale(self.file, root)

    def content(self, root: Path) -> list[dict[str, Any]]:
        """What is live, without ids: to be held against another workspace."""
        return [file.content for file in self.live(root).values()]

    def anew(self, root: Path, **options: Any) -> list[dict[str, Any]]:
        """What a new workspace would know of the same folder."""
        other = self.app.memory(f"anew-{len(self.app.workspaces())}")
        self.embedder.forget()
        other.code.index(root, **options)
        return [file.content for file in live(file_of(other), root).values()]

    def hits(self, query: str, **filters: Any) -> list[Any]:
        return [hit.passage for hit in self.memory.search(query, limit=50, filters=filters).hits]

    def __enter__(self) -> IndexedWorkspace:
        return self

    def __exit__(self, *_: object) -> None:
        del self.app.__dict__["sandbox"]  # so that it is not closed
        self.app.close()
