"""memsweep serve, ui"""

from __future__ import annotations

from typing import Annotated

import typer

from memsweep.errors import BadInput
from memsweep.server.profiles import ABOUT
from memsweep.server.start import start

DEFAULT_HOST, DEFAULT_PORT, PAGE_PORT = "127.0.0.1", 8765, 8737


def serve(
    context: typer.Context,
    profile: Annotated[str, typer.Option(help=f"Which tools to offer: {ABOUT}.")] = "default",
    project: Annotated[
        str, typer.Option(metavar="FOLDER", help="A folder of the project; by default what the client says.")
    ] = "",
    http: Annotated[bool, typer.Option("--http", help="Serve over HTTP, behind tokens.")] = False,
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="The address that --http listens on.")] = DEFAULT_HOST,
    port: Annotated[
        int, typer.Option(help="The port that --http listens on; 0 picks a free one.", min=0, max=65535)
    ] = DEFAULT_PORT,
    allowed_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Another host name under which clients reach --http; can be repeated."),
    ] = None,
    ui: Annotated[bool, typer.Option("--ui", help="With --http: the page of `memsweep ui` as well.")] = False,
) -> None:
    """Serve agents over MCP, on standard input and output or over HTTP."""
    project = project or context.find_root().params["project"]
    if http:
        from memsweep.server.http.start import serve_http

        serve_http(profile, project, host, port, allowed_host or (), ui=ui)
        return
    if ui or allowed_host or (host, port) != (DEFAULT_HOST, DEFAULT_PORT):
        raise BadInput("--host, --port, --allowed-host and --ui are for HTTP.", hint="Add --http.")
    start(profile, project)


def ui(
    port: Annotated[int, typer.Option(help="The port to listen on; 0 picks a free one.", min=0, max=65535)] = PAGE_PORT,
    no_open: Annotated[bool, typer.Option("--no-open", help="Print the link, and open no browser.")] = False,
) -> None:
    """Open a page that shows what is remembered, and what a collection would take; this machine only."""
    from memsweep.cli.door import with_app
    from memsweep.web.serving import serve_page

    with_app(lambda app: serve_page(app, port, open_browser=not no_open))
