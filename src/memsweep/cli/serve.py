"""memsweep serve"""

from __future__ import annotations

from typing import Annotated

import typer

from memsweep.server.start import start


def serve(
    profile: Annotated[
        str, typer.Option(help="Which tools to offer: default (fewer tokens) or full (all).")
    ] = "default",
) -> None:
    """Serve agents over MCP on standard input and output."""
    start(profile)
