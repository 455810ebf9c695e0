"""The names of the files below a root that git would show, asked of git or found by walking.

Both ways give the same names, and only names below the root. A repository inside another is a world of
its own: nothing of it is listed with the outer one. A plain folder that holds repositories lists what
each of them would.
"""

from __future__ import annotations

import os
import stat
import time
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from memsweep.code.gitcommand import TIMEOUT_SECONDS, can_be_kept_from_fetching, find_git
from memsweep.code.gitignore import Patterns
from memsweep.code.gitindex import Tracked, read_tracked
from memsweep.project.worktree import WorkTree, find_work_tree
from memsweep.regular import NotRegular, read_regular

GIT_ENTRY = ".git"
"""A folder, or in linked work trees and submodules a file; never a part of what it describes."""
_DOUBT = "it is ignored, and git's index does not tell whether it is tracked"


@dataclass(frozen=True, slots=True)
class FileListing:
    names: list[str]
    """Relative, with slashes; possibly of files that are gone, and more than once."""
    in_repository: bool
    unreadable_folders: dict[str, str] = field(default_factory=dict)
    """Folder → reason. What is below it is unknown; "" is the root."""
    doubtful: dict[str, str] = field(default_factory=dict)
    """File → reason: whether it belongs to the list is unknown."""


def list_files(root: str, skip_folders: frozenset[str]) -> FileListing:
    tree = work_tree_of(root)
    if tree is not None and (names := list_with_git(root, tree)) is not None:
        slashed = (_slashed(os.fsdecode(name)) for name in names)
        return FileListing([name for name in slashed if is_below_root(name)], in_repository=True)
    return list_by_walking(root, tree, skip_folders)


def is_below_root(name: str) -> bool:
    """Return whether a name from an index (any bytes) leads to something below the root and to no `.git`."""
    return not any(part in ("", os.curdir, os.pardir) or part.casefold() == GIT_ENTRY for part in name.split("/"))


def work_tree_of(root: str) -> WorkTree | None:
    """The repository a root belongs to; none if that ignores it, for the root was asked for by name."""
    tree = find_work_tree(root)
    return None if tree is None or _ignores(tree, root) else tree


def _ignores(tree: WorkTree, root: str) -> bool:
    way = _way(tree, root)
    return (
        way != ""
        and _is_ruled_out(tree, way)
        and not any(os.fsdecode(name).startswith(way) for name in _tracked(tree).names)
    )


def _is_ruled_out(tree: WorkTree, way: str) -> bool:
    try:
        rules = _excludes(tree)
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


def _excludes(tree: WorkTree, *, strip: str = "", prefix: str = "") -> IgnoreRules:
    """The repository's rules that are in no folder of the work tree; as git does it, through a link, too."""
    place = os.path.join(tree.common_dir, "info", "exclude")
    return IgnoreRules().with_file(place, strip=strip, prefix=prefix, follow_symlinks=True)


def _tracked(tree: WorkTree) -> Tracked:
    return read_tracked(Path(tree.git_dir, "index"))


def list_by_walking(root: str, tree: WorkTree | None, skip_folders: frozenset[str]) -> FileListing:
    """Return what git would list, by its rules but without git."""
    walker = _Walker(root, skip_folders)
    walker.run(tree)
    return FileListing(walker.names, tree is not None, walker.unreadable, walker.doubtful)


@dataclass(frozen=True, slots=True)
class _Folder:
    path: str
    """"" for the root, "a/b/" below it."""
    rules: IgnoreRules
    repository: _Repository | None


@dataclass(frozen=True, slots=True)
class _Repository:
    """The index of the repository around a folder, and the way from a path below the root to one from its top."""

    tracked: Tracked
    strip: str = ""
    prefix: str = ""

    def may_track(self, path: str) -> bool:
        """Return whether an ignored path could be tracked all the same, under a name not known here."""
        return self.tracked.may_hold(os.fsencode(self.prefix + path[len(self.strip) :]))


