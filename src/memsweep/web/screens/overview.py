"""Overview: what a collection would take, how much there is, how it grew, what happened lately."""

from __future__ import annotations

from starlette.responses import Response

from memsweep.web.screen import Call, Screen


def overview(call: Call) -> Response:
    stats = call.memory.stats()
    return call.show("overview.html", stats=stats, revision=call.revision)


SCREEN = Screen("overview", "Overview", "/", "home", "o", shows={"/": overview}, on_phone=True)
