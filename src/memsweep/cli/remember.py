"""memsweep remember, update, release"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from memsweep.cli.door import InWorkspace, Json, harmless, say, show, standard_input, with_app
from memsweep.cli.options import Id, MemoryId, with_options
from memsweep.errors import BadInput
from memsweep.model.memory import Remembering, arguments_of
from memsweep.model.text import MAX_TEXT_BYTES, counted
from memsweep.report import memory as report
from memsweep.report import updates
from memsweep.report.memory import in_sentences

if TYPE_CHECKING:
    from rich.console import Console

    from memsweep.services.memory import Memory


def json_object(text: str) -> Any:
    if not text:
        return None
    try:
        return json.loads(text)
    except ValueError as error:
        raise BadInput(f"--metadata {text[:60]!r} is not JSON ({error}).") from None


@with_options("said", arguments_of(Remembering), {"metadata": json_object})
def remember(
    text: Annotated[str, Argument(help="The text; `-` reads it from standard input.")],
    said: Any = None,
    workspace: InWorkspace = "",
    as_json: Json = False,
) -> None:
    """Remember a text."""
    body = standard_input(MAX_TEXT_BYTES) if text == "-" else text
    result = with_app(lambda app: app.memory(workspace).remember(body, find_similar=True, **said))
    answer = report.remembered(result)
    if result.duplicate_of:
        words = f"Known already as {result.memory_id}; marked as seen."
    else:
        words = f"Remembered as {result.memory_id} ({counted(result.chunks_created, 'chunk')})."
    if result.supersedes:
        words += f" It supersedes {', '.join(result.supersedes)}."
    sentences = " ".join((words, *in_sentences(answer)))

    def shown(console: Console) -> None:
        console.print(sentences, markup=False)
        for each in answer.get("similar", []):
            console.print(harmless(f"It {_SEEMS[each['kind']]} {each['memory_id']}: {each['text']}"), markup=False)
        if "similar" in answer:
            say(console, "If it takes the place of one, remember it again with --supersedes ID.")

    show(answer, as_json, shown)


def update(
    memory_id: MemoryId,
    text: Annotated[str | None, Argument(help="The new text; `-` reads it from standard input.")] = None,
    tag: Annotated[list[str] | None, Option("--tag", "-t", help="Its tags from now on; can be repeated.")] = None,
    metadata: Annotated[str, Option(metavar="JSON", help="A JSON object in place of its metadata.")] = "",
    workspace: InWorkspace = "",
    as_json: Json = False,
) -> None:
    """Replace the text, tags or metadata of a memory; `undo` brings the old ones back."""
    body = standard_input(MAX_TEXT_BYTES) if text == "-" else text
    change = with_app(
        lambda app: app.memory(workspace).update(memory_id, text=body, tags=tag or None, metadata=json_object(metadata))
    )
    answer = updates.updated(change)
    sentences = " ".join((answer["message"], *in_sentences(answer)))
    show(answer, as_json, lambda console: say(console, sentences))


def release(memory_id: Id, workspace: InWorkspace = "", as_json: Json = False) -> None:
    """Let a memory with its facts, or a fact (rel_...), out of quarantine, so that search finds it."""
    answer = with_app(lambda app: _released(app.memory(workspace), memory_id))
    show(answer, as_json, lambda console: say(console, answer["message"]))


def _released(memory: Memory, own_id: str) -> updates.ReleaseAnswer | updates.ReleasedFactAnswer:
    if not own_id.startswith("rel_"):
        return updates.released(memory.release(own_id))
    memory.graph.release(own_id)
    return updates.released_fact(own_id)


_SEEMS = {"repeats": "seems to repeat", "contradicts": "seems to contradict"}
