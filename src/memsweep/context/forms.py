"""Message lists of OpenAI, Anthropic and LangChain, read into one neutral form."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from typing import Any, Literal

from memsweep.errors import BadInput
from memsweep.model.segment import Role

PICTURES = ("image", "image_url", "input_image")
DOCUMENTS = ("document", "file", "input_file")
_PIXELS_A_TOKEN = 750
_BYTES_A_TOKEN = 250
_MOST_TOKENS = 1600
_LOW_DETAIL_TOKENS = 85
_PAGE_TOKENS = 2000
_HEAD_CHARS = 1 << 20
"""So much of the data is looked at for the size of a picture: a JPEG has its size behind its thumbnails."""
_PAGE = re.compile(rb"/Type\s*/Page\b")
_NOT_BASE64 = re.compile(r"[^A-Za-z0-9+/]")
_URL_KEYS = ("url", "image_url", "file_data", "file_url")
_DATA_KEYS = ("data", "base64", "file_data")


def media_tokens(block: Mapping[str, Any]) -> int:
    """The tokens of a picture or of a document that is not text."""
    sources = [block, *(block[key] for key in ("source", "image_url", "file") if isinstance(block.get(key), Mapping))]
    if block.get("type") in DOCUMENTS:
        return _PAGE_TOKENS * max(1, len(_PAGE.findall(_decoded(_data(sources)))))
    if any(source.get("detail") == "low" for source in sources):
        return _LOW_DETAIL_TOKENS
    data = _data(sources)
    if not data:
        return _MOST_TOKENS
    size = picture_size(_decoded(data[:_HEAD_CHARS]))
    tokens = -(-size[0] * size[1] // _PIXELS_A_TOKEN) if size else len(data) * 3 // 4 // _BYTES_A_TOKEN
    return min(_MOST_TOKENS, max(1, tokens))


def document_text(block: Mapping[str, Any]) -> str | None:
    """The text of a document that was handed in as text."""
    source = block.get("source")
    if isinstance(source, Mapping) and source.get("type") == "text" and isinstance(source.get("data"), str):
        return str(source["data"])
    return None


def picture_size(head: bytes) -> tuple[int, int] | None:
    """Width and height of a PNG, GIF, WebP or JPEG, from its first bytes."""
    if head.startswith(b"\x89PNG\r\n\x1a\n") and len(head) >= 24:
        return int.from_bytes(head[16:20]), int.from_bytes(head[20:24])
    if head[:6] in (b"GIF87a", b"GIF89a") and len(head) >= 10:
        return int.from_bytes(head[6:8], "little"), int.from_bytes(head[8:10], "little")
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP" and len(head) >= 30:
        return _webp_size(head)
    return _jpeg_size(head) if head.startswith(b"\xff\xd8") else None


def _webp_size(head: bytes) -> tuple[int, int] | None:
    match head[12:16]:
        case b"VP8X":
            return 1 + int.from_bytes(head[24:27], "little"), 1 + int.from_bytes(head[27:30], "little")
        case b"VP8L":
            bits = int.from_bytes(head[21:25], "little")
            return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
        case b"VP8 ":
            return int.from_bytes(head[26:28], "little") & 0x3FFF, int.from_bytes(head[28:30], "little") & 0x3FFF
    return None


def _jpeg_size(head: bytes) -> tuple[int, int] | None:
    """Marker by marker to the frame header, which has the size."""
    at = 2
    while at + 9 <= len(head) and head[at] == 0xFF:
        marker = head[at + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            return int.from_bytes(head[at + 7 : at + 9]), int.from_bytes(head[at + 5 : at + 7])
        at += 2 + max(2, int.from_bytes(head[at + 2 : at + 4]))
    return None


def _data(sources: list[Mapping[str, Any]]) -> str:
    """The base64 of a block, wherever its provider puts it."""
    for source in sources:
        for key in _URL_KEYS:
            if isinstance(value := source.get(key), str) and value.startswith("data:"):
                return value.partition(",")[2]
        for key in _DATA_KEYS:
            if isinstance(value := source.get(key), str):
                return value
    return ""


def _decoded(data: str) -> bytes:
    clean = _NOT_BASE64.sub("", data)
    if len(clean) % 4 == 1:  # half a byte, which nothing can be made of
        clean = clean[:-1]
    return base64.b64decode(clean + "=" * (-len(clean) % 4))


Form = Literal["openai", "anthropic", "langchain"]
_ANTHROPIC = {
    *("tool_use", "tool_result", "thinking", "redacted_thinking", "image", "document", "search_result"),
    *("server_tool_use", "web_search_tool_result", "web_fetch_tool_result", "mcp_tool_use", "mcp_tool_result"),
}
"""Blocks that Anthropic alone has; OpenAI's pictures are `image_url`."""
_OPENAI = {"image_url", "input_audio", "file", "refusal", "input_text", "output_text", "input_image", "input_file"}
"""Blocks that OpenAI alone has. Of one that nobody knows yet, either may be the inventor."""

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
class MessagePiece:
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
    """A message for the collector: its role, its pieces, the calls that it makes or answers."""

    role: Role
    pieces: tuple[MessagePiece, ...]

    @cached_property
    def text(self) -> str:
        return "\n".join(piece.text for piece in self.pieces if piece.texts)

    @property
    def texts(self) -> list[str]:
        """Its texts, one by one."""
        return [text for piece in self.pieces for text in piece.texts]

    @cached_property
    def calls(self) -> frozenset[str]:
        return frozenset(piece.makes for piece in self.pieces if piece.makes is not None)

    @cached_property
    def answers(self) -> frozenset[str]:
        return frozenset(piece.answers for piece in self.pieces if piece.answers is not None)

    @property
    def is_empty(self) -> bool:
        """Return whether it says, shows, calls and answers nothing: no provider needs it, and Anthropic refuses it."""
        return not (self.text.strip() or self.media_tokens or self.calls or self.answers)

    @property
    def media_tokens(self) -> int:
        """Return the cost of its pictures and documents beside its text."""
        return sum(piece.media_tokens for piece in self.pieces)