@dataclass(slots=True)
class _Walker:
    root: str
    skip_folders: frozenset[str]
    names: list[str] = field(default_factory=list)
    unreadable: dict[str, str] = field(default_factory=dict)
    doubtful: dict[str, str] = field(default_factory=dict)
    waiting: list[_Folder] = field(default_factory=list)

    def run(self, tree: WorkTree | None) -> None:
        try:
            self.waiting.append(self._root_in(tree) if tree else _Folder("", IgnoreRules(), None))
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
                if not entry.is_symlink() and entry.name != GIT_ENTRY:
                    self._look_at(entry, folder, rules)

    def _look_at(self, entry: os.DirEntry[str], folder: _Folder, rules: IgnoreRules) -> None:
        path = folder.path + entry.name
        if entry.is_dir(follow_symlinks=False):
            if entry.name in self.skip_folders:
                return
            if not rules.ignores(path + "/"):
                self._descend(path + "/", rules, folder.repository)
            elif folder.repository and folder.repository.may_track(path + "/"):
                self.unreadable[path] = _DOUBT
        elif entry.is_file(follow_symlinks=False):
            if not rules.ignores(path):
                self.names.append(path)
            elif folder.repository and folder.repository.may_track(path):
                self.doubtful[path] = _DOUBT

    def _descend(self, path: str, rules: IgnoreRules, repository: _Repository | None) -> None:
        place = os.path.join(self.root, path)
        if not os.path.lexists(os.path.join(place, GIT_ENTRY)):
            self.waiting.append(_Folder(path, rules, repository))
        elif repository is None:
            try:
                self.waiting.append(self._top_at(path, rules))
            except OSError as error:
                self._unknown(path, error)

    def _root_in(self, tree: WorkTree) -> _Folder:
        """Return the root with the repository's rules from above it: its excludes, and its folders'."""
        way = _way(tree, self.root)
        steps = way.split("/")[:-1]
        rules = _excludes(tree, prefix=way)
        for depth in range(len(steps)):
            place = os.path.join(tree.top, *steps[:depth], IGNORE_FILE)
            rules = rules.with_file(place, prefix="".join(step + "/" for step in steps[depth:]))
        return _Folder("", rules, _Repository(self._add_tracked(tree, below=way), prefix=way))

    def _top_at(self, path: str, outer: IgnoreRules) -> _Folder:
        """A repository in a plain folder brings its own rules, and the folder's are left behind."""
        top = os.path.join(self.root, path).rstrip(os.sep)
        tree = find_work_tree(top)
        if tree is None or tree.top != top:
            return _Folder(path, outer, _Repository(Tracked()))
        rules = _excludes(tree, strip=path)
        return _Folder(path, rules, _Repository(self._add_tracked(tree, at=path), strip=path))

    def _add_tracked(self, tree: WorkTree, *, below: str = "", at: str = "") -> Tracked:
        """A tracked file counts although it is ignored; one that is gone is noticed later."""
        tracked = _tracked(tree)
        names = (name[len(below) :] for name in map(os.fsdecode, tracked.names) if name.startswith(below))
        self.names += [at + name for name in names if is_below_root(name)]
        return tracked

    def _unknown(self, folder: str, error: OSError) -> None:
        self.unreadable[folder.rstrip("/")] = error.strerror or type(error).__name__


def _slashed(name: str) -> str:
    # A backslash is a letter like any other where it does not separate folders.
    return name if os.sep == "/" else name.replace(os.sep, "/")


_READ_BY_GIT = ("HEAD", "config", "config.worktree", "index", "commondir", "info/exclude", "objects/info/alternates")


