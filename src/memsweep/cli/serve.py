"""memsweep serve"""

from __future__ import annotations

from typing import Annotated

import typer

from memsweep.server.profiles import ABOUT
from memsweep.server.start import start


def serve(
    profile: Annotated[str, typer.Option(help=f"Which tools to offer: {ABOUT}.")] = "default",
) -> None:
    """Serve agents over MCP on standard input and output."""
    start(profile)
