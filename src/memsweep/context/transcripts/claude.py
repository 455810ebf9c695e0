"""Sessions of Claude Code: one JSON line a message, an attachment or a note of the program's own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from memsweep.context.forms import Turn, read_turn
from memsweep.context.transcripts.reading import SessionReading, safe_id, version_of
from memsweep.model.typed import is_typed

_COMMANDS = ("<command-name>", "<command-message>", "<local-command-stdout>", "<local-command-stderr>", "<bash-stdout>")
"""The output of a command of the program for the person, which is no message to the model."""
_SAYS_WHO_TYPED = (2, 1, 187)
"""The first version that names a person in the `origin` of what one typed."""


def read_lines(reading: SessionReading, lines: Iterable[Mapping[str, Any]]) -> None:
    """Read the lines of this window, each under its own id.

    That a line answers the line before it is no reference here: then everything would lead to everything.
    """
    for line in lines:
        if not line.get("isSidechain") and not line.get("isMeta"):
            _read(reading, line)


def _read(reading: SessionReading, line: Mapping[str, Any]) -> None:
    message, own, at = line.get("message"), line.get("uuid"), {"created_at": line.get("timestamp")}
    if line.get("type") == "summary" and isinstance(line.get("summary"), str):
        leaf = safe_id(str(line.get("leafUuid", len(reading.segments))))
        reading.put(f"summary-{leaf}", line["summary"], type="summary")
    elif line.get("subtype") == "compact_boundary":
        reading.compact(_preserved(line))
    elif not isinstance(own, str):
        return
    elif (prompt := _queued_prompt(line)) is not None:
        inner = line["attachment"]
        both = {name: [inner[name], line[name]] for name in inner.keys() & line.keys() - {"type", "version"}}
        reading.take(own, _by_whom({**inner, **line, **both}, {"role": "user", "content": prompt}), **at)
    elif isinstance(message, dict) and message.get("role") and not _is_of_a_command(message):
        if line.get("isCompactSummary"):
            turn = read_turn(message)
            reading.summarise(own, turn.text, role=turn.role, **at)
        else:
            reading.take(own, _by_whom(line, message), **at)


def _by_whom(line: Mapping[str, Any], message: Mapping[str, Any]) -> Turn:
    """The turn; what stands in the user's role and was not typed by a person is a tool's."""
    turn, is_of_a_program = read_turn(message), str(line.get("entrypoint")).startswith("sdk")
    must_say = is_of_a_program or version_of(line.get("version")) >= _SAYS_WHO_TYPED
    is_a_persons = turn.role != "user" or is_typed(line, message.get("content"), must_say=must_say)
    return turn if is_a_persons else replace(turn, role="tool")


def _preserved(line: Mapping[str, Any]) -> set[str]:
    """The messages that a compaction leaves as they are."""
    found: Any = line
    for key in ("compactMetadata", "preservedMessages", "uuids"):
        found = found.get(key) if isinstance(found, Mapping) else None
    return {each for each in found if isinstance(each, str)} if isinstance(found, list) else set()


def _queued_prompt(line: Mapping[str, Any]) -> str | list[Any] | None:
    """Return the prompt that the person wrote while the model was at work."""
    attachment = line.get("attachment")
    if not isinstance(attachment, Mapping) or attachment.get("type") != "queued_command":
        return None
    prompt = attachment.get("prompt") if attachment.get("commandMode", "prompt") == "prompt" else None
    return prompt if isinstance(prompt, str | list) else None


def _is_of_a_command(message: Mapping[str, Any]) -> bool:
    content = message.get("content")
    return message.get("role") == "user" and isinstance(content, str) and content.lstrip().startswith(_COMMANDS)
