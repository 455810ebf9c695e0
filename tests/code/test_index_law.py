"""The law: whatever happened to a folder, its index is what a new index of it would be.

Steps are done to a real git repository; after every run that came to its end the workspace is held against
a new one, and after every run that did not, each file must be whole in its old or its new form.
"""

import os
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memsweep.code import index
from memsweep.code.request import make_scope
from memsweep.code.sandbox import Sandbox
from memsweep.code.walk import walk
from tests.code.indexed_workspace import Crash, File, IndexedWorkspace, file_of, files, live, problems
from tests.code.trees import git
from tests.support.counts import rounds

PATHS = ("a.py", "b.py", "sub/c.py", "sub/deep/d.md", "tests/test_e.py", "f.txt", "run", "g\\h é.go")
BLOCKS = (
    "def alpha(x):\n    return beta(x) + 1\n",
    "def beta(x):\n    return x * 2\n",
    "import os\nfrom sub import c\n",
    "class Gamma(Base):\n    def run(self):\n        return alpha(3)\n",
    "class Delta(Gamma):\n    size = 1\n\n    def run(self):\n        return beta(4)\n",
    "# Heading\n\nSome words about the thing.\n",
    "#!/usr/bin/env python3\nprint(1)\n",
    "func Main() int { return 1 }\n",
    "a plain line, long enough to be cut into pieces because the limit of a piece is low in this test\n",
    "\n",
    "\n\n\n",
    "}\n",
    "x = 1",
    "# été 日本\r\n",
)
FILTERS: tuple[dict[str, Any], ...] = (
    {},
    {},
    {"languages": ["python"]},
    {"languages": ["markdown", "text", "go"]},
    {"recursive": False},
    {"include_tests": False},
    {"max_file_size": 90},
)

path = st.sampled_from(PATHS)
content = st.lists(st.sampled_from(BLOCKS), min_size=1, max_size=5).map("".join)
filters = st.sampled_from(FILTERS)
change = st.one_of(
    st.tuples(st.just("write"), path, content),
    st.tuples(st.just("write"), path, content),
    st.tuples(st.just("add"), path, st.sampled_from(BLOCKS)),
    st.tuples(st.sampled_from(("delete", "empty", "binary", "touch")), path),
    st.tuples(st.sampled_from(("move", "move", "copy", "swap")), path, path),
    st.tuples(st.just("rotate"), path, path, path),
    st.tuples(st.just("ignore"), st.sampled_from(("", "*.py\n", "sub/\n", "*.txt\n!f.txt\n"))),
    st.tuples(st.just("commit")),
    st.tuples(st.sampled_from(("checkout", "revert")), st.integers(0, 5)),
)
run = st.one_of(
    st.tuples(st.just("index"), filters),
    st.tuples(st.just("index"), filters),
    st.tuples(st.just("crash"), filters, st.sampled_from(("embed", "write")), st.integers(1, 4)),
    st.tuples(st.just("prune"), st.sampled_from(("stale_code", "all"))),
)
steps = st.lists(st.tuples(st.lists(change, min_size=1, max_size=4), run), min_size=1, max_size=5)


