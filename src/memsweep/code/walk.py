"""Find the files below a root: every file that may be indexed, present or unreadable.

A file that is neither is absent: deleted, or not offered any more (ignored, or excluded as a secret).
Symlinks are never followed and never indexed: their targets are found under their own names if they
are in the root, and are none of its business if not.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from typing import Literal

from memsweep.code.exclude import Exclusions, has_machine_made_name
from memsweep.code.fingerprint import Stamp, stamp_of
from memsweep.code.languages import language_by_first_line, language_by_name
from memsweep.code.listing import GIT_ENTRY, list_files
from memsweep.code.request import Scope
from memsweep.regular import read_start

RootState = Literal["ok", "missing", "not_a_folder", "unreadable", "replaced"]
FileState = Literal["present", "unreadable", "absent"]
_SNIFFED_BYTES = 256


@dataclass(frozen=True, slots=True)
class Present:
    path: str
    """Relative to the root, with slashes."""
    stamp: Stamp
    language: str | None
    """None when only the content can tell and no filter asked."""


@dataclass(frozen=True, slots=True)
class Seen:
    root_state: RootState = "ok"
    present: dict[str, Present] = field(default_factory=dict)
    unreadable: dict[str, str] = field(default_factory=dict)
    """Path → reason."""
    unreadable_folders: dict[str, str] = field(default_factory=dict)
    total_files: int = 0
    """Regular files before any filter or table."""
    doubtful: dict[str, str] = field(default_factory=dict)
    """Path → reason, of files that are there and perhaps ignored: not to be read, and not gone either."""

    def state(self, path: str) -> FileState:
        if path in self.present:
            return "present"
        return "unreadable" if self.reason(path) is not None else "absent"

    def reason(self, path: str) -> str | None:
        """Why nothing can be said about a path, or None."""
        reason = self.unreadable.get(path) or self.doubtful.get(path)
        if reason is not None or not self.unreadable_folders:
            return reason
        parts = path.split("/")
        folders = ("/".join(parts[:depth]) for depth in range(len(parts)))
        return next((self.unreadable_folders[each] for each in folders if each in self.unreadable_folders), None)


def walk(scope: Scope, exclusions: Exclusions | None = None) -> Seen:
    """Look at the root of a scope. Filters are not applied here, so that a filter never hides a file."""
    exclusions = exclusions or Exclusions()
    before, state = _look_at_root(scope.root)
    if state != "ok":
        return Seen(state)
    listing = list_files(scope.root, exclusions.folders)
    look = _Look(scope, exclusions)
    look.folders[""] = (True, listing.in_repository)
    for name in sorted(set(listing.names)):
        look.at(name)
    look.drop_other_spellings()
    # A drive that is unmounted while it is walked leaves an empty folder, or none: nothing can be said.
    after, state = _look_at_root(scope.root)
    if state == "ok" and before != after:
        state = "replaced"
    return Seen(state, look.present, look.unreadable, listing.unreadable_folders, look.total_files, listing.doubtful)


def _look_at_root(root: str) -> tuple[tuple[int, int], RootState]:
    try:
        found = os.stat(root)
        if not stat.S_ISDIR(found.st_mode):
            return (0, 0), "not_a_folder"
        with os.scandir(root):
            return (found.st_dev, found.st_ino), "ok"
    except (FileNotFoundError, NotADirectoryError):
        return (0, 0), "missing"
    except OSError:
        return (0, 0), "unreadable"


@dataclass(slots=True)
class _Look:
    scope: Scope
    exclusions: Exclusions
    present: dict[str, Present] = field(default_factory=dict)
    unreadable: dict[str, str] = field(default_factory=dict)
    folders: dict[str, tuple[bool, bool]] = field(default_factory=dict)
    """Folder → (belongs to the root, is in a repository)."""
    by_inode: dict[tuple[int, int], str] = field(default_factory=dict)
    same_files: set[str] = field(default_factory=set)
    """Paths that lead to one file which has but one name."""
    total_files: int = 0

    def at(self, path: str) -> None:
        folder, _, name = path.rpartition("/")
        if name == GIT_ENTRY or not self._belongs(folder)[0]:
            return
        try:
            found = os.lstat(f"{self.scope.root}/{path}")
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            self._unreadable(path, error.strerror or type(error).__name__)
            return
        if not stat.S_ISREG(found.st_mode):
            return
        self.total_files += 1
        if self.exclusions.is_secret(path) or self.exclusions.is_binary_name(path) or has_machine_made_name(path):
            return
        if not path.isprintable() and not _is_storable(path):
            self._unreadable(path, "its name is not valid UTF-8")
            return
        self.present[path] = Present(path, stamp_of(found), self._language(path))
        if found.st_nlink == 1 and found.st_ino:
            first = self.by_inode.setdefault((found.st_dev, found.st_ino), path)
            if first is not path:
                self.same_files |= {first, path}

    def _unreadable(self, path: str, reason: str) -> None:
        self.unreadable[path.encode("utf-8", "backslashreplace").decode()] = reason

    def _belongs(self, folder: str) -> tuple[bool, bool]:
        if folder not in self.folders:
            # From the top down, and not by recursion: a path can have more folders than a stack frames.
            depths = [at for at, letter in enumerate(folder) if letter == "/"]
            for end in (*depths, len(folder)):
                if folder[:end] not in self.folders:
                    self.folders[folder[:end]] = self._judge(folder[:end])
        return self.folders[folder]

    def _judge(self, folder: str) -> tuple[bool, bool]:
        """Return whether a folder is part of the root (no symlink, not machine-made, no repository), and in one."""
        parent, _, name = folder.rpartition("/")
        belongs, in_repository = self.folders[parent]
        place = os.path.join(self.scope.root, folder)
        if not belongs or name == GIT_ENTRY or name in self.exclusions.folders or os.path.islink(place):
            return False, in_repository
        if os.path.lexists(os.path.join(place, GIT_ENTRY)):
            return not in_repository, True
        return True, in_repository

    def _language(self, path: str) -> str | None:
        language = language_by_name(path)
        if language is not None or not self.scope.languages:
            return language
        try:
            start = read_start(os.path.join(self.scope.root, path), _SNIFFED_BYTES, follow_symlinks=False)
        except OSError:
            return None
        return language_by_first_line(start.partition(b"\n")[0].decode("latin-1"))

    def drop_other_spellings(self) -> None:
        """One file under two spellings, where letter case does not count, is one file."""
        for path in self.same_files:
            if not is_spelled(self.scope.root, path):
                del self.present[path]


def is_spelled(root: str, path: str) -> bool:
    """Return whether every folder lists the next part of a path in exactly these letters."""
    here = root
    for name in path.split("/"):
        if name not in os.listdir(here):
            return False
        here = os.path.join(here, name)
    return True


def _is_storable(path: str) -> bool:
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
