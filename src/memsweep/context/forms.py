"""Message lists of OpenAI, Anthropic and LangChain, read into one neutral form."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

from memsweep.errors import BadInput
from memsweep.model.segment import Role

Form = Literal["openai", "anthropic", "langchain"]

_ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "AIMessageChunk": "assistant",
    "tool": "tool",
    "function": "tool",
}


@dataclass(frozen=True, slots=True)
class Turn:
    """What the collector needs to know of a message: who, what, which calls it makes or answers."""

    role: Role
    text: str
    calls: frozenset[str] = frozenset()
    answers: frozenset[str] = frozenset()


def detect_form(messages: Sequence[Any]) -> Form:
    """Objects with `type` and `content` are LangChain's; tool blocks in the content are Anthropic's."""
    if any(not isinstance(message, Mapping) for message in messages):
        return "langchain"
    kinds = {block.get("type") for message in messages for block in _blocks(message.get("content"))}
    return "anthropic" if kinds & {"tool_use", "tool_result", "thinking"} else "openai"


def read_turn(message: Any) -> Turn:
    """Read one message of any form."""
    if isinstance(message, Mapping):
        name, content = message.get("role"), message.get("content")
        calls = message.get("tool_calls") or ()
        answered = message.get("tool_call_id")
    else:
        name, content = getattr(message, "type", None), getattr(message, "content", None)
        calls = getattr(message, "tool_calls", None) or ()
        answered = getattr(message, "tool_call_id", None)
    role = _ROLES.get(str(name))
    if role is None:
        raise BadInput(f"A message cannot have the role {name!r}.")
    blocks = _blocks(content)
    made = {str(call.get("id")) for call in calls}
    made.update(str(block.get("id")) for block in blocks if block.get("type") == "tool_use")
    answers = {str(block.get("tool_use_id")) for block in blocks if block.get("type") == "tool_result"}
    if answered is not None:
        answers.add(str(answered))
    text = "\n".join(part for part in (_text(content), *map(_call_text, calls)) if part)
    return Turn("tool" if answers else role, text, frozenset(made), frozenset(answers))


def call_inputs(message: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The calls that a message makes: each id, with its arguments where they are an object."""
    made = [*(message.get("tool_calls") or ()), *_blocks(message.get("content"))]
    for call in made:
        if isinstance(call, Mapping) and call.get("id") is not None:
            arguments = _arguments(call)
            if isinstance(arguments, str):
                with suppress(ValueError):
                    arguments = json.loads(arguments)
            yield str(call["id"]), arguments if isinstance(arguments, Mapping) else {}


def merge_same_roles(messages: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Join neighbours of one role into one message of several blocks, where roles must alternate."""
    merged: list[dict[str, Any]] = []
    for message in messages:
        if merged and merged[-1].get("role") == message.get("role"):
            content = [*_as_blocks(merged[-1]["content"]), *_as_blocks(message["content"])]
            merged[-1] = {**merged[-1], "content": content}
        else:
            merged.append(message)
    return merged


def _as_blocks(content: Any) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def _blocks(content: Any) -> list[Mapping[str, Any]]:
    return [block for block in content if isinstance(block, Mapping)] if isinstance(content, list) else []


def _text(content: Any) -> str:
    """All that is said, results and calls included; pictures count as a word."""
    if content is None or isinstance(content, str):
        return content or ""
    if isinstance(content, list):
        return "\n".join(filter(None, map(_block_text, content)))
    return json.dumps(content, ensure_ascii=False, default=str)


def _block_text(block: Any) -> str:
    if not isinstance(block, Mapping):
        return str(block)
    match block.get("type"):
        case "text":
            return str(block.get("text", ""))
        case "tool_result":
            return _text(block.get("content"))
        case "tool_use":
            return _call_text(block)
        case "image" | "image_url" | "document" | "input_audio" as kind:
            return f"[{kind}]"
        case _:
            return json.dumps(block, ensure_ascii=False, default=str)


def _call_text(call: Mapping[str, Any]) -> str:
    """The name and the arguments, as an agent would write the call."""
    function = call.get("function") or call
    arguments = _arguments(call)
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments, ensure_ascii=False, default=str)
    return f"{function.get('name', '')} {arguments}"


def _arguments(call: Mapping[str, Any]) -> Any:
    function = call.get("function") or call
    return function.get("arguments", function.get("args", function.get("input", {})))