class FollowedRepository:
    """A repository, a workspace that follows it, and what is done to both."""

    def __init__(self, workspace: IndexedWorkspace, root: Path) -> None:
        self.app, self.embedder, self.memory, self.root = workspace.app, workspace.embedder, workspace.memory, root
        self.fresh_names = (f"fresh-{number}" for number in count())
        self.commits: list[str] = []
        git(root, "init", "-q", "-b", "main")
        (root / "kept.md").write_text("# Kept\n\nSo that the folder is never empty.\n")
        self.commit()
        self.index({})

    def do(self, step: tuple[Any, ...]) -> None:
        getattr(self, step[0])(*step[1:])

    # what people do to a folder

    def write(self, name: str, text: str) -> None:
        self.put(name, text.encode())

    def put(self, name: str, data: bytes) -> None:
        place = self.root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)

    def data(self, name: str) -> bytes | None:
        place = self.root / name
        return place.read_bytes() if place.is_file() else None

    def add(self, name: str, text: str) -> None:
        self.put(name, (self.data(name) or b"") + text.encode())

    def delete(self, name: str) -> None:
        (self.root / name).unlink(missing_ok=True)

    def empty(self, name: str) -> None:
        self.put(name, b"")

    def binary(self, name: str) -> None:
        self.put(name, b"\x7fELF\0\0" + name.encode())

    def touch(self, name: str) -> None:
        if self.data(name) is not None:
            os.utime(self.root / name, ns=(1_700_000_000_000_000_001,) * 2)

    def move(self, old: str, new: str) -> None:
        if self.data(old) is not None:
            (self.root / new).parent.mkdir(parents=True, exist_ok=True)
            (self.root / old).replace(self.root / new)

    def copy(self, old: str, new: str) -> None:
        data = self.data(old)
        if data is not None:
            self.put(new, data)

    def swap(self, one: str, other: str) -> None:
        self.rotate(one, other, one)

    def rotate(self, *names: str) -> None:
        """Each file takes the place of the next."""
        data = [self.data(name) for name in names]
        for name, taken in zip(names, (data[-1], *data[:-1]), strict=True):
            if taken is None:
                self.delete(name)
            else:
                self.put(name, taken)

    def ignore(self, rules: str) -> None:
        (self.root / ".gitignore").write_text(rules)

    def commit(self) -> None:
        git(self.root, "add", "-A")
        git(self.root, "commit", "-q", "--allow-empty", "-m", "step")
        self.commits.append(git(self.root, "rev-parse", "HEAD").strip())

    def checkout(self, number: int) -> None:
        git(self.root, "checkout", "-q", "-f", self.commits[number % len(self.commits)])

    def revert(self, number: int) -> None:
        git(self.root, "checkout", "-q", self.commits[number % len(self.commits)], "--", ".")

    # what memsweep does

    def prune(self, strategy: str) -> None:
        self.memory.sweep.prune(strategy, confirm=True, allow_large=True)
        assert [file.path for file in self.known() if file.stale] == []

    def index(self, chosen: dict[str, Any]) -> int:
        """A whole run, held against a new index; how many pieces were embedded."""
        before = self.known() if self.memory.workspace_id in {each.id for each in self.app.workspaces()} else []
        self.embedder.forget()
        result = self.memory.code.index(self.root, **chosen)
        embedded = len(self.embedder.texts)
        after, fresh = self.known(), self.new_index(chosen)
        self.check_content(chosen, after, fresh)
        self.check_staleness(chosen, before, after, fresh)
        check_chunks(before, after, embedded)
        assert result.chunks_embedded == embedded
        assert result.stale_memories == sum(file.stale for file in after)
        assert min(result.files_indexed, result.files_moved, result.files_removed) >= 0
        return result.chunks_embedded

    def crash(self, chosen: dict[str, Any], where: str, number: int) -> None:
        before = self.known()
        self.embedder.forget()
        reports = count(1)

        def progress(done: int, total: int) -> None:
            if where == "write" and next(reports) == number:
                raise Crash

        self.embedder.fails_at = number if where == "embed" else 0
        try:
            self.memory.code.index(self.root, progress=progress, **chosen)
        except Crash:
            self.check_crashed(before, self.new_index(chosen))

    def known(self) -> list[File]:
        return files(file_of(self.memory), self.root)

    def new_index(self, chosen: dict[str, Any]) -> dict[str, File]:
        self.embedder.forget()
        other = self.app.memory(next(self.fresh_names))
        other.code.index(self.root, **chosen)
        return live(file_of(other), self.root)

    # what must hold

    def check_content(self, chosen: dict[str, Any], after: list[File], fresh: dict[str, File]) -> None:
        covered = [file.content for file in after if not file.stale and self.covers(chosen, file)]
        assert covered == [file.content for file in fresh.values()]

    def check_staleness(
        self, chosen: dict[str, Any], before: list[File], after: list[File], fresh: dict[str, File]
    ) -> None:
        was, now = ({file.id: file for file in each} for each in (before, after))
        assert was.keys() <= now.keys(), "a memory was lost"
        for file in after:
            if self.covers(chosen, file):
                assert file.stale == (file.path not in fresh), file.path
            elif make_scope(str(self.root), **chosen).covers(file.path, file.language, file.size):
                assert file.stale, f"{file.path} has outgrown the filters, and still looks fresh"
                assert was[file.id].content == file.content
            else:
                assert was[file.id] == file, f"{file.path} is not covered and was touched"
        for key in was:
            if now[key].path != was[key].path:
                assert self.covers(chosen, was[key])
                assert was[key].path not in walk(make_scope(str(self.root))).present
                assert now[key].content["text"] == was[key].content["text"]
        assert len({(file.path, file.stale) for file in after}) == len(after), "two memories of one file"

    def check_crashed(self, before: list[File], fresh: dict[str, File]) -> None:
        old = {file.id: file for file in before}
        for file in self.known():
            whole = [fresh[file.path].content] if file.path in fresh else []
            if file.id in old:
                whole.append(old[file.id].content)
                assert file.stale == old[file.id].stale, f"the staleness of {file.path} has changed"
            assert file.content in whole, f"{file.path} is in neither its old nor its new form"

    def covers(self, chosen: dict[str, Any], file: File) -> bool:
        scope = make_scope(str(self.root), **chosen)
        present = walk(scope).present.get(file.path)
        if present is None:
            return scope.covers(file.path, file.language, file.size)
        return scope.covers(file.path, present.language or file.language, present.stamp.size)


