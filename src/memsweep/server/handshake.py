"""Answer before the SDK is there: the handshake, and lists that never change. Pure; standard library alone.

Importing the SDK takes longer than some clients wait. What it would answer to a plain `initialize`, `server/discover`
or `tools/list` is recorded in `recorded.json` (`make docs`), and a test compares the two. Whatever is not plain to see
is left to the SDK, and so is everything after it: each request has one answer, in the order of the requests.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

RECORDED = Path(__file__).with_name("recorded.json")
HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN_VERSION = "2026-07-28"
MOST_BYTES = 1 << 16
_MOST_NESTED = 100
_LARGEST_ID = 1 << 53
_RESERVED = "io.modelcontextprotocol/"
_VERSION, _CLIENT, _CAPABILITIES = (
    f"{_RESERVED}{name}" for name in ("protocolVersion", "clientInfo", "clientCapabilities")
)

Object = Mapping[str, Any]


class Handshake:
    """The beginning of a conversation, up to the first line that is the SDK's to answer."""

    def __init__(self, profile: str, recorded: Object) -> None:
        tools = [recorded["tools"][key] for key in recorded["profiles"][profile]]
        prompts = recorded["prompts"][profile]
        self._lists: Object = {**recorded["lists"], "prompts/list": prompts, "tools/list": {"tools": tools}}
        self._recorded = recorded
        self._modern: bool | None = None  # which generation of the protocol it is: the first request decides
        self._accepted = False

    def reply(self, line: bytes) -> bytes | None:
        """The answer, empty where none is due; None where the SDK has to look."""
        message = _read(line)
        if message is None or message.get("jsonrpc") != "2.0" or not _is_text(message.get("method")):
            return None
        params = message.get("params", {})
        if not _is_object(params):
            return None
        if "id" not in message:
            plain = message["method"].startswith("notifications/") and _only(message, ("jsonrpc", "method", "params"))
            return b"" if plain else None
        if not _is_id(message["id"]) or not _only(message, ("jsonrpc", "id", "method", "params")):
            return None
        result = self._result(message["method"], params)
        return None if result is None else _written({"jsonrpc": "2.0", "id": message["id"], "result": result})

    def _result(self, method: str, params: Object) -> Object | None:
        meta = params.get("_meta", {})
        if not _is_object(meta):
            return None
        modern = method != "initialize" and _VERSION in meta
        if self._modern not in (None, modern):
            return None
        self._modern = modern
        if modern:
            return self._modern_result(method, meta) if _only(params, ("_meta",)) else None
        if not _only(meta, ("progressToken",)) or not _is_id(meta.get("progressToken", 0)):
            return None
        if method == "initialize":
            return self._initialized(params)
        return self._older_result(method) if _only(params, ("_meta",)) else None

    def _initialized(self, params: Object) -> Object | None:
        version = params.get("protocolVersion")
        if (
            self._accepted
            or version not in HANDSHAKE_VERSIONS
            or not _is_client(params.get("clientInfo"))
            or not _are_capabilities(params.get("capabilities"))
        ):
            return None
        self._accepted = True
        return {**self._recorded["initialize"], "protocolVersion": version}

    def _older_result(self, method: str) -> Object | None:
        if method == "ping":
            return {}
        return self._lists.get(method) if self._accepted else None

    def _modern_result(self, method: str, meta: Object) -> Object | None:
        if (
            not _only(meta, (_VERSION, _CLIENT, _CAPABILITIES, "progressToken"))
            or not _is_id(meta.get("progressToken", 0))
            or meta[_VERSION] != MODERN_VERSION
            or (_CLIENT in meta and not _is_client(meta[_CLIENT]))
            or not _are_capabilities(meta.get(_CAPABILITIES))
        ):
            return None
        if method == "server/discover":
            return self._recorded["discover"]  # type: ignore[no-any-return]
        found = self._lists.get(method)
        return found and {**found, **self._recorded["modern"]}


def load_recorded() -> Any:
    return json.loads(RECORDED.read_text("utf-8"))


def _read(line: bytes) -> Object | None:
    """An object that every parser reads alike: no numbers with a fraction, no name twice, no half an emoji."""
    if len(line) > MOST_BYTES or line.count(b"{") + line.count(b"[") > _MOST_NESTED:
        return None
    try:
        value = json.loads(line.decode(), object_pairs_hook=_object, parse_constant=_refuse, parse_float=_refuse)
        _written(value)
    except ValueError:
        return None
    return value if _is_object(value) else None


def _object(members: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(members)
    if len(found) < len(members):
        raise ValueError("a name twice")
    return found


def _refuse(number: str) -> Any:
    raise ValueError(number)


def _written(message: Any) -> bytes:
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _only(given: Object, names: Collection[str]) -> bool:
    return all(name in names for name in given)


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_id(value: Any) -> bool:
    if isinstance(value, int):
        return not isinstance(value, bool) and abs(value) < _LARGEST_ID
    return isinstance(value, str)


def _is_client(value: Any) -> bool:
    return (
        _is_object(value)
        and {"name", "version"} <= value.keys()
        and all(_CLIENT_FIELDS[name](field) for name, field in value.items() if name in _CLIENT_FIELDS)
    )


def _are_icons(value: Any) -> bool:
    return isinstance(value, list) and all(
        _is_object(icon) and _only(icon, ("src", "mimeType")) and "src" in icon and all(map(_is_text, icon.values()))
        for icon in value
    )


_CLIENT_FIELDS: Mapping[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("name", "version", "title", "description", "websiteUrl"), _is_text),
    "icons": _are_icons,
}


def _are_capabilities(value: Any) -> bool:
    return _is_object(value) and all(_CAPABILITY[name](each) for name, each in value.items() if name in _CAPABILITY)


def _is_tree(value: Any) -> bool:
    """Objects in objects, and nothing else."""
    return _is_object(value) and all(map(_is_tree, value.values()))


def _holds_objects(value: Any) -> bool:
    return _is_object(value) and all(map(_is_object, value.values()))


def _are_roots(value: Any) -> bool:
    return _is_object(value) and isinstance(value.get("listChanged", False), bool)


_CAPABILITY: Mapping[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("experimental", "extensions"), _holds_objects),
    **dict.fromkeys(("sampling", "elicitation", "tasks"), _is_tree),
    "roots": _are_roots,
}
