"""Say whether the workspace has changed since a page was made: 204 if not, else the address to ask next."""

from __future__ import annotations

from starlette.responses import PlainTextResponse, Response

from memsweep.web.screen import Call, Screen


def pulse(call: Call) -> Response:
    revision = call.revision
    if call.asked("at") == revision:
        return Response(status_code=204)
    return PlainTextResponse(call.url("/pulse", at=revision))


SCREEN = Screen("pulse", "Pulse", "/pulse", shows={"/pulse": pulse})
