"""Cursors: where a listing goes on, bound to what it lists. Pure."""

from __future__ import annotations

import base64
import binascii
import struct
from typing import NamedTuple

from memsweep.errors import BadInput
from memsweep.model.text import content_hash

MAX_LIMIT = 1000
DEFAULT_LISTED = 50
_TICKET_BYTES = 6
_MARK = struct.Struct(">QLL")
_MOST = 2**32 - 1


class PageMark(NamedTuple):
    """The last row of a page, by its key; how many rows came up to it, and how many there were in all."""

    key: int
    passed: int
    total: int
    name: str = ""
    """Of the last row, where rows are in the order of names."""


def page_size(limit: object, most: int = MAX_LIMIT) -> int:
    """Return the checked size of a page."""
    return within("limit", limit, most)


def within(what: str, number: object, most: int) -> int:
    """A whole number from 1 to the most there may be."""
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= most:
        raise BadInput(f"{what} must be from 1 to {most}, not {number!r:.40}.")
    return number


def cursor_at(offset: int, total: int, listing: str) -> str | None:
    """The cursor of the next page, or None behind the last."""
    if offset >= total:
        return None
    return _written(offset.to_bytes(4, "big"), listing)


def offset_of(cursor: str | None, listing: str) -> int:
    """Return the offset where a page begins; a cursor of another listing is refused."""
    return int.from_bytes(_read(cursor, 4, listing), "big") if cursor else 0


def cursor_after(mark: PageMark, listing: str) -> str:
    """The cursor of the page that follows a row, whatever is added or removed meanwhile."""
    numbers = _MARK.pack(mark.key, min(mark.passed, _MOST), min(mark.total, _MOST))
    return _written(numbers + mark.name.encode("utf-8", "surrogatepass"), listing)


def mark_of(cursor: str | None, listing: str) -> PageMark | None:
    """The row that a page follows; a cursor of another listing is refused."""
    if not cursor:
        return None
    raw = _read(cursor, _MARK.size, listing, and_more=True)
    key, passed, total = _MARK.unpack(raw[: _MARK.size])
    return PageMark(key, passed, total, raw[_MARK.size :].decode("utf-8", "replace"))


def _written(place: bytes, listing: str) -> str:
    return base64.urlsafe_b64encode(_ticket(listing) + place).decode().rstrip("=")


def _read(cursor: str, size: int, listing: str, *, and_more: bool = False) -> bytes:
    try:
        raw = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
    except (ValueError, binascii.Error, TypeError):
        raw = b""
    rest = len(raw) - _TICKET_BYTES - size
    if rest < 0 or (rest and not and_more) or raw[:_TICKET_BYTES] != _ticket(listing):
        raise BadInput(
            f"cursor {cursor!r:.40} does not belong to this listing.",
            hint="Repeat the call that gave it with the same arguments, or leave it out.",
        )
    return raw[_TICKET_BYTES:]


def _ticket(listing: str) -> bytes:
    return content_hash(listing)[:_TICKET_BYTES]
