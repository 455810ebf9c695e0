"""The names of the files below a root that git would show, asked of git or found by walking.

Both ways give the same names. A repository inside another is a world of its own: nothing of it is
listed with the outer one. A plain folder that holds repositories lists what each of them would.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from memsweep.code.gitindex import tracked_names
from memsweep.code.gitrepo import WorkTree, find_work_tree, list_with_git
from memsweep.code.ignore import IGNORE_FILE, IgnoreRules

GIT_ENTRY = ".git"
"""A folder, or in linked work trees and submodules a file; never a part of what it describes."""


@dataclass(frozen=True, slots=True)
class Listing:
    names: list[str]
    """Relative, with slashes; possibly of files that are gone, and more than once."""
    in_repository: bool
    unreadable_folders: dict[str, str] = field(default_factory=dict)
    """Folder → reason. What is below it is unknown; "" is the root."""


def list_files(root: str, skip_folders: frozenset[str]) -> Listing:
    tree = work_tree_of(root)
    if tree is not None and (names := list_with_git(root)) is not None:
        return Listing([_slashed(os.fsdecode(name)) for name in names], in_repository=True)
    return list_by_walking(root, tree, skip_folders)


def work_tree_of(root: str) -> WorkTree | None:
    """The repository a root belongs to; none if that ignores it, for the root was asked for by name."""
    tree = find_work_tree(root)
    return None if tree is None or _ignores(tree, root) else tree


def _ignores(tree: WorkTree, root: str) -> bool:
    way = _way(tree, root)
    return (
        way != "" and _is_ruled_out(tree, way) and not any(os.fsdecode(name).startswith(way) for name in _tracked(tree))
    )


def _is_ruled_out(tree: WorkTree, way: str) -> bool:
    try:
        rules = IgnoreRules().with_file(_exclude_file(tree))
        at = ""
        for step in way.split("/")[:-1]:
            rules = rules.with_file(os.path.join(tree.top, at, IGNORE_FILE), strip=at)
            at += step + "/"
            if rules.ignores(at):
                return True
    except OSError:
        return False
    return False


def _way(tree: WorkTree, root: str) -> str:
    """From the top of the work tree to the root: "" or "a/b/"."""
    way = os.path.relpath(root, tree.top)
    return "" if way == os.curdir else _slashed(way) + "/"


def _exclude_file(tree: WorkTree) -> str:
    return os.path.join(tree.common_dir, "info", "exclude")


def _tracked(tree: WorkTree) -> frozenset[bytes]:
    return tracked_names(Path(tree.git_dir, "index"))


def list_by_walking(root: str, tree: WorkTree | None, skip_folders: frozenset[str]) -> Listing:
    """What git would list, by its rules but without git."""
    walker = _Walker(root, skip_folders)
    walker.run(tree)
    return Listing(walker.names, tree is not None, walker.unreadable)


@dataclass(frozen=True, slots=True)
class _Folder:
    path: str
    """"" for the root, "a/b/" below it."""
    rules: IgnoreRules
    in_repository: bool


@dataclass(slots=True)
class _Walker:
    root: str
    skip_folders: frozenset[str]
    names: list[str] = field(default_factory=list)
    unreadable: dict[str, str] = field(default_factory=dict)
    waiting: list[_Folder] = field(default_factory=list)

    def run(self, tree: WorkTree | None) -> None:
        try:
            rules = self._rules_around(tree) if tree else IgnoreRules()
            self.waiting.append(_Folder("", rules, tree is not None))
        except OSError as error:
            self._unknown("", error)
        while self.waiting:
            folder = self.waiting.pop()
            try:
                self._enter(folder)
            except OSError as error:
                self._unknown(folder.path, error)

    def _enter(self, folder: _Folder) -> None:
        here = os.path.join(self.root, folder.path)
        # Rules that cannot be read could hide anything: the folder counts as unreadable.
        rules = folder.rules.with_file(os.path.join(here, IGNORE_FILE), strip=folder.path)
        try:
            entries = os.scandir(here)
        except (FileNotFoundError, NotADirectoryError):
            return
        with entries:
            for entry in entries:
                if entry.is_symlink() or entry.name == GIT_ENTRY:
                    continue
                path = folder.path + entry.name
                if entry.is_dir(follow_symlinks=False):
                    if entry.name not in self.skip_folders and not rules.ignores(path + "/"):
                        self._descend(path + "/", rules, folder.in_repository)
                elif entry.is_file(follow_symlinks=False) and not rules.ignores(path):
                    self.names.append(path)

    def _descend(self, path: str, rules: IgnoreRules, in_repository: bool) -> None:
        place = os.path.join(self.root, path)
        if not os.path.lexists(os.path.join(place, GIT_ENTRY)):
            self.waiting.append(_Folder(path, rules, in_repository))
        elif not in_repository:
            try:
                self.waiting.append(_Folder(path, self._rules_of(path, rules), True))
            except OSError as error:
                self._unknown(path, error)

    def _rules_around(self, tree: WorkTree) -> IgnoreRules:
        """What the repository says about the root from above it: its excludes, and its folders'."""
        way = _way(tree, self.root)
        steps = way.split("/")[:-1]
        rules = IgnoreRules().with_file(_exclude_file(tree), prefix=way)
        for depth in range(len(steps)):
            place = os.path.join(tree.top, *steps[:depth], IGNORE_FILE)
            rules = rules.with_file(place, prefix="".join(step + "/" for step in steps[depth:]))
        self._add_tracked(tree, below=way)
        return rules

    def _rules_of(self, path: str, outer: IgnoreRules) -> IgnoreRules:
        """A repository in a plain folder brings its own rules, and the folder's are left behind."""
        top = os.path.join(self.root, path).rstrip(os.sep)
        tree = find_work_tree(top)
        if tree is None or tree.top != top:
            return outer
        self._add_tracked(tree, at=path)
        return IgnoreRules().with_file(_exclude_file(tree), strip=path)

    def _add_tracked(self, tree: WorkTree, *, below: str = "", at: str = "") -> None:
        """A tracked file counts although it is ignored; one that is gone is noticed later."""
        names = map(os.fsdecode, _tracked(tree))
        self.names += [at + name[len(below) :] for name in names if name.startswith(below)]

    def _unknown(self, folder: str, error: OSError) -> None:
        self.unreadable[folder.rstrip("/")] = error.strerror or type(error).__name__


def _slashed(name: str) -> str:
    # A backslash is a letter like any other where it does not separate folders.
    return name if os.sep == "/" else name.replace(os.sep, "/")
