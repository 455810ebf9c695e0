"""Find the folder of a store of Claude Code. Its name says too little: `a-b` may be a/b, a.b or a-b.

What is known comes from the client: its list of projects, and the working folders in its sessions. What git says of
work trees is read from its files. A folder that nobody knows is unknown, never gone.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from memsweep.adopt.clients import AdoptClient, is_slug_of
from memsweep.adopt.dead import PathState
from memsweep.model.adopt import ClientProject, ClientStore
from memsweep.project.worktree import find_work_tree, repository_of
from memsweep.regular import read_regular, read_start

_MOST_SETTINGS = 64 * 1024**2
_SESSION_START = 64 * 1024
_MOST_SESSIONS = 5
_LONGEST_LINK = 64 * 1024
_WORKTREE_FOLDERS = {"worktrees", ".worktrees"}


class Tree(NamedTuple):
    """A git work tree: its top, and the main work tree of its repository; empty if that has none."""

    top: str
    repository: str
    common_dir: str


def find_tree(folder: str) -> Tree | None:
    """A `.git` that leads into a repository which does not know of it makes no work tree of that."""
    found = find_work_tree(folder)
    if found is None:
        return None
    common_dir = repository_of(found)
    above, name = os.path.split(common_dir)
    return Tree(found.top, above if name == ".git" else "", common_dir)


def find_projects(client: AdoptClient, root: str, stores: Sequence[str], here: str) -> dict[str, ClientProject]:
    """The project of each store; one without a folder where nobody knows."""
    if not client.stores:
        return dict.fromkeys(stores, ClientProject())
    known = _by_store(stores, [*_here(here), *_listed(root)])
    for store in stores:
        if store not in known:
            known |= _by_store([store], _worked_in(Path(root, client.stores, store)))
    trees = {folder: find_tree(folder) for folder in set(known.values()) if os.path.isdir(folder)}
    linked = {folder: tree.repository for tree in trees.values() if tree for folder in _linked(tree)}
    known |= {store: folder for store, folder in _by_store(stores, linked).items() if store not in known}
    trees |= {folder: find_tree(folder) for folder in linked if folder not in trees and os.path.isdir(folder)}
    return {store: _project(known.get(store, ""), trees, linked) for store in stores}


def look_at(store: ClientStore, path: str, home: str) -> PathState:
    """Return whether a path in a memory exists. Only the project and the person's home are looked at."""
    folder = store.project.repository or store.project.folder
    if path.startswith(("~/", "/")):
        place = os.path.normpath(os.path.join(home, path[2:]) if path.startswith("~/") else path)
    elif not folder or not os.path.lexists(os.path.join(folder, path.partition("/")[0])):
        return "unknown"  # relative to what?
    else:
        place = os.path.normpath(os.path.join(folder, path))
    tops = [top for top in (folder, home) if top and place.startswith(os.path.join(top, ""))]
    if not tops or not all(map(_stands, tops)):
        return "unknown"
    try:
        os.lstat(place)
    except (FileNotFoundError, NotADirectoryError):
        return "gone"
    except (OSError, ValueError):
        return "unknown"
    return "there"


def _stands(folder: str) -> bool:
    """An empty folder may be a drive that is not mounted."""
    try:
        with os.scandir(folder) as found:
            return next(found, None) is not None
    except OSError:
        return False


def _by_store(stores: Iterable[str], folders: Iterable[str]) -> dict[str, str]:
    listed = list(folders)
    pairs = ((store, next((each for each in listed if is_slug_of(store, each)), "")) for store in stores)
    return {store: folder for store, folder in pairs if folder}


def _here(folder: str) -> Iterator[str]:
    if folder:
        tree = find_tree(folder)
        yield from (folder, *((tree.top, tree.repository) if tree else ()))


def _listed(root: str) -> Iterator[str]:
    """The projects in the settings of the client; nothing else in that file is looked at."""
    for file in (os.path.join(root, ".claude.json"), os.path.join(os.path.dirname(root), ".claude.json")):
        with suppress(OSError, ValueError, RecursionError, AttributeError):
            projects = json.loads(read_regular(file, _MOST_SETTINGS))["projects"].keys()
            yield from (each for each in projects if isinstance(each, str) and os.path.isabs(each))
            return


def _worked_in(folder: Path) -> Iterator[str]:
    """Working folders that the newest sessions of a store begin with."""
    with suppress(OSError):
        sessions = [(each.stat().st_mtime, each) for each in folder.glob("*.jsonl") if not each.is_symlink()]
        for _, session in sorted(sessions, reverse=True)[:_MOST_SESSIONS]:
            for line in read_start(session, _SESSION_START, follow_symlinks=False).split(b"\n")[:-1]:
                with suppress(ValueError, RecursionError, AttributeError):
                    cwd = json.loads(line).get("cwd")
                    if isinstance(cwd, str) and os.path.isabs(cwd) and "\0" not in cwd:
                        yield cwd


def _linked(tree: Tree) -> Iterator[str]:
    """The work trees that a repository knows of, also those that are gone."""
    if not tree.repository:
        return
    for file in Path(tree.common_dir, "worktrees").glob("*/gitdir"):
        with suppress(OSError):
            git_file = os.fsdecode(read_regular(file, _LONGEST_LINK, follow_symlinks=False)).strip()
            yield os.path.dirname(os.path.normpath(os.path.join(file.parent, git_file)))


def _project(folder: str, trees: dict[str, Tree | None], linked: dict[str, str]) -> ClientProject:
    if not folder:
        return ClientProject()
    if (tree := trees.get(folder)) is not None:
        return ClientProject(folder, False, tree.repository if tree.top == folder else "")
    try:
        os.lstat(folder)
    except (FileNotFoundError, NotADirectoryError):
        return ClientProject(folder, True, linked.get(folder) or _by_location(folder))
    except (OSError, ValueError):
        return ClientProject(folder)
    return ClientProject(folder)


def _by_location(folder: str) -> str:
    """Return the repository of a work tree that is gone, if it was in a folder of work trees."""
    above = os.path.dirname(folder)
    if os.path.basename(above) not in _WORKTREE_FOLDERS:
        return ""
    tops = [os.path.dirname(above), os.path.dirname(os.path.dirname(above))]
    for top in tops if os.path.basename(tops[0]) == ".claude" else tops[:1]:
        tree = find_tree(top) if os.path.isdir(top) else None
        if tree and tree.top == top:
            return tree.repository
    return ""
