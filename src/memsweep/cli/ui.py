"""memsweep ui: the page in a browser."""

from __future__ import annotations

from typing import Annotated

import typer

from memsweep.cli.door import with_app

DEFAULT_PORT = 8737


def ui(
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The port to listen on; 0: any that is free.", show_default=True)
    ] = DEFAULT_PORT,
    no_open: Annotated[bool, typer.Option("--no-open", help="Print the link, and open no browser.")] = False,
) -> None:
    """Open a page that shows what is remembered, and what a collection would take; this machine only."""
    from memsweep.web.serving import serve_page

    with_app(lambda app: serve_page(app, port, open_browser=not no_open))
