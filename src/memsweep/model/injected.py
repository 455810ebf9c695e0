"""The frame around text that memsweep itself put into a conversation, so that it is never stored as something said."""

from __future__ import annotations

import re

_NAME = "memsweep-memory"
_FRAMED = re.compile(rf"<({_NAME}(?:-\w+)?)>.*?(?:</\1>|\Z)", re.S)


def injected(text: str, nonce: str) -> str:
    """Text in a frame that it cannot leave: its name has a part that nobody knows before, and no other is inside."""
    from memsweep.model.visible import visible  # late: most prompts are told nothing

    return f"<{_NAME}-{nonce}>\n{visible(text)}\n</{_NAME}-{nonce}>"


def without_injected(text: str) -> str:
    """Return a text without what memsweep added to it."""
    return _FRAMED.sub("", text) if f"<{_NAME}" in text else text
