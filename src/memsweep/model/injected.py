"""The frame around text that memsweep itself put into a conversation, so that it is never stored as something said."""

from __future__ import annotations

import re

_NAME = "memsweep-memory"
_FRAMED = re.compile(rf"<{_NAME}>.*?(?:</{_NAME}>|\Z)", re.S)


def injected(text: str) -> str:
    """Text in the frame; marks of the same kind inside it are broken."""
    inner = text.replace(f"<{_NAME}", f"<\u200b{_NAME}").replace(f"</{_NAME}", f"</\u200b{_NAME}")
    return f"<{_NAME}>\n{inner}\n</{_NAME}>"


def without_injected(text: str) -> str:
    """What others said around it."""
    return _FRAMED.sub("", text) if f"<{_NAME}>" in text else text
