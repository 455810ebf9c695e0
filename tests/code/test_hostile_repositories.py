"""Indexing, watching and hooks run nobody's commands, read nothing outside of the root, and do not hang."""

import os
import shutil
import threading
from pathlib import Path

import pytest

from memsweep.code import gitcommand
from memsweep.code.hooks import HOOKS, find_hooks
from memsweep.code.listing import list_files
from memsweep.code.watch import watch
from memsweep.errors import BadInput
from tests.code.gitindexes import write_index
from tests.code.hostile import FILES, TRAPS, committed, program, spring
from tests.code.indexed_workspace import IndexedWorkspace
from tests.code.test_watch import watching
from tests.code.trees import git, grow, names, repository
from tests.support.commands import memsweep

pytestmark = pytest.mark.slow  # a table of many, each with processes of its own

ALL = set(FILES)
REAL_GIT = shutil.which("git") or "git"


@pytest.mark.parametrize("name", TRAPS)
def test_nothing_that_a_repository_names_is_run(workspace: IndexedWorkspace, tmp_path: Path, name: str) -> None:
    evil, marker = program(tmp_path)
    trap = TRAPS[name]
    spring(trap, trap.build(tmp_path / "shown", evil))
    assert marker.exists(), "this is no trap"
    marker.unlink()

    root = trap.build(tmp_path / "indexed", evil)
    assert workspace.index(root).files_indexed > 0
    assert set(workspace.live(root)) >= ALL
    next(watch(str(root), lambda: workspace.index(root), threading.Event(), tmp_path))
    assert not marker.exists()


@pytest.mark.parametrize("name", TRAPS)
def test_hooks_come_and_go_and_nothing_that_the_repository_names_is_run(tmp_path: Path, name: str) -> None:
    evil, marker = program(tmp_path)
    root = TRAPS[name].build(tmp_path / "indexed", evil)
    hooks = find_hooks(str(root))
    assert set(hooks.status().values()) == {"absent"}
    assert hooks.install("") == list(HOOKS)
    assert hooks.remove() == list(HOOKS)
    assert not marker.exists()


@pytest.mark.parametrize("name", ["lazy fetch", "lazy fetch in an embedded bare repository"])
def test_the_commands_of_a_user_run_nothing_either(home: Path, tmp_path: Path, name: str) -> None:
    evil, marker = program(tmp_path)
    root = TRAPS[name].build(tmp_path, evil)
    assert memsweep("index", str(root), home=home).status == 0
    with watching(home, str(root)) as watcher:
        watcher.refreshed()
    for command in ("install", "status", "remove"):
        assert memsweep("hooks", command, str(root), home=home).status == 0
    assert not marker.exists()


# which git is asked, and what


