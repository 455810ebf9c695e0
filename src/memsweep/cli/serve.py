"""memsweep serve"""

from __future__ import annotations

from typing import Annotated

import typer

from memsweep.server.profiles import ABOUT
from memsweep.server.start import start


def serve(
    profile: Annotated[str, typer.Option(help=f"Which tools to offer: {ABOUT}.")] = "default",
    project: Annotated[
        str, typer.Option(metavar="FOLDER", help="A folder of the project; by default what the client says.")
    ] = "",
) -> None:
    """Serve agents over MCP on standard input and output."""
    start(profile, project)
