"""From a folder to the project that it is part of."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from memsweep.model.frozen import frozen
from memsweep.project.file import ProjectFile, is_ours, read_project_file
from memsweep.project.naming import as_text, title_of
from memsweep.project.worktree import find_work_tree, repository_of


@frozen
class Project:
    """A git repository, or a folder with a `.memsweep.toml`."""

    folder: str
    """The top of the work tree that somebody is in."""
    identity: str
    """What tells it from every other project: the git folder that its work trees share, or the folder itself."""
    title: str
    is_git: bool
    file: ProjectFile


def locate(folder: str) -> Project | None:
    """The project that a folder is in; None outside of all."""
    real = os.path.realpath(folder)
    tree = find_work_tree(real)
    if tree is not None:
        repository = _as_the_disk_writes_it(repository_of(tree))
        title = title_of(repository)
        file = read_project_file(tree.top) or ProjectFile()
        return Project(tree.top, as_text(os.fsencode(repository)), title, True, file)
    for candidate in (Path(real), *Path(real).parents):
        if is_ours(candidate) and (found := read_project_file(str(candidate))):
            identity = as_text(os.fsencode(_as_the_disk_writes_it(str(candidate))))
            return Project(str(candidate), identity, candidate.name, False, found)
    return None


def _as_the_disk_writes_it(path: str) -> str:
    """One spelling of a path where the file system takes `API` and `api` for the same."""
    if sys.platform == "darwin":
        import fcntl

        handle = os.open(path, os.O_RDONLY)
        try:
            return os.fsdecode(fcntl.fcntl(handle, fcntl.F_GETPATH, bytes(1024)).rstrip(b"\0"))
        finally:
            os.close(handle)
    return os.path.normcase(path)