def put_git(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A git before the real one, which notes how it is called; returns the notes."""
    notes = folder / "calls"
    body = f'#!/bin/sh\necho "$PWD $*" >>"{notes}"\n{script}\nexec "{REAL_GIT}" "$@"\n'
    grow(folder, {"bin/git": body})
    (folder / "bin/git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}/bin{os.pathsep}{os.environ['PATH']}")
    return notes


def says(version: str) -> str:
    return f'[ "$1" = --version ] && echo "git version {version}" && exit'


SWITCHES = {
    "a newer git": says("2.50.1"),
    "no lazy fetching alone": "unset GIT_ALLOW_PROTOCOL",
    "no protocol alone": f"{says('2.50.1')}\nunset GIT_NO_LAZY_FETCH",
}


@pytest.mark.parametrize("name", [name for name in TRAPS if name.startswith("lazy fetch")])
@pytest.mark.parametrize("switch", SWITCHES)
def test_each_switch_keeps_git_from_fetching(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, switch: str
) -> None:
    evil, marker = program(tmp_path)
    root = TRAPS[name].build(tmp_path, evil)
    notes = put_git(tmp_path / "newer", SWITCHES[switch], monkeypatch)
    assert names(root) >= ALL
    assert "ls-files" in notes.read_text()
    assert not marker.exists()


@pytest.mark.parametrize("version", ["2.39.3", "2.38.1", "2.44.0", "1.9.1", "two", ""])
def test_a_git_that_is_too_old_is_not_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    evil, marker = program(tmp_path)
    root = TRAPS["lazy fetch"].build(tmp_path, evil)
    notes = put_git(tmp_path / "old", says(version), monkeypatch)
    assert names(root) == ALL
    assert names(root) == ALL
    assert notes.read_text() == f"{tmp_path}/old/bin --version\n"  # once, and not in the repository
    assert find_hooks(str(root)).status()["post-commit"] == "absent"
    assert not marker.exists()


@pytest.mark.parametrize(
    "version", ["2.39.5", "2.40.2", "2.45.0", "2.53.0.windows.1", "2.39.5 (Apple Git-154)", "3.0.0"]
)
def test_a_git_that_knows_the_switches_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    root = committed(tmp_path)
    notes = put_git(tmp_path / "new", says(version), monkeypatch)
    assert names(root) == ALL
    assert [line.split()[1] for line in notes.read_text().splitlines()] == ["--version", "--no-pager"]


@pytest.mark.parametrize("entry", ["", ".", "tools", "ABSOLUTE", "LINKED"])
def test_a_repository_does_not_bring_its_own_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entry: str) -> None:
    evil, marker = program(tmp_path)
    root = committed(tmp_path)
    for place in ("git", "tools/git"):
        shutil.copy(evil, grow(root, {"tools/": ""}) / place)
    (tmp_path / "outside").symlink_to(root / "tools")
    entry = {"ABSOLUTE": f"{root}/tools", "LINKED": f"{tmp_path}/outside"}.get(entry, entry)
    monkeypatch.setenv("PATH", f"{entry}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(root)
    assert names(root) == {*ALL, "git", "tools/git"}
    assert find_hooks(str(root)).status()["post-commit"] == "absent"
    assert not marker.exists()


def test_what_a_person_has_configured_does_not_decide_what_is_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    evil, marker = program(tmp_path)
    grow(tmp_path, {".gitconfig": f"[core]\n\thooksPath = {tmp_path}/mine\n\tfsmonitor = {evil}\n"})
    monkeypatch.setenv("HOME", str(tmp_path))
    root = committed(tmp_path)
    assert names(root) == ALL
    assert find_hooks(str(root)).folder == tmp_path / "mine"  # but where their hooks are does
    assert not marker.exists()


# nothing outside of the root


@pytest.mark.parametrize("place", ["..", "../..", "/", "../../outside"])
def test_the_work_tree_is_the_folder_that_was_asked_for(tmp_path: Path, place: str) -> None:
    root = committed(tmp_path)
    grow(tmp_path, {"outside/c.py": "", "c.py": "", ".gitignore": "*.py\n"})
    git(root, "config", "core.worktree", place)
    assert names(root) == ALL
    assert names(root / "kept") == {"b.py"}
    if (root / ".git" / place).resolve() != root:
        with pytest.raises(BadInput, match=r"has its files in .*core\.worktree"):
            find_hooks(str(root))


OUTSIDE = [b"../secret.py", b"../../secret.py", b"kept/../../secret.py", b"/etc/hostname", b"//x", b".git/config"]


@pytest.mark.parametrize("way", ["by git", "by walking"])
def test_a_name_in_the_index_does_not_lead_out_of_the_root(
    workspace: IndexedWorkspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    root = repository(tmp_path / "repo", {**FILES, "x": "#!/usr/bin/python\n"})
    grow(tmp_path, {"secret.py": "def secret(): pass\n"})
    write_index(root / ".git/index", [*OUTSIDE, b".GIT/config", b"./a.py", b"kept//b.py", b"", b"a.py"])
    if way == "by walking":
        monkeypatch.setenv("PATH", str(tmp_path))
    listed = list_files(str(root), frozenset()).names
    assert set(listed) == {*ALL, "x"}
    workspace.index(root, languages=["python"])
    assert set(workspace.live(root)) == {*ALL, "x"}


# nothing that blocks or never ends


def put(place: Path, kind: str) -> None:
    """A pipe, a folder or a device where a file is expected."""
    place.parent.mkdir(parents=True, exist_ok=True)
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    place.unlink(missing_ok=True)
    match kind:
        case "pipe":
            os.mkfifo(place)
        case "folder":
            grow(place, {"in it": ""})
        case "device":
            place.symlink_to("/dev/zero")
        case "long":
            with place.open("wb") as file:
                file.truncate(3 * 1024**3)


@pytest.mark.parametrize("kind", ["pipe", "folder", "device", "long"])
@pytest.mark.parametrize(
    "name",
    [
        ".git",
        *(
            f".git/{name}"
            for name in ("HEAD", "config", "index", "commondir", "info/exclude", "objects/info/alternates")
        ),
    ],
)
def test_what_git_keeps_is_read_only_if_it_is_a_file_of_some_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, kind: str
) -> None:
    monkeypatch.setattr(gitcommand, "TIMEOUT_SECONDS", 2)
    root = committed(tmp_path)
    put(root / name, kind)
    # Rules that are too many to be read could hide anything; the rest hides nothing.
    assert names(root) >= (set() if (name, kind) == (".git/info/exclude", "long") else ALL)


@pytest.mark.parametrize("kind", ["pipe", "folder", "device"])
@pytest.mark.parametrize("name", [".gitignore", "kept/.gitignore", "c.py"])
def test_what_is_no_file_in_a_folder_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, kind: str
) -> None:
    """A pipe holds git up, which then is waited for no longer than it usually takes."""
    monkeypatch.setattr(gitcommand, "TIMEOUT_SECONDS", 10_000.0)
    monkeypatch.setattr(gitcommand, "USUAL_SECONDS", 0.2)
    root = committed(tmp_path)
    put(root / name, kind)
    assert names(root) == ALL | ({f"{name}/in it"} if kind == "folder" else set())


def test_a_pipe_above_the_root_holds_nothing_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gitcommand, "TIMEOUT_SECONDS", 10_000.0)
    monkeypatch.setattr(gitcommand, "USUAL_SECONDS", 0.2)
    root = committed(tmp_path)
    put(root / ".gitignore", "pipe")
    assert names(root / "kept") == {each.removeprefix("kept/") for each in ALL if each.startswith("kept/")}


@pytest.mark.parametrize("name", [".gitignore", "kept/.gitignore"])
def test_a_gitignore_without_an_end_leaves_its_folder_unread(tmp_path: Path, name: str) -> None:
    root = committed(tmp_path)
    put(root / name, "long")
    (root / ".git/index").write_bytes(b"junk")  # so that git does not answer
    assert names(root) == (set() if name == ".gitignore" else {"a.py"})


@pytest.mark.parametrize("target", ["/dev/zero", "pipe", "x" * 70_000, "\0", ""])
def test_a_git_file_may_point_anywhere(tmp_path: Path, target: str) -> None:
    root = grow(tmp_path / "repo", {**FILES, ".git": f"gitdir: {target}\n"})
    os.mkfifo(root / "pipe")
    assert names(root) == ALL
