"""What git lists in a work tree, without trusting either."""

from __future__ import annotations

import os
import stat

from memsweep.code.gitcommand import can_be_kept_from_fetching, find_git
from memsweep.project.worktree import WorkTree

_READ_BY_GIT = ("HEAD", "config", "config.worktree", "index", "commondir", "info/exclude", "objects/info/alternates")


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
