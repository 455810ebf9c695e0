"""memsweep hook"""

from __future__ import annotations

from typing import Annotated

import typer
from typer import Argument

from memsweep.hooks.door import run
from memsweep.hooks.event import EVENTS


def hook(event: Annotated[str, Argument(metavar="EVENT", help=f"One of {', '.join(EVENTS)}.")]) -> None:
    """Answer an event of an agent's client, described in JSON on standard input. The plugin of the client calls it.

    The exit status is 0 whatever happens; `memsweep hooks log` shows what did.
    """
    raise typer.Exit(run([event]))
