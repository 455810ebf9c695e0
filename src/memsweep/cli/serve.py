"""memsweep serve, and the command line that the other commands join.

Agents start servers often and wait for them, so nothing here imports the other commands.
"""

from __future__ import annotations

from typing import Annotated

import typer

from memsweep import __version__
from memsweep.app import make_app
from memsweep.errors import BadInput
from memsweep.server.tools import PROFILES

cli = typer.Typer(
    help="Long-term memory for AI agents, with a garbage collector that can be trusted.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"memsweep {__version__}")
        raise typer.Exit


@cli.callback()
def memsweep(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None: ...


@cli.command()
def serve(
    profile: Annotated[
        str, typer.Option(help="Which tools to offer: default (fewer tokens) or full (all).")
    ] = "default",
) -> None:
    """Serve agents over MCP on standard input and output."""
    if profile not in PROFILES:
        raise BadInput(f"profile {profile!r} is unknown.", hint=f"Use one of: {', '.join(PROFILES)}.")
    from memsweep.server.app import serve as serve_app

    serve_app(make_app(), profile)
