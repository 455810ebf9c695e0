"""Read an event of a client's hook. Pure; what is not there is empty, and nothing in it is trusted."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any, Literal

from memsweep.model.frozen import field, frozen
from memsweep.model.typed import is_typed

Client = Literal["claude", "codex"]
CLIENT_NAMES: dict[Client, str] = {"claude": "claude-code", "codex": "codex"}
EVENTS = ("SessionStart", "UserPromptSubmit", "PostToolUse", "PreCompact", "Stop", "SessionEnd")
DRAIN = "Drain"
"""Our own: work in the background."""

_PATHS_OF = {
    "Edit": "file_path",
    "MultiEdit": "file_path",
    "Write": "file_path",
    "NotebookEdit": "notebook_path",
}
_PATCHED = ("*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ")
_MOST_PATHS = 100


@frozen
class Event:
    """One call of a hook."""

    name: str
    client: Client = "claude"
    session: str = ""
    folder: str = ""
    transcript: str = ""
    source: str = ""
    prompt: str = ""
    tool: str = ""
    tool_input: Mapping[str, Any] = field(default_factory=dict)
    tool_response: Any = None
    is_of_a_person: bool = True
    """False in a subagent, and for a prompt that no person typed."""


def read_event(name: str, said: Any) -> Event:
    """The event that a client describes."""
    data: Mapping[str, Any] = said if isinstance(said, Mapping) else {}
    client: Client = "codex" if "turn_id" in data or "/.codex/" in _text(data, "transcript_path") else "claude"
    prompt = _text(data, "prompt")
    inputs = data.get("tool_input")
    return Event(
        name=name,
        client=client,
        session=_text(data, "session_id"),
        folder=_text(data, "cwd"),
        transcript=_text(data, "transcript_path"),
        source=_text(data, "source"),
        prompt=prompt,
        tool=_text(data, "tool_name"),
        tool_input=inputs if isinstance(inputs, Mapping) else {},
        tool_response=data.get("tool_response"),
        is_of_a_person=not data.get("agent_id") and (name != "UserPromptSubmit" or is_typed(data, prompt)),
    )


def edited_files(event: Event) -> list[str]:
    """The files that a tool has written, as absolute paths."""
    key = _PATHS_OF.get(event.tool)
    if key is not None:
        named = [event.tool_input.get(key)]
    elif event.tool == "apply_patch":
        named = list(_patched(event.tool_input))
    else:
        named = []
    paths = [path for path in named[:_MOST_PATHS] if isinstance(path, str) and path and "\0" not in path]
    return [os.path.normpath(os.path.join(event.folder or "/", path)) for path in paths]


def is_left_for_later(event: Event) -> bool:
    """Return whether no client should wait for an event: it is written down, and done in the background."""
    match event.name:
        case "PostToolUse":
            return bool(edited_files(event))
        case "PreCompact" | "Stop" | "SessionEnd":
            return bool(event.transcript)
    return False


def is_for_a_server(event: Event) -> bool:
    """Return whether a running server is asked first: for events whose imports take longer than the work."""
    return event.name in ("SessionStart", "UserPromptSubmit", "PostToolUse") and not is_left_for_later(event)


def _patched(inputs: Mapping[str, Any]) -> list[str]:
    patch = next((value for value in inputs.values() if isinstance(value, str) and "*** Begin Patch" in value), "")
    found = (line.removeprefix(mark) for line in patch.splitlines() for mark in _PATCHED if line.startswith(mark))
    return [path.strip() for path in found]


def _text(data: Mapping[str, Any], key: str) -> str:
    value = data.get(key)
    return value if isinstance(value, str) else ""


# The frame around text that memsweep itself put into a conversation, so that it is never stored as something said.


_NAME = "memsweep-memory"
_FRAMED = re.compile(rf"<({_NAME}(?:-\w+)?)>.*?(?:</\1>|\Z)", re.S)


def injected(text: str, nonce: str) -> str:
    """Text in a frame that it cannot leave: its name has a part that nobody knows before, and no other is inside."""
    from memsweep.model.visible import visible  # late: most prompts are told nothing

    return f"<{_NAME}-{nonce}>\n{visible(text)}\n</{_NAME}-{nonce}>"


def without_injected(text: str) -> str:
    """Return a text without what memsweep added to it."""
    return _FRAMED.sub("", text) if f"<{_NAME}" in text else text
