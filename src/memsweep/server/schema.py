"""Say the same in fewer tokens: agents pay for every schema on every turn. Pure."""

from __future__ import annotations

from typing import Any


def compact_input(schema: dict[str, Any]) -> dict[str, Any]:
    """Without titles and nulls, closed for unknown arguments. A field that may be null may be left out."""
    return {**_compact(schema), "additionalProperties": False}


OUTPUT: dict[str, Any] = {"type": "object"}
"""What an answer has in it is plain to see in the answer, and written in docs/tools.md."""


def _compact(node: Any) -> Any:
    if isinstance(node, list):
        return [_compact(item) for item in node]
    if not isinstance(node, dict):
        return node
    options = [option for option in node.get("anyOf", ()) if option != {"type": "null"}]
    if len(options) == 1:
        node = {**options[0], **{key: value for key, value in node.items() if key != "anyOf"}}
    return {key: _compact(value) for key, value in node.items() if not _says_nothing(key, value)}


def _says_nothing(key: str, value: Any) -> bool:
    return (
        (key == "title" and isinstance(value, str))
        or (key == "default" and value in (None, ""))
        or (key == "additionalProperties" and value is True)
    )