def detect_form(messages: Sequence[Any]) -> Form | None:
    """Return whose list it is, or None where it may be OpenAI's as well as Anthropic's.

    Objects with `type` and `content` are LangChain's. Anthropic knows its own blocks, and of other keys and roles none.
    """
    if any(not isinstance(message, Mapping) for message in messages):
        return "langchain"
    contents = [message.get("content") for message in messages]
    blocks = [block for content in contents if isinstance(content, list) for block in content]
    kinds = {str(block.get("type")) for block in blocks if isinstance(block, Mapping)}
    if kinds & _ANTHROPIC:
        return "anthropic"
    said = all(each.keys() <= {"role", "content"} and each.get("role") in ("user", "assistant") for each in messages)
    return None if said and not kinds & _OPENAI else "openai"


def read_turn(message: Any) -> Turn:
    """Read one message of any form."""
    known = isinstance(message, Mapping)
    get: Callable[[str], Any] = message.get if known else lambda key: getattr(message, key, None)
    name, calls, answered = get("role" if known else "type"), get("tool_calls") or (), get("tool_call_id")
    function = (message if known else get("additional_kwargs") or {}).get("function_call")
    if isinstance(function, Mapping):  # before tools, OpenAI called one function at a time, by its name
        calls = ({"id": function.get("name"), "function": function},)
    role = _ROLES.get(str(name))
    if role is None:
        raise BadInput(f"A message cannot have the role {name!r}.", hint=f"Known: {', '.join(_ROLES)}.")
    pieces = [MessagePiece(answers=str(answered))] if answered is not None else [MessagePiece()]
    for block in (*_blocks(get("content")), get("refusal"), get("audio") and "[audio]"):
        if block is not None:
            _take(pieces, block)
    made = {piece.makes for piece in pieces}
    for call in calls:
        if isinstance(call, Mapping) and str(call.get("id")) not in made:  # LangChain says some of them twice
            _put(pieces, _call(call))
    if role == "tool" and not any(piece.answers for piece in pieces):
        pieces[0].answers = str(get("name") if name == "function" else None)  # a call without an id has this one
    return Turn("tool" if any(piece.answers is not None for piece in pieces) else role, tuple(pieces))


def merge_same_roles(messages: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Join neighbours of one role into one message, where roles must alternate."""
    merged: list[dict[str, Any]] = []
    for _, group in groupby(messages, lambda message: message.get("role")):
        first, *others = group
        contents = [message.get("content") for message in (first, *others)]
        plain = all(isinstance(content, str) for content in contents)
        joined = (
            "\n\n".join(map(str, contents)) if plain else [block for each in contents for block in _as_blocks(each)]
        )
        merged.append({**first, "content": joined} if others else first)
    return merged


def without_empty_texts(message: dict[str, Any]) -> dict[str, Any]:
    """Return the message without blocks of text that say nothing, which Anthropic refuses."""
    blocks = message.get("content")
    said = [block for block in blocks if not _says_nothing(block)] if isinstance(blocks, list) else blocks
    return message if said == blocks else {**message, "content": said}


def _says_nothing(block: Any) -> bool:
    return isinstance(block, Mapping) and block.get("type") == "text" and not str(block.get("text") or "").strip()


def _as_blocks(content: Any) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content or ())


def _blocks(content: Any) -> Iterator[Any]:
    """The content as blocks: a plain text is one."""
    if isinstance(content, list):
        yield from content
    elif content is not None:
        yield content if isinstance(content, str) else json.dumps(content, ensure_ascii=False, default=str)


def _take(pieces: list[MessagePiece], block: Any) -> None:
    """Add a block to the piece it belongs to, or as a piece of its own."""
    kind = block.get("type") if isinstance(block, Mapping) else None
    if kind == "tool_use":
        _put(pieces, _call(block))
    elif kind == "tool_result":
        said, cost = _said(block.get("content"))
        _put(pieces, MessagePiece([said] if said else [], cost, answers=str(block.get("tool_use_id"))))
    else:
        text, cost = _block_said(block)
        pieces[-1].texts += [text] if text else []
        pieces[-1].media_tokens += cost


def _put(pieces: list[MessagePiece], piece: MessagePiece) -> None:
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
    """Return the text of a thought; the signature beside it is not text."""
    thought = block.get(kind, block.get("text"))
    if isinstance(thought, str):
        return thought
    parts = block.get("summary")
    texts = [part.get("text") for part in parts if isinstance(part, Mapping)] if isinstance(parts, list) else []
    return "\n".join(text for text in texts if isinstance(text, str))


def _call(call: Mapping[str, Any]) -> MessagePiece:
    """A call, its name and arguments as an agent would write it."""
    function = call["function"] if isinstance(call.get("function"), Mapping) else call
    arguments = function.get("arguments", function.get("args", function.get("input", {})))
    said = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False, default=str)
    if isinstance(arguments, str):
        with suppress(ValueError, RecursionError):
            arguments = json.loads(arguments)
    name = str(function.get("name", ""))
    inputs = arguments if isinstance(arguments, Mapping) else {}
    return MessagePiece([f"{name} {said}"], makes=str(call.get("id")), name=name, inputs=inputs)
