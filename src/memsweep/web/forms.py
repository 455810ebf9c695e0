"""Read a sent form. Our forms hold text alone, so nothing else is read: no files, no other form of body.

Read here and not by the framework: its parser works in the event loop, where 14 MB of `&` stop every other request for
a quarter of a minute, and takes the encoding that a client names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from anyio import to_thread
from starlette.datastructures import FormData
from starlette.requests import ClientDisconnect

from memsweep.errors import BadInput
from memsweep.web.guard import MOST_BODY_BYTES

if TYPE_CHECKING:
    from starlette.requests import Request

MOST_FIELDS = 50_000
_KIND = "application/x-www-form-urlencoded"


async def read_form(request: Request, most_fields: int = MOST_FIELDS, most_bytes: int = MOST_BODY_BYTES) -> FormData:
    """Return the fields of a form; bytes that are no UTF-8 become text that equals no stored text or token."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != _KIND:
        raise BadInput(f"this page sends its forms as {_KIND}, and this is {kind or 'nothing'!r:.60}.")
    body = bytearray()
    try:
        async for piece in request.stream():
            body += piece
            if len(body) > most_bytes:
                raise BadInput(f"this form has more than {most_bytes:,} bytes.", hint="Take fewer at once.")
    except ClientDisconnect:
        raise BadInput("this form arrived incomplete.", hint="Send it again.") from None
    return await to_thread.run_sync(_fields_of, bytes(body), most_fields)


def _fields_of(body: bytes, most: int) -> FormData:
    try:
        given: list[tuple[str, Any]] = [*parse_qsl(body.decode("latin-1"), keep_blank_values=True, max_num_fields=most)]
    except ValueError as error:
        raise BadInput(f"this form has more than {most:,} fields.", hint="Take fewer at once.") from error
    return FormData(given)
