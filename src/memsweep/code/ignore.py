"""The rules of .gitignore for one folder after the other, the deepest file having the last word."""

from __future__ import annotations

import os
from dataclasses import dataclass

from memsweep.code.gitignore import Patterns
from memsweep.regular import NotRegular, read_regular

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
