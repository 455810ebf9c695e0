"""The page on a port of this machine: the link, the browser, and a server that ends when it is told to."""

from __future__ import annotations

import signal
import socket
import sys
import threading
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from memsweep.errors import Conflict
from memsweep.store.drafts import draft_of, plain_refusals
from memsweep.web.guard import GuardedApp, make_guard
from memsweep.web.login import LINK_SECONDS, OneTimeLink
from memsweep.web.page import make_page

if TYPE_CHECKING:
    import uvicorn

    from memsweep.app import App

_HOST = "127.0.0.1"
_STOP_SECONDS = 3
_REDIRECT = """<!doctype html>
<meta charset="utf-8">
<meta http-equiv="content-security-policy" content="default-src 'none'">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0;url={address}">
<title>memsweep</title>
<p><a href="{address}">Open the page</a>
"""


def serve_page(app: App, port: int, *, open_browser: bool) -> None:
    """Serve the page until somebody stops it."""
    link = OneTimeLink()
    for kind in (signal.SIGINT, signal.SIGTERM):  # SIGINT too: a shell has its jobs in the background ignore it
        signal.signal(kind, signal.default_int_handler)  # an end like Ctrl-C, which takes the file away
    with listen(port) as listener, _redirect_file(app, listener, link) if open_browser else nullcontext() as file:
        server = page_server(app, link, listener)
        with suppress(KeyboardInterrupt):  # which uvicorn passes on when it has ended
            _say(address_of(listener, link), file)
            server.run([listener])


@contextmanager
def _redirect_file(app: App, listener: socket.socket, link: OneTimeLink) -> Iterator[Path]:
    """A page that only its owner can read and that leads to the link, for as long as this works.

    The command line of a browser can be read by every account of the machine, so the link itself must not be on it.
    """
    file = app.private_home("page") / f"open-{listener.getsockname()[1]}.html"
    remove = partial(file.unlink, missing_ok=True)
    with draft_of(file, replace=True) as draft, plain_refusals(file):
        draft.write_text(_REDIRECT.format(address=address_of(listener, link)), encoding="ascii")
    expiry = threading.Timer(LINK_SECONDS, remove)
    expiry.daemon = True
    expiry.start()
    link.on_use = remove
    try:
        yield file
    finally:
        expiry.cancel()
        remove()


def page_server(app: App, link: OneTimeLink, listener: socket.socket) -> uvicorn.Server:
    import uvicorn

    from memsweep.web.connections import EndingServer, limits

    port, patience = listener.getsockname()[1], app.settings.http.patience_seconds
    config = uvicorn.Config(
        GuardedApp(make_page(app, link.redeem, port), make_guard(port), patience),
        log_level="warning",
        lifespan="off",
        timeout_graceful_shutdown=_STOP_SECONDS,
        **limits(patience),
    )
    return EndingServer(config)


def address_of(listener: socket.socket, link: OneTimeLink) -> str:
    """Return the address with its link behind the #, which is never sent to a server, so it is in no log."""
    return f"http://{_HOST}:{listener.getsockname()[1]}/login#{link.token}"


def _say(address: str, file: Path | None) -> None:
    """The listener takes connections already, so that whoever follows the link is answered."""
    print(f"The page is at {address}", flush=True)
    minutes = LINK_SECONDS // 60
    print(f"The link works once, within {minutes} minutes. Ctrl-C ends the page.", file=sys.stderr, flush=True)
    if file is not None:
        webbrowser.open(file.as_uri())


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
