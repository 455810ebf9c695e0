"""Sessions of Codex: rollout files of one JSON line an item of the conversation, or an event beside it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from memsweep.context.forms import read_turn
from memsweep.context.transcripts.reading import Reading
from memsweep.model.typed import is_typed

_OF_THE_CLIENT = (
    "<environment_context>",
    "<user_instructions>",
    "<permissions instructions>",
    "<skills_instructions>",
    "<turn_aborted>",
    "# AGENTS.md instructions",
)
"""How messages begin that the program itself sends as the user."""
_WHERE_PEOPLE_TYPE = ("cli", "exec", "vscode")
_DIGEST_CHARS = 12


def is_rollout(lines: Sequence[Mapping[str, Any]]) -> bool:
    return any(isinstance(line.get("payload"), Mapping) and "message" not in line for line in lines)


def read_lines(reading: Reading, lines: Iterable[Mapping[str, Any]]) -> None:
    for line in lines:
        payload, at = line.get("payload"), {"created_at": line.get("timestamp")}
        if not isinstance(payload, Mapping):
            continue
        if line.get("type") == "session_meta":
            reading.is_of_an_agent |= not _is_a_persons(payload)
        elif line.get("type") == "response_item" and (message := _message(payload)) is not None:
            turn = read_turn(message)
            if turn.role == "user" and (reading.is_of_an_agent or not is_typed(_said_of(line, payload), turn.texts)):
                turn = replace(turn, role="tool")
            reading.take(_own(payload, line.get("timestamp")), turn, **at)
        elif line.get("type") == "compacted":
            _compact(reading, payload, at)


def _is_a_persons(meta: Mapping[str, Any]) -> bool:
    """Return False for a session that an agent or the program itself began: nobody types there."""
    return meta.get("source", "cli") in _WHERE_PEOPLE_TYPE and meta.get("thread_source", "user") == "user"


def _said_of(line: Mapping[str, Any], item: Mapping[str, Any]) -> dict[str, Any]:
    """What the program says of a message, which newer versions do piece by piece."""
    pieces, metadata = item.get("internal_chat_message_metadata_passthrough"), line.get("metadata")
    said = dict(metadata) if isinstance(metadata, Mapping) else {}
    if isinstance(pieces, Mapping):
        origin = [pieces.get(name) for name in ("content_item_kinds", "content_item_metadata")]
        said |= {"origin": [each for each in origin if each]} if any(origin) else {}
    return said


def _compact(reading: Reading, payload: Mapping[str, Any], at: Mapping[str, Any]) -> None:
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
    said = json.dumps(item, sort_keys=True, default=str).encode("utf-8", "replace")
    return hashlib.blake2b(said, digest_size=8).hexdigest()[:_DIGEST_CHARS]
