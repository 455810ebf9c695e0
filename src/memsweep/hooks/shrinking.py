"""Huge tool output: the model sees its beginning and its end, and the whole waits in the stash."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memsweep.hooks.session import HookSession

_SHARE_OF_THE_END = 3
"""A third of what is shown is the end: that is where errors stand."""


def shrunk(session: HookSession) -> dict[str, Any] | None:
    """The output in the tool's own shape, if it is on and the output is that long. Stored before it is cut."""
    most = session.app.settings.hooks.shrink_output_chars
    event = session.event
    if not most or event.client != "claude" or event.tool != "Bash" or not isinstance(event.tool_response, Mapping):
        return None  # Codex ignores it, and the shape of other tools' output is not known
    whole = event.tool_response.get("stdout")
    if not isinstance(whole, str) or len(whole) <= most:
        return None
    window = session.window
    (own,) = window.add([{"text": whole, "type": "log", "role": "tool"}]).segment_ids
    window.prune([own], strategy="stash")
    return {"updatedToolOutput": {**event.tool_response, "stdout": _cut(whole, most, own)}}


def _cut(whole: str, most: int, own: str) -> str:
    end = most // _SHARE_OF_THE_END
    note = f"\n[{len(whole) - most:,} characters are in the stash: context_restore(segment_ids=[{own!r}])]\n"
    return f"{whole[: most - end]}{note}{whole[-end:] if end else ''}"
