"""Decide who typed a text in the user's role: a person, or a machine. Pure; the unknown counts as a machine's.

Clients write much into that role that nobody typed: notifications of tasks, messages of other agents, output of hooks
and of commands, expanded commands, selections. So this is a list of what to let in.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

_OF_A_PERSON: Mapping[str, frozenset[str]] = {
    "type": frozenset({"user", "attachment", "message"}),
    "origin": frozenset({"human", "user"}),
    "promptSource": frozenset({"typed", "queued", "suggestion_accepted", "sdk"}),
    "turnOrigin": frozenset({"human"}),
    "commandMode": frozenset({"prompt"}),
    "source": frozenset({"user"}),
    "mcp_attribution": frozenset({"none"}),
}
"""What a field that says where a prompt comes from says of one that a person typed."""
_TYPED = _OF_A_PERSON["promptSource"] - {"sdk"}
_SAY_NOTHING = frozenset(
    """
    humanTurn source_uuid delivery_id userType thinkingMetadata hook_event_name retained_source user_input_order
    """.split()
)
"""Fields that sound as if they said where a prompt comes from, but do not."""
_SAYS_WHERE_FROM = re.compile(
    r"origin|source|sender|from|author|actor|agent|peer|team|mate|bot|relay|forward|hand|wake|schedul|trigger|task"
    r"|plugin|skill|hook|synthetic|virtual|meta|sidechain|compact|summary|rewrit|typed|connector|channel|mail|slack"
    r"|quot|foreign|deliver|queue|companion|remote|auto|inject|inherit|harness|machine|system|tool|user|human|person"
    r"|speaker|produc|initiat|generat|plan|via|by$",
    re.I,
)
_BLOCK = re.compile(r"^[^\S\n]*</?[a-z][\w.:-]*(?=[\s/>])|</[a-z][\w.:-]*\s*>", re.I | re.M)
"""A tag that begins a line, or one that closes anything: clients put what is not a person's between such."""
_HEADING = re.compile(
    r"\A\s*\[[^\s\]]{1,80} [^\]\n]{1,200}\](?!\()|^[^\S\n]*(?:\[(?:[A-Z]{2,20} [A-Z]|Request interrupted)"
    r"|(?:\w{1,20}(?::[^\s:]{1,80})? )?hook (?:feedback|success|additional context|(?:\w{1,20} )?error)\b"
    r"|Caveat: The messages below|This session is being continued|# AGENTS\.md instructions|# Context from my IDE"
    r"|# Files mentioned by the user|Another \w{1,20} (?:session sent a message|model started to solve)"
    r"|Base directory for this skill|Implement the following plan)",
    re.M,
)
"""How text of a client begins that stands in no tags."""


def is_typed(record: Mapping[str, Any], content: Any, *, must_say: bool = False) -> bool:
    """Return True if the client says that a person typed this text or these blocks, and nothing machine-made is there.

    `record` is what the client says of them. With `must_say` it has to name a person: a program that only passes on
    what somebody typed says so in `origin`, and one that says nothing may have written it by itself.
    """
    names_a_person = record.get("origin") or str(record.get("promptSource")) in _TYPED
    return (
        bool(names_a_person or not (must_say or "promptSource" in record))
        and all(_lets_in(name, value) for name, value in record.items() if value)
        and all(map(_is_plain, content if isinstance(content, list) else [content]))
    )


def _is_plain(block: Any) -> bool:
    """Return True for a picture, and for text that is in no frame; nobody types a document."""
    match block:
        case str():
            return not (_BLOCK.search(block) or _HEADING.search(block))
        case {"type": "text" | "input_text", "text": str(text), **more}:
            return not any(more.values()) and _is_plain(text)
        case {"type": "image" | "input_image"}:
            return True
    return False


def _lets_in(name: str, value: Any) -> bool:
    if name in _OF_A_PERSON:
        return all(kind in _OF_A_PERSON[name] for kind in _kinds(value))
    return name in _SAY_NOTHING or (value is not True and not _SAYS_WHERE_FROM.search(name))


def _kinds(value: Any, depth: int = 4) -> Iterator[str]:
    """`{"kind": "human"}`, `{"provenance": {"type": "user"}}`, `"user.text"`; a list is of every kind in it."""
    match value:
        case str():
            yield value.partition(".")[0]
        case list() if depth:
            for each in value:
                yield from _kinds(each, depth - 1)
        case {"kind": kind} | {"type": kind} | {"status": kind} | {"provenance": kind} if depth:
            yield from _kinds(kind, depth - 1)
        case _:
            yield ""
