"""Index files as git would never write them."""

import hashlib
import struct
from collections.abc import Iterable
from pathlib import Path

FILE = 0o100644


def entry(name: bytes, mode: int = FILE) -> bytes:
    fixed = struct.pack(">10I", 0, 0, 0, 0, 0, 0, mode, 0, 0, 0) + b"\x11" * 20
    raw = fixed + struct.pack(">H", min(len(name), 0xFFF)) + name
    return raw + b"\0" * (8 - len(raw) % 8)


def sealed(body: bytes) -> bytes:
    return body + hashlib.sha1(body).digest()


def index_of(entries: Iterable[bytes], count: int | None = None) -> bytes:
    entries = list(entries)
    head = struct.pack(">4sII", b"DIRC", 2, len(entries) if count is None else count)
    return sealed(head + b"".join(entries))


def write_index(place: Path, names: Iterable[bytes]) -> None:
    place.write_bytes(index_of(entry(name) for name in sorted(names)))
