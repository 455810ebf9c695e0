"""Sessions of Codex: rollout files of one JSON line an item of the conversation, or an event beside it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from memsweep.context.forms import read_turn
from memsweep.context.transcripts.reading import SessionReading, digest, version_of
from memsweep.model.typed import is_typed

_OF_THE_CLIENT = (
    "<environment_context>",
    "<user_instructions>",
    "<permissions instructions>",
    "<skills_instructions>",
    "<turn_aborted>",
    "# AGENTS.md instructions",
)
"""The beginnings of messages that the program itself sends as the user."""
_WHERE_PEOPLE_TYPE = ("cli", "exec", "vscode")
_SAYS_WHO_TYPED = (0, 166, 0)
"""The first version that is known to say of each piece whose it is."""
_PIECES = "internal_chat_message_metadata_passthrough"


def is_rollout(lines: Sequence[Mapping[str, Any]]) -> bool:
    return any(isinstance(line.get("payload"), Mapping) and "message" not in line for line in lines)


def read_lines(reading: SessionReading, lines: Iterable[Mapping[str, Any]]) -> None:
    for line in lines:
        payload, at = line.get("payload"), {"created_at": line.get("timestamp")}
        if not isinstance(payload, Mapping):
            continue
        if line.get("type") == "session_meta":
            if reading.typist != "agent":
                reading.typist = _typist(payload)
        elif line.get("type") == "response_item" and (message := _message(payload)) is not None:
            turn = read_turn(message)
            if turn.role == "user" and (reading.typist == "agent" or not _is_typed(line, payload, reading.typist)):
                turn = replace(turn, role="tool")
            reading.take(_own(payload, line.get("timestamp")), turn, **at)
        elif line.get("type") == "compacted":
            _compact(reading, payload, at)


def _typist(meta: Mapping[str, Any]) -> str:
    """Return `agent` for a session that an agent or the program itself began: nobody types there."""
    if meta.get("source", "cli") not in _WHERE_PEOPLE_TYPE or meta.get("thread_source", "user") != "user":
        return "agent"
    return "named" if version_of(meta.get("cli_version")) >= _SAYS_WHO_TYPED else ""


def _is_typed(line: Mapping[str, Any], item: Mapping[str, Any], typist: str) -> bool:
    """By all that the program says of a message, which newer versions do piece by piece."""
    pieces, metadata, content = item.get(_PIECES), line.get("metadata"), item.get("content")
    said = {**line, **item, **(metadata if isinstance(metadata, Mapping) else {})}
    said = {name: value for name, value in said.items() if name not in ("metadata", _PIECES)}
    if isinstance(pieces, Mapping):
        kinds = [pieces.get(name) for name in ("content_item_kinds", "content_item_metadata")]
        is_of_each = all(len(kind) == len(content or ()) for kind in kinds if isinstance(kind, list))
        said["origin"] = [each for each in (*kinds, said.get("origin")) if each] if is_of_each else "unknown"
    return is_typed(said, content, must_say=typist == "named" or isinstance(pieces, Mapping))


def _compact(reading: SessionReading, payload: Mapping[str, Any], at: Mapping[str, Any]) -> None:
    """A summary in place of all but the messages that the program lists as the history from now on."""
    history = payload.get("replacement_history")
    kept = [each for each in history if isinstance(each, Mapping)] if isinstance(history, list) else []
    reading.compact({_own(each, None) for each in kept})
    if isinstance(summary := payload.get("message"), str):
        reading.summarise(f"compacted-{_digest(payload)}", summary, role="user", **at)


def _message(item: Mapping[str, Any]) -> dict[str, Any] | None:
    """An item as a message that `read_turn` knows; None where it is none of the person or the model."""
    match item.get("type"):
        case "message" if item.get("role") in ("user", "assistant") and not _is_of_the_client(item):
            return {"role": item["role"], "content": item.get("content")}
        case "reasoning" if item.get("summary"):
            return {"role": "assistant", "content": [dict(item)]}
        case "function_call" | "custom_tool_call" | "local_shell_call":
            arguments = item.get("arguments", item.get("input", item.get("action", {})))
            call = {"name": item.get("name", "shell"), "arguments": arguments}
            return {"role": "assistant", "tool_calls": [{"id": _call_id(item), "function": call}]}
        case "function_call_output" | "custom_tool_call_output" | "local_shell_call_output":
            return {"role": "tool", "tool_call_id": _call_id(item), "content": item.get("output")}
    return None


def _is_of_the_client(item: Mapping[str, Any]) -> bool:
    content = item.get("content")
    first = content[0] if isinstance(content, list) and content else None
    text = first.get("text") if isinstance(first, Mapping) else content
    return item.get("role") == "user" and isinstance(text, str) and text.lstrip().startswith(_OF_THE_CLIENT)


def _call_id(item: Mapping[str, Any]) -> str:
    return str(item.get("call_id") or item.get("id"))


def _own(item: Mapping[str, Any], at: object) -> str:
    """The item's id; older rollouts have none, and the item with its time stands for it."""
    own = item.get("id")
    return own if isinstance(own, str) and own else f"item-{_digest({'at': at, 'item': item})}"


def _digest(item: Mapping[str, Any]) -> str:
    return digest(json.dumps(item, sort_keys=True, default=str))[:12]
