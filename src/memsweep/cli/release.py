"""memsweep release"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from typer import Argument

from memsweep.cli.door import InWorkspace, Json, say, show, with_app
from memsweep.report import releases as report

if TYPE_CHECKING:
    from memsweep.services.memory import Memory


def release(
    memory_id: Annotated[str, Argument(metavar="ID")], workspace: InWorkspace = "", as_json: Json = False
) -> None:
    """Let a memory with its facts, or a fact (rel_...), out of quarantine, so that search finds it."""
    answer = with_app(lambda app: _released(app.memory(workspace), memory_id))
    show(answer, as_json, lambda console: say(console, answer["message"]))


def _released(memory: Memory, own_id: str) -> report.ReleaseAnswer | report.ReleasedFactAnswer:
    if not own_id.startswith("rel_"):
        return report.released(memory.release(own_id))
    memory.graph.release(own_id)
    return report.released_fact(own_id)
