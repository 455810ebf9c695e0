"""Git's list and our own walk give the same names."""

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memsweep.code.gitindex import Tracked, read_tracked
from memsweep.code.listing import list_by_walking, list_files, list_with_git, work_tree_of
from memsweep.project.worktree import find_work_tree
from tests.code.trees import git, grow, names, repository
from tests.support.counts import rounds

NOTHING = frozenset[str]()


def both_ways(root: Path) -> tuple[set[str], set[str]]:
    """Names of files that exist, by git and by walking."""
    by_git = list_with_git(str(root), find_work_tree(str(root)))
    assert by_git is not None
    tree = work_tree_of(str(root))
    walked = list_by_walking(str(root), tree, NOTHING)
    assert walked.unreadable_folders == {}
    return _existing(root, map(os.fsdecode, by_git)), _existing(root, walked.names)


def _existing(root, found):
    return {name for name in found if (root / name).is_file() and not (root / name).is_symlink()}


TRICKY = {
    ".gitignore": "*.log\nbuild/\n!keep.log\n/only_top\ndoc/**/gen\n\\#hash\n\\!bang\nspace\\ \ntrail  \na/*\n!a/b\n",
    "x.log": "",
    "keep.log": "",
    "build/out.py": "",
    "src/build": "",
    "only_top": "",
    "sub/only_top": "",
    "doc/gen": "",
    "doc/a/b/gen": "",
    "#hash": "",
    "!bang": "",
    "space ": "",
    "trail": "",
    "a/b": "",
    "a/c": "",
    "sub/.gitignore": b"\xef\xbb\xbf*.tmp\r\n!x.log\r\n",
    "sub/y.tmp": "",
    "sub/x.log": "",
    "sub/deep/y.tmp": "",
    "sub/deep/.gitignore": "!y.tmp\n",
    "back\\slash.py": "",
    "new\nline.py": "",
    "grün/ünï.py": "",
    'quote".py': "",
    " lead": "",
}


def test_git_and_walking_agree_on_a_tricky_tree(tmp_path):
    root = repository(tmp_path / "r", TRICKY)
    (root / ".git/info/exclude").write_text("/secret_notes\n")
    grow(root, {"secret_notes": "", "sub/secret_notes": ""})
    by_git, walked = both_ways(root)
    assert walked == by_git
    assert "sub/secret_notes" in walked
    assert not {"secret_notes", "x.log", "doc/a/b/gen", "space "} & walked


def test_git_and_walking_agree_on_tracked_files_that_are_ignored(tmp_path):
    root = repository(tmp_path / "r", {".gitignore": "*.gen\nout/\n", "a.gen": "", "b.gen": "", "out/c.py": ""})
    git(root, "add", "-f", "a.gen", "out/c.py")
    by_git, walked = both_ways(root)
    assert walked == by_git == {".gitignore", "a.gen", "out/c.py"}


@pytest.mark.parametrize("version", ["2", "3", "4"])
def test_the_names_in_every_version_of_the_index_are_read(tmp_path, version):
    files = {f"folder/{'x' * n}.py": "" for n in range(1, 30)} | {"grün": "", "later": ""}
    root = repository(tmp_path / "r", files)
    git(root, "add", ".", ":!later")
    git(root, "add", "-N", "later")  # an extended flag, which needs version 3
    git(root, "update-index", "--index-version", version)
    assert read_tracked(root / ".git/index").names == {name.encode() for name in files}


@pytest.mark.parametrize("content", [b"", b"DIRC", b"DIRC\0\0\0\x09\0\0\0\x01", b"junk" * 30])
def test_an_index_that_cannot_be_read_tells_no_names(tmp_path, content):
    (tmp_path / "index").write_bytes(content)
    assert read_tracked(tmp_path / "index") == Tracked(unknown_below=(b"",))


def test_git_and_walking_agree_below_the_top_of_a_work_tree(tmp_path):
    top = repository(tmp_path / "r", {".gitignore": "*.log\n/pkg/gen/\n", "pkg/.gitignore": "local\n"})
    grow(
        top,
        {"pkg/sub/a.py": "", "pkg/sub/b.log": "", "pkg/gen/c.py": "", "pkg/local": "", "pkg/sub/local": ""},
    )
    for root in (top / "pkg", top / "pkg/sub"):
        by_git, walked = both_ways(root)
        assert walked == by_git
    assert names(top / "pkg") == {".gitignore", "sub/a.py"}


def test_git_and_walking_agree_in_a_linked_work_tree(tmp_path):
    main = repository(tmp_path / "main", {"a.py": ""})
    git(main, "add", ".")
    git(main, "commit", "-qm", "a")
    (main / ".git/info/exclude").write_text("*.local\n")
    git(main, "worktree", "add", "-q", str(tmp_path / "linked"))
    grow(tmp_path / "linked", {"b.py": "", "c.local": ""})
    by_git, walked = both_ways(tmp_path / "linked")
    assert walked == by_git == {"a.py", "b.py"}


def test_a_repository_inside_another_is_a_world_of_its_own(tmp_path):
    outer = repository(tmp_path / "outer", {"a.py": "", "lib/b.py": ""})
    inner = repository(outer / "lib/inner", {"c.py": "", ".gitignore": "*.tmp\n", "d.tmp": ""})
    assert names(outer) == {"a.py", "lib/b.py"}
    assert names(inner) == {".gitignore", "c.py"}
    assert list_by_walking(str(outer), work_tree_of(str(outer)), NOTHING).names == ["a.py", "lib/b.py"]


