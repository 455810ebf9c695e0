"""What a form has sent: names and values, and no files."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from starlette.datastructures import FormData, UploadFile

from memsweep.errors import BadInput

if TYPE_CHECKING:
    from starlette.requests import Request

MOST_FIELDS = 50_000
_KIND = "application/x-www-form-urlencoded"


async def read_form(request: Request, most_fields: int = MOST_FIELDS) -> FormData:
    """The guard limits its size; what is no UTF-8 becomes what no stored text or token is equal to."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != _KIND:
        raise BadInput(f"this page sends its forms as {_KIND}, and this is {kind or 'nothing'!r:.60}.")
    body = await request.body()
    try:
        found = parse_qsl(body.decode("latin-1"), keep_blank_values=True, max_num_fields=most_fields)
    except ValueError as error:
        raise BadInput(f"this form has more than {most_fields:,} fields.", hint="Take fewer at once.") from error
    pairs: list[tuple[str, str | UploadFile]] = [*found]
    return FormData(pairs)
