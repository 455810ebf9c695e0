"""Reads a write-ahead log as SQLite does after a crash, without changing it. https://sqlite.org/fileformat2.html"""

from __future__ import annotations

import struct
from pathlib import Path

_HEADER = struct.Struct(">8I")
_FRAME = struct.Struct(">6I")
_MAGIC = 0x377F0682
_WORD = 0xFFFFFFFF


def committed_frames(path: Path) -> int:
    """Return the number of frames up to the last commit before the log ends or is damaged."""
    try:
        with path.open("rb") as log:
            head = log.read(_HEADER.size)
            magic, _, page_size, _, *salts, first, second = _HEADER.unpack(head)
            if magic & ~1 != _MAGIC or (first, second) != _checksum(head[:24], 0, 0, magic):
                return 0
            count = committed = 0
            while len(frame := log.read(_FRAME.size + page_size)) == _FRAME.size + page_size:
                _, pages_after_commit, *found, one, two = _FRAME.unpack_from(frame)
                first, second = _checksum(frame[:8] + frame[_FRAME.size :], first, second, magic)
                if found != salts or (one, two) != (first, second):
                    break
                count += 1
                committed = count if pages_after_commit else committed
            return committed
    except (OSError, struct.error):
        return 0


def _checksum(data: bytes, first: int, second: int, magic: int) -> tuple[int, int]:
    """Fibonacci-weighted sums of 32-bit words, in the order of bytes that the magic number says."""
    words = struct.unpack(f"{'>' if magic & 1 else '<'}{len(data) // 4}I", data)
    for even, odd in zip(words[::2], words[1::2], strict=True):
        first = (first + even + second) & _WORD
        second = (second + odd + first) & _WORD
    return first, second