def test_a_submodule_is_a_world_of_its_own(tmp_path):
    library = repository(tmp_path / "library", {"l.py": ""})
    git(library, "add", ".")
    git(library, "commit", "-qm", "l")
    outer = repository(tmp_path / "outer", {"a.py": ""})
    git(outer, "submodule", "--quiet", "add", str(library), "dep")
    assert names(outer) == {".gitmodules", "a.py"}
    assert names(outer / "dep") == {"l.py"}


def test_files_tracked_before_an_inner_repository_was_made_belong_to_it_now(tmp_path):
    outer = repository(tmp_path / "outer", {"a.py": "", "in/b.py": ""})
    git(outer, "add", ".")
    repository(outer / "in", {})
    assert names(outer) == {"a.py"}
    assert names(outer / "in") == {"b.py"}


def test_a_plain_folder_lists_what_its_repositories_would(tmp_path):
    plain = grow(tmp_path / "plain", {"note.md": "", ".gitignore": "*.bak\n", "x.bak": ""})
    one = repository(plain / "one", {"a.py": "", ".gitignore": "*.log\n", "b.log": "", "c.bak": "", "t.log": ""})
    git(one, "add", "-f", "t.log")
    repository(plain / "one/deep/two", {"c.py": ""})
    expected = {"note.md", ".gitignore", "one/a.py", "one/.gitignore", "one/c.bak", "one/t.log"}
    assert names(plain) == expected


def test_a_root_that_its_repository_ignores_was_asked_for_and_is_listed(tmp_path):
    home = repository(tmp_path / "home", {".gitignore": "*\n", "project/a.py": "", "project/sub/b.py": ""})
    assert names(home / "project") == {"a.py", "sub/b.py"}
    assert names(home / "project/sub") == {"b.py"}


def test_personal_settings_and_variables_of_git_do_not_decide(tmp_path, monkeypatch):
    root = repository(tmp_path / "r", {"a.py": "", "b.py": ""})
    (tmp_path / "ignore").write_text("b.py\n")
    git(root, "config", "core.excludesFile", str(tmp_path / "ignore"))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "nowhere"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "other"))
    assert names(root) == {"a.py", "b.py"}


def test_a_repository_cannot_make_its_indexer_run_something(tmp_path):
    root = repository(tmp_path / "r", {"a.py": ""})
    hook = grow(tmp_path, {"evil": f"#!/bin/sh\ntouch {tmp_path}/ran\n"}) / "evil"
    hook.chmod(0o755)
    git(root, "config", "core.fsmonitor", str(hook))
    assert names(root) == {"a.py"}
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("git_file", ["", "nonsense", "gitdir: nowhere", "gitdir:"])
def test_a_broken_git_file_is_no_repository(tmp_path, git_file):
    grow(tmp_path, {".git": git_file, "a.py": ""})
    assert find_work_tree(str(tmp_path)) is None
    assert names(tmp_path) == {"a.py"}


def test_without_git_the_answer_is_the_same(tmp_path, monkeypatch):
    root = repository(tmp_path / "r", {".gitignore": "*.log\n", "a.py": "", "b.log": "", "t.log": ""})
    git(root, "add", "-f", "t.log")
    with_git = set(list_files(str(root), NOTHING).names)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert shutil.which("git") is None
    assert set(list_files(str(root), NOTHING).names) == with_git == {".gitignore", "a.py", "t.log"}


_part = st.sampled_from(["a", "b", "c.log", "d e", "build", "[x]", "ä"])
_path = st.lists(_part, min_size=1, max_size=4).map("/".join)
_glob = st.one_of(
    st.sampled_from(["a", "b", "*.log", "build", "*", "**", "***", "?", "??", "d e", "d\\ e", "ä", "c*", "c.*g"]),
    st.sampled_from(["[a-c]", "[!a]", "[^b]*", "\\[x\\]", "[[:alpha:]]", "[]x]*", "[[]x]", "[x[]", "[a-", "[a"]),
    st.sampled_from(["a**", "**b", "b\\", "\\a", "a ", "b\\ "]),
)
_pattern = st.builds(
    lambda negate, lead, parts, trail: f"{negate}{lead}{'/'.join(parts)}{trail}",
    st.sampled_from(["", "", "!"]),
    st.sampled_from(["", "", "/", "**/"]),
    st.lists(_glob, min_size=1, max_size=3),
    st.sampled_from(["", "", "/", "/**"]),
)
_ignore = st.lists(_pattern, min_size=1, max_size=5).map("\n".join)


@settings(max_examples=rounds(12, 60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    files=st.sets(_path, min_size=1, max_size=12),
    ignores=st.dictionaries(st.sampled_from(["", "a/", "build/", "a/b/"]), _ignore, min_size=1, max_size=3),
    tracked=st.sets(st.integers(0, 11), max_size=3),
)
def test_git_and_walking_agree_on_any_tree_and_any_rules(files, ignores, tracked):
    with tempfile.TemporaryDirectory() as folder:
        root = repository(Path(folder).resolve(), {})
        for name in sorted(files):
            _try_to_write(root / name)
        for base, content in ignores.items():
            if (root / base).is_dir():
                (root / base / ".gitignore").write_text(content, "utf-8")
        for at in sorted(tracked & set(range(len(files)))):
            if (root / sorted(files)[at]).is_file():
                git(root, "add", "-f", "--", sorted(files)[at])
        by_git, walked = both_ways(root)
        assert walked == by_git


def _try_to_write(place: Path) -> None:
    """Names may collide with folders of other names; those are left out."""
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("x")
    except (FileExistsError, NotADirectoryError, IsADirectoryError):
        pass
