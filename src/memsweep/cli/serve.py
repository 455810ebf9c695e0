"""memsweep serve"""

from __future__ import annotations

from typing import Annotated

import typer

from memsweep.app import make_app
from memsweep.errors import BadInput
from memsweep.server.tools import PROFILES


def serve(
    profile: Annotated[
        str, typer.Option(help="Which tools to offer: default (fewer tokens) or full (all).")
    ] = "default",
    project: Annotated[
        str, typer.Option(metavar="FOLDER", help="A folder of the project; by default what the client says.")
    ] = "",
) -> None:
    """Serve agents over MCP on standard input and output."""
    if profile not in PROFILES:
        raise BadInput(f"profile {profile!r} is unknown.", hint=f"Use one of: {', '.join(PROFILES)}.")
    from memsweep.server.app import serve as serve_app

    serve_app(make_app(project=project), profile)
