"""What is read out of git's index, whoever wrote it."""

import struct
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsweep.code.gitindex import LIMIT_BYTES, Tracked, parse_index, read_tracked
from memsweep.code.listing import list_by_walking, list_with_git
from memsweep.code.request import make_scope
from memsweep.code.walk import walk
from memsweep.project.worktree import find_work_tree
from tests.code.gitindexes import entry, index_of, sealed
from tests.code.trees import git, grow, repository

UNKNOWN = Tracked(unknown_below=(b"",))
FILES: dict[str, str | bytes] = {
    ".gitignore": "*.gen\nout/\n",
    "a.py": "",
    "a.gen": "",
    "deep/b.gen": "",
    "out/c.py": "",
}
ALL = {name.encode() for name in FILES}


def tracked_repository(folder: Path, *init: str) -> Path:
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main", *init)
    grow(folder, FILES)
    git(folder, "add", "-f", ".")
    git(folder, "commit", "-qm", "all")
    return folder


def index_bytes(root: Path) -> bytes:
    return (root / ".git/index").read_bytes()


@pytest.mark.parametrize("version", ["2", "4"])
@pytest.mark.parametrize("hashes", ["sha1", "sha256"])
def test_the_names_are_read_whatever_names_the_objects(tmp_path: Path, hashes: str, version: str) -> None:
    root = tracked_repository(tmp_path / "r", f"--object-format={hashes}")
    git(root, "update-index", "--index-version", version)
    assert read_tracked(root / ".git/index") == Tracked(frozenset(ALL))


def test_where_there_is_no_index_nothing_is_tracked(tmp_path: Path) -> None:
    assert read_tracked(repository(tmp_path / "r", {}) / ".git/index") == Tracked()


# what an index does not tell is not taken for untracked


def test_a_split_index_leaves_ignored_files_in_doubt(tmp_path: Path) -> None:
    root = tracked_repository(tmp_path / "r")
    git(root, "update-index", "--split-index")
    grow(root, {"new.gen": "", "d.py": ""})
    git(root, "add", "-f", "new.gen")
    tree = find_work_tree(str(root))
    assert tree is not None
    by_git = list_with_git(str(root), tree)
    assert by_git is not None
    assert set(by_git) == ALL | {b"new.gen", b"d.py"}  # git can put it together
    listing = list_by_walking(str(root), tree, frozenset())
    assert set(listing.names) == {".gitignore", "a.py", "d.py", "new.gen"}
    assert (set(listing.doubtful), set(listing.unreadable_folders)) == ({"a.gen", "deep/b.gen", "new.gen"}, {"out"})


def test_a_sparse_index_leaves_what_is_ignored_in_its_folders_in_doubt(tmp_path: Path) -> None:
    root = tracked_repository(tmp_path / "r")
    git(root, "sparse-checkout", "set", "--cone", "--sparse-index", "out")
    grow(root, {"deep/b.gen": "", "deep/c.gen": "", "deep/d.py": "", "x.gen": ""})
    listing = list_by_walking(str(root), find_work_tree(str(root)), frozenset())
    assert set(listing.names) == {".gitignore", "a.py", "a.gen", "deep/d.py", "out/c.py"}
    assert (set(listing.doubtful), listing.unreadable_folders) == ({"deep/b.gen", "deep/c.gen"}, {})


@pytest.mark.parametrize("damage", [b"junk", b""])
def test_ignored_files_are_not_gone_because_the_index_is_damaged(tmp_path: Path, damage: bytes) -> None:
    root = tracked_repository(tmp_path / "r")
    (root / ".git/index").write_bytes(damage)
    (root / "a.py").unlink()
    seen = walk(make_scope(str(root)))
    states = {path: seen.state(path) for path in ("a.gen", "out/c.py", "a.py", "deep/none.gen")}
    assert states == {"a.gen": "unreadable", "out/c.py": "unreadable", "a.py": "absent", "deep/none.gen": "absent"}
    assert seen.unreadable == {}  # nobody needs to hear of every ignored file


# an index that was written to do harm


def version_4(*entries: tuple[bytes, bytes]) -> bytes:
    """(number of letters to drop, rest of the name)."""
    fixed = entry(b"")[:62]
    body = b"".join(fixed + drop + rest + b"\0" for drop, rest in entries)
    return sealed(struct.pack(">4sII", b"DIRC", 4, len(entries)) + body)


HARMFUL = {
    "four billion entries": index_of([entry(b"a")], count=2**32 - 1),
    "a name without an end": index_of([entry(b"a" * 100_000)]),
    "a number without an end": version_4((b"\xff" * 1_000_000, b"a")),
    "a name that begins before its beginning": version_4((b"\x00", b"abc"), (b"\x05", b"d")),
    "names that grow": version_4((b"\x00", b"a" * 4000), *[(b"\x00", b"a")] * 200_000),
    "a mode that is none": index_of([entry(b"a", 0o777)]),
    "an extension without an end": sealed(index_of([entry(b"a")])[:-20] + b"TREE" + b"\xff" * 4),
}


@pytest.mark.parametrize("name", HARMFUL)
def test_an_index_that_lies_tells_nothing(name: str) -> None:
    tracemalloc.start()
    try:
        assert parse_index(HARMFUL[name]) == UNKNOWN
        assert tracemalloc.get_traced_memory()[1] < 20 * len(HARMFUL[name]) + 1_000_000
    finally:
        tracemalloc.stop()


def test_an_index_of_any_size_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "index").open("wb") as file:
        file.write(index_of([entry(b"a")]))
        file.truncate(LIMIT_BYTES + 1)
    assert read_tracked(tmp_path / "index") == UNKNOWN


@pytest.fixture(scope="module")
def indexes(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    folder = tmp_path_factory.mktemp("indexes")
    found = []
    for version in ("2", "3", "4"):
        root = tracked_repository(folder / version)
        grow(root, {"later": ""})
        git(root, "add", "-N", "later")  # an extended flag, which needs version 3
        git(root, "update-index", "--index-version", version)
        found.append(index_bytes(root))
    git(root, "update-index", "--split-index")
    return [*found, index_bytes(root)]


@given(st.binary(max_size=300))
def test_any_bytes_are_met_with_an_answer(data: bytes) -> None:
    assert parse_index(data) == UNKNOWN or data.startswith(b"DIRC")
    assert isinstance(parse_index(b"DIRC\0\0\0\2\0\0\0\3" + data), Tracked)
    assert isinstance(parse_index(b"DIRC\0\0\0\4\0\0\0\3" + data), Tracked)


@given(st.data())
def test_a_changed_index_is_met_with_an_answer(indexes: list[bytes], data: st.DataObject) -> None:
    changed = bytearray(data.draw(st.sampled_from(indexes)))
    for at in data.draw(st.lists(st.integers(0, len(changed) - 1), min_size=1, max_size=8)):
        changed[at] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(changed)))
    for version in (bytes(changed), bytes(changed[:cut]), bytes(changed[cut:] + changed)):
        assert isinstance(parse_index(version), Tracked)
