"""From a folder to the project that it is part of."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from memsweep.errors import BadInput
from memsweep.model.frozen import frozen
from memsweep.model.ids import check_name
from memsweep.project.naming import as_text, title_of
from memsweep.project.worktree import find_work_tree, repository_of
from memsweep.regular import NotRegular, read_regular


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


NAME = ".memsweep.toml"
_LONGEST = 64 * 1024
_MOST_PATTERNS = 100
_LONGEST_PATTERN = 200
_INDEX = ("exclude", "include_tests", "languages")


@frozen
class IndexFilters:
    """The filters of a project's index; they only narrow it, nothing here can make it take in more."""

    exclude: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    include_tests: bool = True


@frozen
class ProjectFile:
    """The file that a project describes itself in; `notes` are sentences on what was ignored."""

    path: str = ""
    workspace: str = ""
    filters: IndexFilters = IndexFilters()
    notes: tuple[str, ...] = ()


def read_project_file(folder: str) -> ProjectFile | None:
    """The file of a folder; None if there is none. One that cannot be read says nothing, and is told of."""
    path = os.path.join(folder, NAME)
    try:
        text = read_regular(path, _LONGEST, follow_symlinks=False).decode("utf-8-sig")
        import tomllib  # late: most projects have no such file

        return _checked(path, tomllib.loads(text))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except NotRegular:
        return ProjectFile(path, notes=(f"{path} is ignored: it is not a regular file.",))
    except (OSError, ValueError, RecursionError) as error:
        why = getattr(error, "strerror", None) or str(error).partition("\n")[0][:100] or type(error).__name__
        return ProjectFile(path, notes=(f"{path} is ignored: {why}.",))


def _checked(path: str, given: dict[str, Any]) -> ProjectFile:
    notes = []
    index = given.get("index", {})
    tables = {"": (given, ("index", "workspace")), "index.": (index if isinstance(index, dict) else {}, _INDEX)}
    for prefix, (table, known) in tables.items():
        notes += [
            f"{path}: {prefix}{key:.60} is ignored; only {_listed()} count there." for key in table.keys() - {*known}
        ]
    workspace, filters = given.get("workspace", ""), IndexFilters()
    try:
        if workspace != "":
            check_name(workspace)
    except BadInput as error:
        notes.append(f"{path}: {error}")
        workspace = ""
    try:
        filters = _filters(index)
    except ValueError as error:
        notes.append(f"{path}: the index filters are ignored: {error}.")
    return ProjectFile(path, workspace, filters, tuple(sorted(notes)))


def _filters(table: Any) -> IndexFilters:
    if not isinstance(table, dict):
        raise ValueError("index must be a table")
    include_tests = table.get("include_tests", True)
    if not isinstance(include_tests, bool):
        raise ValueError("index.include_tests must be true or false")
    exclude, languages = (_texts(table.get(name, []), f"index.{name}") for name in ("exclude", "languages"))
    return IndexFilters(exclude, languages, include_tests)


def _texts(value: Any, name: str) -> tuple[str, ...]:
    is_list = isinstance(value, list) and len(value) <= _MOST_PATTERNS
    if not is_list or not all(isinstance(each, str) and 0 < len(each) <= _LONGEST_PATTERN for each in value):
        raise ValueError(f"{name} must be a list of at most {_MOST_PATTERNS} short strings")
    return tuple(value)


def _listed() -> str:
    return "`workspace` and " + ", ".join(f"`index.{name}`" for name in _INDEX)


def is_ours(folder: Path) -> bool:
    """Return whether the file of a folder belongs to this account: in a shared folder anybody can leave one."""
    try:
        owner = os.stat(folder / NAME, follow_symlinks=False).st_uid
    except OSError:
        return False
    return not hasattr(os, "getuid") or owner in (os.getuid(), 0)
