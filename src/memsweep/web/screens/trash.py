"""Trash: what can still come back, by receipt."""

from __future__ import annotations

from starlette.responses import Response

from memsweep.web.screen import Call, Screen

PER_PAGE = 50


def trash(call: Call) -> Response:
    page = call.whole_number("page")
    found = call.page.app.trash(call.workspace, offset=(page - 1) * PER_PAGE, limit=PER_PAGE)
    return call.show("trash.html", found=found, page=page, per_page=PER_PAGE, revision=call.revision)


def restore(call: Call) -> Response:
    call.memory.sweep.recover(call.part("item"))
    return call.go("/trash", "It is back.")


SCREEN = Screen(
    "trash", "Trash", "/trash", "trash", "t", shows={"/trash": trash}, acts={"/trash/{item}/restore": restore}
)
