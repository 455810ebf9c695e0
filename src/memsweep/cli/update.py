"""memsweep update"""

from __future__ import annotations

from typing import Annotated

from typer import Argument, Option

from memsweep.cli.door import InWorkspace, Json, say, show, with_app
from memsweep.cli.remember import json_object, standard_input
from memsweep.report import updates as report
from memsweep.report.secrets_met import in_sentences


def update(
    memory_id: Annotated[str, Argument(help="The id that remember or search printed.")],
    text: Annotated[str | None, Argument(help="The new text; `-` reads it from standard input.")] = None,
    tag: Annotated[list[str] | None, Option("--tag", "-t", help="Its tags from now on; can be repeated.")] = None,
    metadata: Annotated[str, Option(metavar="JSON", help="A JSON object in place of its metadata.")] = "",
    workspace: InWorkspace = "",
    as_json: Json = False,
) -> None:
    """Replace the text, tags or metadata of a memory; `undo` brings the old ones back."""
    body = standard_input() if text == "-" else text
    change = with_app(
        lambda app: app.memory(workspace).update(memory_id, text=body, tags=tag or None, metadata=json_object(metadata))
    )
    answer = report.updated(change)
    sentences = " ".join((answer["message"], *in_sentences(answer)))
    show(answer, as_json, lambda console: say(console, sentences))