def check_chunks(before: list[File], after: list[File], embedded: int) -> None:
    """A piece that a file still has keeps its id, and only pieces that are new to their file are embedded."""
    old = {file.id: file for file in before}
    new_pieces = 0
    for file in after:
        had = Counter(old[file.id].hashes) if file.id in old else Counter()
        new_pieces += len(set(file.hashes) - set(had))
        if file.id in old:
            kept = set(old[file.id].chunk_ids) & set(file.chunk_ids)
            assert len(kept) == (had & Counter(file.hashes)).total(), f"a piece of {file.path} was made anew"
    assert embedded <= new_pieces


@pytest.fixture(scope="module")
def small_batches() -> Iterator[None]:
    """A transaction for each file, so that a run has many."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index, "_BATCH_CHUNKS", 1)
        yield


@contextmanager
def new_repository(sandbox: Sandbox) -> Iterator[FollowedRepository]:
    with tempfile.TemporaryDirectory(prefix="memsweep-law-") as folder:
        root = Path(folder, "root")
        root.mkdir()
        small_pieces = {"MEMSWEEP_CHUNKING_SIZE": "16", "MEMSWEEP_CHUNKING_OVERLAP": "0"}
        with IndexedWorkspace(Path(folder, "home"), sandbox, **small_pieces) as workspace:
            yield FollowedRepository(workspace, root)


@pytest.mark.soak
@settings(max_examples=rounds(8, 30))
@given(steps=steps)
@example(steps=[([("write", "a.py", BLOCKS[0])], ("index", {})), ([("empty", "a.py")], ("crash", {}, "write", 1))])
def test_after_any_history_the_index_is_that_of_a_new_workspace(
    sandbox: Sandbox, unsynced: None, small_batches: None, steps: list[Any]
) -> None:
    with new_repository(sandbox) as followed:
        for changes, run in steps:
            for step in changes:
                followed.do(step)
            followed.do(run)
        followed.index({})
        assert followed.index({}) == 0
        assert problems(file_of(followed.memory)) == []
