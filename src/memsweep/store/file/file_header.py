"""The first hundred bytes of a SQLite file, as a backup of ours has them. Pure."""

from __future__ import annotations

SIZE = 100
_MAGIC = b"SQLite format 3\0"


def problem(head: bytes, size: int) -> str:
    """Return what a backup of ours would not have; empty if nothing. SQLite itself believes more than this."""
    if len(head) < SIZE or not head.startswith(_MAGIC):
        return "it does not begin as an SQLite file does"
    page_size = _page_size(head)
    if page_size < 512 or page_size & (page_size - 1):
        return f"pages of {page_size} bytes"
    wrong = next((name for name, start, length, wanted in _FIELDS if _number(head, start, length) != wanted), "")
    if wrong:
        return f"its header has {wrong}"
    pages = _number(head, 28, 4)
    if size != pages * page_size:
        return f"{pages:,} pages of {page_size:,} bytes are not {size:,} bytes"
    return ""


def version(head: bytes) -> int:
    """The version of the schema that a file claims."""
    return _number(head, 60, 4)


def _page_size(head: bytes) -> int:
    said = _number(head, 16, 2)
    return 65536 if said == 1 else said


def _number(head: bytes, start: int, length: int) -> int:
    return int.from_bytes(head[start : start + length], "big")


# what is wrong if it is another: where it stands, how long, what it must be
_FIELDS = (
    ("another journal mode", 18, 1, 1),
    ("another journal mode", 19, 1, 1),
    ("reserved space", 20, 1, 0),
    ("another schema format", 44, 4, 4),
    ("vacuum pages", 52, 4, 0),
    ("another encoding than UTF-8", 56, 4, 1),
    ("incremental vacuum", 64, 4, 0),
    ("another application id", 68, 4, 0),
)
