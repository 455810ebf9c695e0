"""The page on a port of this machine: the link, the browser, and a server that ends when it is told to."""

from __future__ import annotations

import socket
import sys
import webbrowser
from contextlib import suppress
from typing import TYPE_CHECKING

from memsweep.errors import Conflict
from memsweep.web.guard import make_guard
from memsweep.web.guarded import Guarded
from memsweep.web.login import OneTimeLink
from memsweep.web.page import make_page

if TYPE_CHECKING:
    import uvicorn

    from memsweep.app import App

_HOST = "127.0.0.1"
_STOP_SECONDS = 3


def serve_page(app: App, port: int, *, open_browser: bool) -> None:
    """Serve the page until somebody stops it."""
    link = OneTimeLink()
    with listen(port) as listener:
        server = page_server(app, link, listener)
        _say(address_of(listener, link), open_browser)
        with suppress(KeyboardInterrupt):  # which uvicorn passes on when it has ended
            server.run([listener])


def page_server(app: App, link: OneTimeLink, listener: socket.socket) -> uvicorn.Server:
    import uvicorn

    from memsweep.web.connections import limits

    port, patience = listener.getsockname()[1], app.settings.http.patience_seconds
    config = uvicorn.Config(
        Guarded(make_page(app, link.redeem, port), make_guard(port), patience),
        log_level="warning",
        lifespan="off",
        timeout_graceful_shutdown=_STOP_SECONDS,
        **limits(patience),
    )
    return uvicorn.Server(config)


def address_of(listener: socket.socket, link: OneTimeLink) -> str:
    """What stands behind the # is never sent to a server, so it is in no log."""
    return f"http://{_HOST}:{listener.getsockname()[1]}/login#{link.token}"


def _say(address: str, open_browser: bool) -> None:
    """The listener takes connections already, so that whoever follows the link is answered."""
    print(f"The page is at {address}", flush=True)
    print("The link works once. Ctrl-C ends the page.", file=sys.stderr, flush=True)
    if open_browser:
        webbrowser.open(address)


def listen(port: int) -> socket.socket:
    # Named as TCP, so that asyncio lets answers go at once.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((_HOST, port))
    except OSError as error:
        listener.close()
        raise Conflict(
            f"cannot listen on port {port} ({error.strerror}).",
            hint="Another program may use it: choose another --port, or 0 for a free one.",
        ) from error
    listener.listen()
    return listener
