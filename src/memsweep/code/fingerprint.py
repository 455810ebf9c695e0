"""Has a file changed? Its stamp decides quickly, a hash of its content decides finally."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable
from dataclasses import dataclass

import xxhash

SECOND_NS = 1_000_000_000
COARSE_TICK_NS = 2 * SECOND_NS
"""FAT counts in two seconds; a time without a fraction may come from such a clock."""
FINE_TICK_NS = 50_000_000
"""Kernels move file times on in ticks of up to 10 ms; some room for a second machine's clock."""
READ_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class Stamp:
    """The result of `stat`; equal stamps of one path mean equal content, unless the tick was too coarse.

    ctime and inode are in it because a size and an mtime can be put back; on some network drives they
    change on their own, which costs a hash and nothing else.
    """

    size: int
    mtime_ns: int
    ctime_ns: int = 0
    inode: int = 0

    def encode(self) -> str:
        """One string for one column."""
        return f"{self.size}:{self.mtime_ns}:{self.ctime_ns}:{self.inode}"

    @classmethod
    def decode(cls, text: str) -> Stamp:
        return cls(*(int(part) for part in text.split(":")))


def stamp_of(found: os.stat_result) -> Stamp:
    return Stamp(found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """A content hash, the stamp the file had then, and when reading began."""

    stamp: Stamp
    digest: str
    read_at_ns: int

    def vouches_for(self, stamp: Stamp) -> bool:
        """Return whether this stamp alone proves that the content is still the same."""
        return stamp == self.stamp and not self.is_racy

    @property
    def is_racy(self) -> bool:
        """The file was written so shortly before it was read that another write could look the same.

        Git calls such an index entry racy. A time in the future is racy for as long as it is one.
        """
        changed_ns = max(self.stamp.mtime_ns, self.stamp.ctime_ns)
        tick = FINE_TICK_NS if self.stamp.mtime_ns % SECOND_NS else COARSE_TICK_NS
        return changed_ns + tick >= self.read_at_ns


@dataclass(frozen=True, slots=True)
class FileContent:
    data: bytes
    fingerprint: Fingerprint


@dataclass(frozen=True, slots=True)
class Unreadable:
    reason: str


def digest_of(data: bytes) -> str:
    return xxhash.xxh3_128_hexdigest(data)


def read_file(root: str, path: str, *, clock_ns: Callable[[], int] = time.time_ns) -> FileContent | Unreadable:
    """The content of a file as it was at one moment, or why there is none.

    A file that is written while it is read shows different stamps before and after and is read again.
    """
    place = os.path.join(root, path)
    # A folder may have become a symlink since the walk; what it leads to is not in the root.
    folder = os.path.dirname(place)
    if os.path.realpath(folder) != folder:
        return Unreadable("its folder is reached through a symlink")
    for _ in range(READ_ATTEMPTS):
        read_at_ns = clock_ns()
        try:
            before, data = _read_once(place)
            after = os.lstat(place)
        except OSError as error:
            return Unreadable(error.strerror or type(error).__name__)
        if not stat.S_ISREG(before.st_mode):
            return Unreadable("it is not a regular file")
        stamp = stamp_of(before)
        if stamp == stamp_of(after) and len(data) == stamp.size:
            return FileContent(data, Fingerprint(stamp, digest_of(data), read_at_ns))
    return Unreadable("it kept changing while it was read")


def _read_once(place: str) -> tuple[os.stat_result, bytes]:
    # Not through a symlink, and not blocked for ever by a pipe that took the file's place.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    handle = os.open(place, flags | getattr(os, "O_BINARY", 0))
    with open(handle, "rb") as file:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            return found, b""
        # One byte more than it should have tells that it grew; the rest of an endless one is not read.
        return found, file.read(found.st_size + 1) or b""
