"""memsweep release"""

from __future__ import annotations

from typing import Annotated

from typer import Argument

from memsweep.cli.door import InWorkspace, Json, say, show, with_app
from memsweep.report import releases as report


def release(
    memory_id: Annotated[str, Argument(metavar="ID")], workspace: InWorkspace = "", as_json: Json = False
) -> None:
    """Let a memory out of quarantine, so that search finds it."""
    answer = report.released(with_app(lambda app: app.memory(workspace).release(memory_id)))
    show(answer, as_json, lambda console: say(console, answer["message"]))
