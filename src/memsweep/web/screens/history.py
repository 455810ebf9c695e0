"""History: who did what, when, and through which door."""

from __future__ import annotations

from starlette.responses import Response

from memsweep.web.screen import Call, Screen


def history(call: Call) -> Response:
    return call.show("history.html", events=call.memory.sweep.audit(limit=100), revision=call.revision)


SCREEN = Screen("history", "History", "/history", "clock", "h", shows={"/history": history}, on_phone=True)
