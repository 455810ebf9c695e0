"""Repositories whose configuration, or what lies about in them, runs a program when git works in them.

Each trap says which ordinary git command sets it off, so that a test can show that it is a trap at all.
"""

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.code.trees import GIT_SETTINGS, git, grow, repository
from tests.support.waiting import PATIENCE

FILES: dict[str, str | bytes] = {"a.py": "def a(): pass\n", "kept/b.py": "def b(): pass\n"}
Build = Callable[[Path, str], Path]


@dataclass(frozen=True)
class Trap:
    build: Build
    """(folder, program) → what is indexed."""
    sprung_by: tuple[str, ...] = ("ls-files",)
    stdin: str = ""


def program(folder: Path, name: str = "evil") -> tuple[str, Path]:
    """A program, and the file that is there once it ran."""
    marker = folder / f"{name} ran"
    place = grow(folder, {name: f'#!/bin/sh\ntouch "{marker}"\nexit 1\n'}) / name
    place.chmod(0o755)
    return str(place), marker


def spring(trap: Trap, root: Path) -> None:
    """Let git do in it what it would do for a person who trusts it."""
    subprocess.run(
        ["git", *trap.sprung_by],
        cwd=root,
        env=os.environ | GIT_SETTINGS | {"GIT_TERMINAL_PROMPT": "0"},
        input=trap.stdin.encode(),
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )


def committed(folder: Path) -> Path:
    root = repository(folder / "repo", FILES)
    git(root, "add", ".")
    git(root, "commit", "-qm", "all")
    return root


def configured(*settings: str) -> Build:
    """`name=value`, with the program for `$`."""

    def build(folder: Path, evil: str) -> Path:
        root = committed(folder)
        (root / "a.py").write_text("def changed(): pass\n")
        for setting in settings:
            name, _, value = setting.partition("=")
            git(root, "config", name, value.replace("$", evil))
        return root

    return build


def with_attributes(attribute: str, *settings: str) -> Build:
    def build(folder: Path, evil: str) -> Path:
        root = configured(*settings)(folder, evil)
        (root / ".git/info/attributes").write_text(f"*.py {attribute}\n")
        return root

    return build


def lacking_a_tree(*settings: str) -> Build:
    """A sparse index names a tree that is not there: listing makes git fetch it from the remote."""

    def build(folder: Path, evil: str) -> Path:
        root = repository(folder / "repo", {**FILES, "left out/c.py": ""})
        git(root, "add", ".")
        git(root, "commit", "-qm", "all")
        git(root, "sparse-checkout", "set", "--cone", "--sparse-index", "kept")
        tree = git(root, "rev-parse", "HEAD:left out").strip()
        (root / f".git/objects/{tree[:2]}/{tree[2:]}").unlink()
        always = ("core.repositoryFormatVersion=1", "extensions.partialClone=origin", "remote.origin.promisor=true")
        for setting in (*always, f"remote.origin.url={folder}/nowhere", *settings):
            name, _, value = setting.partition("=")
            git(root, "config", name, value.replace("$", evil))
        return root

    return build


def embedded(folder: Path, evil: str) -> Path:
    """A plain clone with a folder of ordinary files that is a repository to whoever stands in it."""
    inner = lacking_a_tree("remote.origin.uploadpack=$", "core.worktree=.")(folder, evil)
    outer = repository(folder / "clone", {"x.py": ""})
    shutil.copytree(inner / ".git", outer / "sub")
    grow(outer / "sub", dict(FILES))
    git(outer, "add", "x.py")
    return outer / "sub"


def hooked(folder: Path, evil: str) -> Path:
    root = committed(folder)
    shutil.copy(evil, grow(root / ".git/hooks", {}) / "post-index-change")
    return root


def included(name: str) -> Build:
    def build(folder: Path, evil: str) -> Path:
        grow(folder, {"more": f"[core]\nfsmonitor = {evil}\n"})
        return configured(f"{name}={folder}/more")(folder, evil)

    return build


def elsewhere(folder: Path, evil: str) -> Path:
    """The `.git` folder is somewhere else; the caller says how it is found."""
    root = configured("core.fsmonitor=$")(folder, evil)
    (root / ".git").rename(folder / "store")
    return root


def linked(folder: Path, evil: str) -> Path:
    root = elsewhere(folder, evil)
    (root / ".git").symlink_to(folder / "store")
    return root


def gitfile(folder: Path, evil: str) -> Path:
    root = elsewhere(folder, evil)
    (root / ".git").write_text(f"gitdir: {folder}/store\n")
    return root


