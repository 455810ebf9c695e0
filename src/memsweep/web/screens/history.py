"""History: who did what, when, and through which door; undo from there."""

from __future__ import annotations

from itertools import groupby

from starlette.responses import Response

from memsweep.web.events import told
from memsweep.web.screen import Call, Screen
from memsweep.web.words import day

PER_PAGE = 200


def history(call: Call) -> Response:
    lines = told(call.memory.sweep.audit(limit=PER_PAGE))
    days = [(name, list(rows)) for name, rows in groupby(lines, lambda line: day(line.at, call.now))]
    return call.show("history.html", days=days, revision=call.revision)


SCREEN = Screen("history", "History", "/history", "clock", "h", shows={"/history": history}, on_phone=True)
