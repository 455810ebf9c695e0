"""Find the top of a git work tree by reading its files: no git process, and nothing in them is trusted."""

from __future__ import annotations

import os
from pathlib import Path

from memsweep.model.frozen import frozen
from memsweep.regular import read_regular

_LONGEST_LINK = 64 * 1024
"""Of a file that holds one path."""


@frozen
class WorkTree:
    """A folder of git, and where git keeps what it knows of it."""

    top: str
    """The folder that has the `.git` entry."""
    git_dir: str
    common_dir: str
    """Differs from git_dir in a linked work tree; `info/exclude` is in this one."""


def find_work_tree(folder: str) -> WorkTree | None:
    """The work tree that a folder (a real path) is in, or None."""
    for candidate in (Path(folder), *Path(folder).parents):
        entry = candidate / ".git"
        try:
            git_dir = _linked(entry) if entry.is_file() else entry
            if (git_dir / "HEAD").is_file():
                return WorkTree(str(candidate), str(git_dir), str(_common(git_dir)))
        except (OSError, ValueError):
            continue
    return None


def repository_of(tree: WorkTree) -> str:
    """Return the identity that work trees of one repository share: its git folder, if that knows this work tree, too.

    Anybody can write a `.git` that leads to another repository, and would then share what that one remembers. Only a
    work tree that the repository lists itself is taken for one of its own; any other stands alone.
    """
    alone = os.path.join(tree.top, ".git")
    if tree.common_dir == tree.git_dir or os.path.islink(alone):
        return alone
    if os.path.dirname(tree.git_dir) != os.path.join(tree.common_dir, "worktrees"):
        return alone
    try:
        back = os.path.realpath(os.path.join(tree.git_dir, _one_path(Path(tree.git_dir, "gitdir"))))
    except (OSError, ValueError):
        return alone
    return tree.common_dir if back == alone else alone


def _linked(entry: Path) -> Path:
    """A `.git` file says where the folder is: in linked work trees and in submodules."""
    word, _, target = _one_path(entry).partition(":")
    if word != "gitdir":
        raise ValueError(f"{entry} is no gitdir file")
    return (entry.parent / target.strip()).resolve()


def _common(git_dir: Path) -> Path:
    try:
        return (git_dir / _one_path(git_dir / "commondir")).resolve()
    except FileNotFoundError:
        return git_dir


def _one_path(file: Path) -> str:
    return read_regular(file, _LONGEST_LINK).decode(errors="surrogateescape").strip()
