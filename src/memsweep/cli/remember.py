"""memsweep remember"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from memsweep.cli.door import InWorkspace, Json, harmless, say, show, with_app
from memsweep.errors import BadInput
from memsweep.model.text import MAX_TEXT_BYTES, counted
from memsweep.report import memory as report
from memsweep.report.secrets_met import in_sentences

if TYPE_CHECKING:
    from rich.console import Console


def remember(
    text: Annotated[str, Argument(help="The text; `-` reads it from standard input.")],
    tag: Annotated[list[str] | None, Option("--tag", "-t", help="A tag; can be repeated.")] = None,
    source: Annotated[str, Option(help="Where it came from.")] = "",
    metadata: Annotated[str, Option(metavar="JSON", help="A JSON object to store with it.")] = "",
    thread: Annotated[str, Option(help="The conversation it is a turn of.")] = "",
    entity: Annotated[list[str] | None, Option("--entity", help="A name it mentions; can be repeated.")] = None,
    expires: Annotated[str, Option(metavar="DATE", help="When it expires and may be collected.")] = "",
    tier: Annotated[str, Option(help="agent, tool or import, if not a person said it.")] = "",
    pin: Annotated[bool, Option("--pin", help="Never collect it.")] = False,
    scope: Annotated[
        str, Option(metavar="project|personal", help="personal: preferences, people, habits; found in every project.")
    ] = "project",
    supersedes: Annotated[
        list[str] | None, Option(metavar="ID", help="A memory whose place it takes; can be repeated.")
    ] = None,
    workspace: InWorkspace = "",
    as_json: Json = False,
) -> None:
    """Remember a text."""
    body = standard_input() if text == "-" else text
    result = with_app(
        lambda app: app.memory(workspace).remember(
            body,
            tags=tag,
            source=source,
            metadata=json_object(metadata),
            thread_id=thread or None,
            entities=entity or None,
            expires_at=expires or None,
            pinned=pin,
            scope=scope,
            tier=tier,
            supersedes=supersedes or None,
            find_similar=True,
        )
    )
    answer = report.remembered(result)
    if result.duplicate_of:
        words = f"Known already as {result.memory_id}; marked as seen."
    else:
        words = f"Remembered as {result.memory_id} ({counted(result.chunks_created, 'chunk')})."
    if result.supersedes:
        words += f" It supersedes {', '.join(result.supersedes)}."
    sentences = " ".join((words, *in_sentences(answer)))

    def said(console: Console) -> None:
        console.print(sentences, markup=False)
        for each in answer.get("similar", []):
            console.print(harmless(f"It {_SEEMS[each['kind']]} {each['memory_id']}: {each['text']}"), markup=False)
        if "similar" in answer:
            say(console, "If it takes the place of one, remember it again with --supersedes ID.")

    show(answer, as_json, said)


_SEEMS = {"repeats": "seems to repeat", "contradicts": "seems to contradict"}


def standard_input() -> str:
    raw = sys.stdin.buffer.read(MAX_TEXT_BYTES + 1)
    if len(raw) > MAX_TEXT_BYTES:
        raise BadInput(f"standard input has more than {MAX_TEXT_BYTES:,} bytes, which is the most.", hint="Split it.")
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise BadInput(f"standard input is not UTF-8 ({error.reason} at byte {error.start}).") from None


def json_object(text: str) -> Any:
    if not text:
        return None
    try:
        return json.loads(text)
    except ValueError as error:
        raise BadInput(f"--metadata {text[:60]!r} is not JSON ({error}).") from None
