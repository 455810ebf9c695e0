"""Where a git work tree begins, what git lists in it, and what its index holds, without trusting it.

Git runs with the settings that could make it execute something (fsmonitor) or depend on who asks
(the personal excludes file) switched off, and in an environment of its own: a hook, for one, would hand
down variables that point it at another index.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

LIST_TIMEOUT_SECONDS = 60


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
    word, _, target = entry.read_text("utf-8").partition(":")
    if word != "gitdir":
        raise ValueError(f"{entry} is no gitdir file")
    return (entry.parent / target.strip()).resolve()


def _common(git_dir: Path) -> Path:
    try:
        return (git_dir / (git_dir / "commondir").read_text("utf-8").strip()).resolve()
    except OSError:
        return git_dir


def list_with_git(root: str) -> list[bytes] | None:
    """Tracked files and untracked ones that are not ignored, below the root; None when git is in doubt.

    Anything that git has to say on stderr (a folder it may not read, an owner it does not trust) is
    doubt: a list with silent holes would look like deleted files.
    """
    done = _git(root, "ls-files", "--cached", "--others", "--exclude-standard", "-z")
    if done is None or done.returncode != 0 or done.stderr.strip():
        return None
    return [name for name in done.stdout.split(b"\0") if name]


def run_git(folder: str, arguments: Sequence[str]) -> bytes | None:
    """What git prints, or None if it fails."""
    done = _git(folder, *arguments)
    return None if done is None or done.returncode != 0 else done.stdout


def _git(folder: str, *arguments: str) -> subprocess.CompletedProcess[bytes] | None:
    settings = (f"core.excludesFile={os.devnull}", "core.fsmonitor=false", "core.quotePath=false")
    command = ["git", *(part for each in settings for part in ("-c", each)), *arguments]
    environment = {
        "PATH": os.pathsep.join(os.get_exec_path()),
        "HOME": os.path.expanduser("~"),
        "LC_ALL": "C",
        "GIT_OPTIONAL_LOCKS": "0",
    }
    try:
        return subprocess.run(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=LIST_TIMEOUT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
