"""The fields of a form. Our forms hold text alone, so nothing else is read: no files, no other form of body.

Read here and not by the framework: its parser works in the event loop, where 14 MB of `&` stop every other request for
a quarter of a minute, and takes the encoding that a client names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from anyio import to_thread
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

if TYPE_CHECKING:
    from starlette.requests import Request

_KIND = "application/x-www-form-urlencoded"


async def read_form(request: Request, *, most_fields: int, most_bytes: int) -> FormData:
    """What was filled in; nothing, if the body is no form of ours."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _KIND:
        return FormData()
    body = bytearray()
    try:
        async for piece in request.stream():
            body += piece
            if len(body) > most_bytes:
                raise HTTPException(413, f"The form has more than {most_bytes:,} bytes, which is the most.")
    except ClientDisconnect:
        raise HTTPException(400, "The form did not come whole.") from None
    return await to_thread.run_sync(fields_of, bytes(body), most_fields)


def fields_of(body: bytes, most: int) -> FormData:
    try:
        given: list[tuple[str, Any]] = [*parse_qsl(body.decode("latin-1"), keep_blank_values=True, max_num_fields=most)]
    except ValueError:
        raise HTTPException(400, f"The form has more than {most:,} fields, which is the most.") from None
    return FormData(given)