def submodule(folder: Path, evil: str) -> Path:
    library = repository(folder / "library", {"l.py": ""})
    git(library, "add", ".")
    git(library, "commit", "-qm", "l")
    root = committed(folder)
    git(root, "submodule", "--quiet", "add", str(library), "dep")
    git(root / "dep", "config", "core.fsmonitor", evil)
    return root


def fetched_submodule(folder: Path, evil: str) -> Path:
    root = submodule(folder, evil)
    git(root / "dep", "config", "--unset", "core.fsmonitor")
    git(root, "config", "-f", ".gitmodules", "submodule.dep.url", f"ext::{evil}")
    git(root, "config", "submodule.dep.url", f"ext::{evil}")
    shutil.rmtree(root / "dep")
    shutil.rmtree(root / ".git/modules")
    return root


def borrowed(folder: Path, evil: str) -> Path:
    """Objects of another repository, whose refs are asked for by a command."""
    other = repository(folder / "other", {"o.py": ""})
    git(other, "add", ".")
    git(other, "commit", "-qm", "o")
    root = configured("core.alternateRefsCommand=$", f"remote.origin.url={other}")(folder, evil)
    (root / ".git/objects/info/alternates").write_text(f"{other}/.git/objects\n")
    return root


TRAPS: dict[str, Trap] = {
    "lazy fetch": Trap(lacking_a_tree("remote.origin.uploadpack=$")),
    "lazy fetch in an embedded bare repository": Trap(embedded),
    "lazy fetch that allows every protocol": Trap(
        lacking_a_tree("remote.origin.uploadpack=$", "protocol.allow=always", "protocol.file.allow=always")
    ),
    "lazy fetch by ssh": Trap(lacking_a_tree("remote.origin.url=ssh://nowhere/x", "core.sshCommand=$")),
    "lazy fetch by a proxy": Trap(lacking_a_tree("remote.origin.url=git://nowhere/x", "core.gitProxy=$")),
    "lazy fetch by a command": Trap(lacking_a_tree("remote.origin.url=ext::$", "protocol.ext.allow=always")),
    "file system monitor": Trap(configured("core.fsmonitor=$"), ("status",)),
    "hook": Trap(hooked, ("add", "a.py")),
    "hooks path": Trap(
        lambda folder, evil: configured(f"core.hooksPath={hooked(folder / 'h', evil)}/.git/hooks")(folder, evil),
        ("add", "a.py"),
    ),
    "clean filter": Trap(with_attributes("filter=x", "filter.x.clean=$"), ("add", "a.py")),
    "smudge filter": Trap(with_attributes("filter=x", "filter.x.smudge=$"), ("checkout", "a.py")),
    "process filter": Trap(with_attributes("filter=x", "filter.x.process=$"), ("add", "a.py")),
    "text conversion": Trap(with_attributes("diff=x", "diff.x.textconv=$"), ("diff",)),
    "diff driver": Trap(with_attributes("diff=x", "diff.x.command=$"), ("diff",)),
    "external diff": Trap(configured("diff.external=$"), ("diff",)),
    "alias": Trap(configured("alias.list=!$", "alias.ls-files=!$", "alias.rev-parse=!$"), ("list",)),
    "include": Trap(included("include.path"), ("status",)),
    "conditional include": Trap(included("includeIf.gitdir:/.path"), ("status",)),
    "submodule": Trap(submodule, ("status",)),
    "submodule by a command": Trap(
        fetched_submodule, ("-c", "protocol.ext.allow=always", "submodule", "update", "--init")
    ),
    "alternates": Trap(borrowed, ("fetch", "origin")),
    "symlinked .git": Trap(linked, ("status",)),
    ".git file": Trap(gitfile, ("status",)),
    "credential helper": Trap(
        configured("credential.helper=$"), ("credential", "fill"), "protocol=https\nhost=example.com\n"
    ),
    "password program": Trap(
        configured("core.askPass=$"), ("credential", "fill"), "protocol=https\nhost=example.com\n"
    ),
    "editor": Trap(configured("core.editor=$"), ("commit", "--allow-empty")),
    "signature program": Trap(
        configured("gpg.program=$", "commit.gpgSign=true"), ("commit", "--allow-empty", "-m", "x")
    ),
    "all of them": Trap(
        lacking_a_tree(
            *("remote.origin.uploadpack=$", "core.fsmonitor=$", "core.pager=$", "core.editor=$", "core.askPass=$"),
            *("core.sshCommand=$", "core.gitProxy=$", "core.alternateRefsCommand=$", "credential.helper=$"),
            *("diff.external=$", "gpg.program=$", "alias.ls-files=!$", "uploadpack.packObjectsHook=$"),
            *("protocol.allow=always", "filter.x.process=$", "safe.bareRepository=all", "core.untrackedCache=true"),
        )
    ),
}
