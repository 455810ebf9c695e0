"""Where a git work tree begins and what git lists in it, without trusting either."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from memsweep.code.gitcommand import can_be_kept_from_fetching, find_git
from memsweep.regular import read_regular

_LONGEST_LINK = 64 * 1024
"""Of a file that holds one path."""
_READ_BY_GIT = ("HEAD", "config", "config.worktree", "index", "commondir", "info/exclude", "objects/info/alternates")


@dataclass(frozen=True, slots=True)
class WorkTree:
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


def _linked(entry: Path) -> Path:
    """A `.git` file says where the folder is: in linked work trees and in submodules."""
    word, _, target = read_regular(entry, _LONGEST_LINK).decode().partition(":")
    if word != "gitdir":
        raise ValueError(f"{entry} is no gitdir file")
    return (entry.parent / target.strip()).resolve()


def _common(git_dir: Path) -> Path:
    try:
        return (git_dir / read_regular(git_dir / "commondir", _LONGEST_LINK).decode().strip()).resolve()
    except FileNotFoundError:
        return git_dir


def list_with_git(root: str, tree: WorkTree) -> list[bytes] | None:
    """Tracked files and untracked ones that are not ignored, below the root; None when git is in doubt, or too old.

    Anything that git has to say on stderr (a folder it may not read, an owner it does not trust) is
    doubt: a list with silent holes would look like deleted files.
    """
    git = find_git(tree.top)
    if git is None or not can_be_kept_from_fetching(git) or not _has_plain_files(tree):
        return None
    done = git.list_files(root, "--cached", "--others", "--exclude-standard", "-z")
    if done is None or done.returncode != 0 or done.stderr.strip():
        return None
    return [name for name in done.stdout.split(b"\0") if name]


def _has_plain_files(tree: WorkTree) -> bool:
    """Whether git would find files where it reads files; a pipe would hold it up."""
    folders = {tree.git_dir, tree.common_dir}
    return all(_is_file_or_absent(os.path.join(folder, name)) for folder in folders for name in _READ_BY_GIT)


def _is_file_or_absent(place: str) -> bool:
    try:
        return stat.S_ISREG(os.stat(place).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
