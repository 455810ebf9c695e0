"""Cursors: where a listing goes on, bound to what it lists. Pure."""

from __future__ import annotations

import base64
import binascii

from memsweep.errors import BadInput
from memsweep.model.text import content_hash

MAX_LIMIT = 1000
_TICKET_BYTES = 6


def page_size(limit: object, most: int = MAX_LIMIT) -> int:
    """How many a page may have."""
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= most:
        raise BadInput(f"limit must be from 1 to {most}, not {limit!r:.40}.")
    return limit


def cursor_at(offset: int, total: int, listing: str) -> str | None:
    """The cursor of the next page, or None behind the last."""
    if offset >= total:
        return None
    return base64.urlsafe_b64encode(_ticket(listing) + offset.to_bytes(4, "big")).decode().rstrip("=")


def offset_of(cursor: str | None, listing: str) -> int:
    """Where a page begins; a cursor of another listing is refused."""
    if not cursor:
        return 0
    return int.from_bytes(_opened(cursor, listing, 4), "big")


def cursor_after(key: int, listing: str) -> str:
    """The cursor of a page that begins behind a row: it stays right when rows are added before it."""
    return base64.urlsafe_b64encode(_ticket(listing) + key.to_bytes(8, "big")).decode().rstrip("=")


def key_of(cursor: str | None, listing: str) -> int | None:
    """Behind which row a page begins; None for the first page. A cursor of another listing is refused."""
    if not cursor:
        return None
    return int.from_bytes(_opened(cursor, listing, 8), "big")


def _opened(cursor: str, listing: str, size: int) -> bytes:
    try:
        raw = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
    except (ValueError, binascii.Error, TypeError):
        raw = b""
    if len(raw) != _TICKET_BYTES + size or raw[:_TICKET_BYTES] != _ticket(listing):
        raise BadInput(
            f"cursor {cursor!r:.40} does not belong to this listing.",
            hint="Repeat the call that gave it with the same arguments, or leave it out.",
        )
    return raw[_TICKET_BYTES:]


def _ticket(listing: str) -> bytes:
    return content_hash(listing)[:_TICKET_BYTES]
