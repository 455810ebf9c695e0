"""Message lists of OpenAI, Anthropic and LangChain, read into one neutral form."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from memsweep.context.pictures import DOCUMENTS, PICTURES, document_text, media_tokens
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


@dataclass(slots=True)
class Piece:
    """A message without tools, or each call and each result of one, with the words beside it."""

    texts: list[str] = field(default_factory=list)
    media_tokens: int = 0
    makes: str | None = None
    """The id of the call that is made here."""
    name: str = ""
    inputs: Mapping[str, Any] = field(default_factory=dict)
    answers: str | None = None
    """The id of the call whose result is here."""

    @property
    def text(self) -> str:
        return "\n".join(self.texts)

    @property
    def uses_tool(self) -> bool:
        return self.makes is not None or self.answers is not None


@dataclass(frozen=True)
class Turn:
    """What the collector needs to know of a message: who, what, which calls it makes or answers."""

    role: Role
    pieces: tuple[Piece, ...]

    @cached_property
    def text(self) -> str:
        return "\n".join(piece.text for piece in self.pieces if piece.texts)

    @cached_property
    def calls(self) -> frozenset[str]:
        return frozenset(piece.makes for piece in self.pieces if piece.makes is not None)

    @cached_property
    def answers(self) -> frozenset[str]:
        return frozenset(piece.answers for piece in self.pieces if piece.answers is not None)

    @property
    def media_tokens(self) -> int:
        """What its pictures and documents cost beside its text."""
        return sum(piece.media_tokens for piece in self.pieces)


def detect_form(messages: Sequence[Any]) -> Form:
    """Objects with `type` and `content` are LangChain's; tool blocks in the content are Anthropic's."""
    if any(not isinstance(message, Mapping) for message in messages):
        return "langchain"
    kinds = {
        block.get("type")
        for message in messages
        if isinstance(content := message.get("content"), list)
        for block in content
        if isinstance(block, Mapping)
    }
    return "anthropic" if kinds & {"tool_use", "tool_result", "thinking"} else "openai"


def read_turn(message: Any) -> Turn:
    """Read one message of any form."""
    if isinstance(message, Mapping):
        name, content = message.get("role"), message.get("content")
        calls, answered = message.get("tool_calls") or (), message.get("tool_call_id")
    else:
        name, content = getattr(message, "type", None), getattr(message, "content", None)
        calls = getattr(message, "tool_calls", None) or ()
        answered = getattr(message, "tool_call_id", None)
    role = _ROLES.get(str(name))
    if role is None:
        raise BadInput(f"A message cannot have the role {name!r}.", hint=f"Known: {', '.join(_ROLES)}.")
    pieces = [Piece(answers=str(answered))] if answered is not None else [Piece()]
    for block in _blocks(content):
        _take(pieces, block)
    known = {piece.makes for piece in pieces}
    for call in calls:
        if isinstance(call, Mapping) and str(call.get("id")) not in known:  # LangChain says some of them twice
            _put(pieces, _call(call))
    return Turn("tool" if any(piece.answers is not None for piece in pieces) else role, tuple(pieces))


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


def _blocks(content: Any) -> Iterator[Any]:
    """The content as blocks: a plain text is one."""
    if isinstance(content, list):
        yield from content
    elif content is not None:
        yield content if isinstance(content, str) else json.dumps(content, ensure_ascii=False, default=str)


def _take(pieces: list[Piece], block: Any) -> None:
    """Add a block to the piece it belongs to, or as a piece of its own."""
    kind = block.get("type") if isinstance(block, Mapping) else None
    if kind == "tool_use":
        _put(pieces, _call(block))
    elif kind == "tool_result":
        said, cost = _said(block.get("content"))
        _put(pieces, Piece([said] if said else [], cost, answers=str(block.get("tool_use_id"))))
    else:
        text, cost = _block_said(block)
        pieces[-1].texts += [text] if text else []
        pieces[-1].media_tokens += cost


def _put(pieces: list[Piece], piece: Piece) -> None:
    """Words before the first call or result belong to it."""
    if not pieces[-1].uses_tool:
        before = pieces.pop()
        piece.texts[:0] = before.texts
        piece.media_tokens += before.media_tokens
    pieces.append(piece)


def _said(content: Any) -> tuple[str, int]:
    """All that is said in the content of a result, and what its pictures cost."""
    said = [_block_said(block) for block in _blocks(content)]
    return "\n".join(text for text, _ in said if text), sum(cost for _, cost in said)


def _block_said(block: Any) -> tuple[str, int]:
    """The text of a block, and what it costs beside that."""
    if not isinstance(block, Mapping):
        return str(block), 0
    match block.get("type"):
        case "text" | "input_text" | "output_text":
            return str(block.get("text", "")), 0
        case "thinking" | "reasoning" as kind:
            return _thought(block, kind), 0
        case "redacted_thinking" | "input_audio" as kind:
            return f"[{kind}]", 0
        case kind if kind in DOCUMENTS and (text := document_text(block)) is not None:
            return text, 0
        case kind if kind in PICTURES or kind in DOCUMENTS:
            return f"[{kind}]", media_tokens(block)
        case _:
            return json.dumps(block, ensure_ascii=False, default=str), 0


def _thought(block: Mapping[str, Any], kind: str) -> str:
    """What was thought; the signature beside it is not text."""
    thought = block.get(kind, block.get("text"))
    if isinstance(thought, str):
        return thought
    parts = block.get("summary")
    texts = [part.get("text") for part in parts if isinstance(part, Mapping)] if isinstance(parts, list) else []
    return "\n".join(text for text in texts if isinstance(text, str))


def _call(call: Mapping[str, Any]) -> Piece:
    """A call, its name and arguments as an agent would write it."""
    function = call["function"] if isinstance(call.get("function"), Mapping) else call
    arguments = function.get("arguments", function.get("args", function.get("input", {})))
    said = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False, default=str)
    if isinstance(arguments, str):
        with suppress(ValueError, RecursionError):
            arguments = json.loads(arguments)
    name = str(function.get("name", ""))
    inputs = arguments if isinstance(arguments, Mapping) else {}
    return Piece([f"{name} {said}"], makes=str(call.get("id")), name=name, inputs=inputs)
