"""Pages of a listing, whoever answers them."""

from collections.abc import Callable, Iterator
from typing import Any


def pages_of(ask: Callable[..., Any], **asked: Any) -> Iterator[Any]:
    """Every page, one after the other: answers of a tool, or values of the library."""
    cursor = None
    while True:
        page = ask(**asked, cursor=cursor)
        yield page
        cursor = page["next_cursor"] if isinstance(page, dict) else page.next_cursor
        if cursor is None:
            return
