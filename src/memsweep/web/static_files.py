"""The files of the page, by their names: a style sheet, two scripts, an icon. They change with their version."""

from __future__ import annotations

import mimetypes
from functools import cache
from typing import TYPE_CHECKING

from starlette.responses import Response

from memsweep.web.rendering import STATIC

if TYPE_CHECKING:
    from starlette.requests import Request

_DAY = 86_400


async def static_file(request: Request) -> Response:
    found = _files().get(request.path_params["name"])
    if found is None:
        return Response("There is no such file.", 404, media_type="text/plain")
    content, kind = found
    return Response(content, media_type=kind, headers={"cache-control": f"private, max-age={_DAY}"})


@cache
def _files() -> dict[str, tuple[bytes, str]]:
    kinds = {path.name: mimetypes.types_map.get(path.suffix, "text/plain") for path in STATIC.iterdir()}
    return {name: ((STATIC / name).read_bytes(), kind) for name, kind in kinds.items()}