def list_with_git(root: str, tree: WorkTree) -> list[bytes] | None:
    """Tracked files and untracked ones that are not ignored, below the root; None when git is in doubt, or too old.

    Anything that git has to say on stderr (a folder it may not read, an owner it does not trust) is
    doubt: a list with silent holes would look like deleted files.
    """
    git = find_git(tree.top)
    if git is None or not can_be_kept_from_fetching(git) or not _has_plain_files(tree):
        return None
    would_wait = partial(_has_odd_ignore_file, root, tree)
    done = git.list_files(root, "--cached", "--others", "--exclude-standard", "-z", would_wait=would_wait)
    if done is None or done.returncode != 0 or done.stderr.strip():
        return None
    return [name for name in done.stdout.split(b"\0") if name]


def _has_plain_files(tree: WorkTree) -> bool:
    """Return whether the files that git reads are plain; a pipe would hold it up."""
    folders = {tree.git_dir, tree.common_dir}
    return all(_is_file_or_absent(os.path.join(folder, name)) for folder in folders for name in _READ_BY_GIT)


def _has_odd_ignore_file(root: str, tree: WorkTree) -> bool:
    """Return whether an ignore file above or below the root is a pipe or the like, as far as can be seen in time."""
    until = time.monotonic() + TIMEOUT_SECONDS
    above = [tree.top]
    for step in os.path.relpath(root, tree.top).split(os.sep):
        above.append(os.path.join(above[-1], step))
    if not all(_is_file_or_absent(os.path.join(folder, IGNORE_FILE)) for folder in above):
        return True
    for folder, _, files in os.walk(root):
        if IGNORE_FILE in files and not _is_file_or_absent(os.path.join(folder, IGNORE_FILE)):
            return True
        if time.monotonic() > until:
            return False
    return False


def _is_file_or_absent(place: str) -> bool:
    try:
        return stat.S_ISREG(os.stat(place).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False


IGNORE_FILE = ".gitignore"
LIMIT_BYTES = 8 * 1024**2
"""Of the rules for one folder. What more of them would say is unknown, and with it what is in the folder."""


@dataclass(frozen=True, slots=True)
class IgnoreFile:
    """Patterns, and how a path from the root of the walk becomes one from the folder they stand in."""

    patterns: Patterns
    strip: str = ""
    """The folder, when it is below the root: "a/b/"."""
    prefix: str = ""
    """The way from the folder to the root, when it is above."""


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """The files that speak about a folder, from the one with the least say to the one with the most."""

    files: tuple[IgnoreFile, ...] = ()

    def ignores(self, path: str) -> bool:
        """Of an entry whose parent is not ignored; a folder's path ends in a slash."""
        is_folder = path.endswith("/")
        path = path.rstrip("/")
        for file in reversed(self.files):
            verdict = file.patterns.verdict(_by_byte(file.prefix + path[len(file.strip) :]), is_folder=is_folder)
            if verdict is not None:
                return verdict
        return False

    def with_file(self, place: str, *, strip: str = "", prefix: str = "", follow_symlinks: bool = False) -> IgnoreRules:
        """These rules and those in a file, if there is one. Raises OSError if it cannot be read."""
        patterns = Patterns(read_patterns(place, follow_symlinks=follow_symlinks))
        return self if patterns.is_empty else IgnoreRules((*self.files, IgnoreFile(patterns, strip, prefix)))


def read_patterns(place: str, *, follow_symlinks: bool = False) -> list[str]:
    """The lines of an ignore file as git reads them; nothing if it is absent or something else than a file."""
    try:
        content = read_regular(place, LIMIT_BYTES, follow_symlinks=follow_symlinks).removeprefix(b"\xef\xbb\xbf")
    except (FileNotFoundError, NotADirectoryError, NotRegular):
        return []
    return [line.removesuffix(b"\r").decode("latin-1") for line in content.split(b"\n")]


def _by_byte(path: str) -> str:
    """One letter a byte, as git matches: its `?` takes half an "ä"."""
    return path if path.isascii() else os.fsencode(path).decode("latin-1")
