"""memsweep serve"""

from __future__ import annotations

from typing import Annotated

import typer

from memsweep.errors import BadInput
from memsweep.server.profiles import ABOUT
from memsweep.server.start import start

DEFAULT_HOST, DEFAULT_PORT = "127.0.0.1", 8765


def serve(
    profile: Annotated[str, typer.Option(help=f"Which tools to offer: {ABOUT}.")] = "default",
    project: Annotated[
        str, typer.Option(metavar="FOLDER", help="A folder of the project; by default what the client says.")
    ] = "",
    http: Annotated[bool, typer.Option("--http", help="Serve over HTTP, behind tokens.")] = False,
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="Where --http listens.")] = DEFAULT_HOST,
    port: Annotated[int, typer.Option(help="Its port; 0: any that is free.", min=0, max=65535)] = DEFAULT_PORT,
    allowed_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Another name that clients call --http by; may be given several times."),
    ] = None,
    ui: Annotated[bool, typer.Option("--ui", help="With --http: the page of `memsweep ui` as well.")] = False,
) -> None:
    """Serve agents over MCP, on standard input and output or over HTTP."""
    if http:
        from memsweep.server.http.start import serve_http

        serve_http(profile, project, host, port, allowed_host or (), ui=ui)
        return
    if ui or allowed_host or (host, port) != (DEFAULT_HOST, DEFAULT_PORT):
        raise BadInput("--host, --port, --allowed-host and --ui are for HTTP.", hint="Add --http.")
    start(profile, project)
