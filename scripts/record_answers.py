"""Record what the server answers to a handshake, for `server/handshake.py`: part of `make docs`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCMessage, JSONRPCRequest

from memsweep.app import App
from memsweep.server.app import make_server
from memsweep.server.handshake import HANDSHAKE_VERSIONS, MODERN_VERSION, RECORDED
from memsweep.server.pipes import PipedServer
from memsweep.server.start import PROFILES, Profile
from memsweep.settings import load_settings

LISTS = ("prompts/list", "resources/list", "resources/templates/list", "tools/list")
CLIENT = {"name": "recorder", "version": "1"}
Answers = dict[str, dict[str, Any]]


def request(number: int, method: str, version: str) -> dict[str, Any]:
    """The plainest form of a request, as a client of this version sends it."""
    params: dict[str, Any] = {}
    if method == "initialize":
        params = {"protocolVersion": version, "capabilities": {}, "clientInfo": CLIENT}
    elif version == MODERN_VERSION:
        known = {"protocolVersion": version, "clientInfo": CLIENT, "clientCapabilities": {}}
        params = {"_meta": {f"io.modelcontextprotocol/{name}": value for name, value in known.items()}}
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def methods(version: str) -> tuple[str, ...]:
    return ("server/discover", *LISTS) if version == MODERN_VERSION else ("initialize", "ping", *LISTS)


def answered(profile: Profile) -> dict[str, Answers]:
    """What the real server answers, by version and method."""
    server = make_server(App(load_settings({"MEMSWEEP_HOME": "/nonexistent"})), profile)
    found = {}
    for version in (*HANDSHAKE_VERSIONS, MODERN_VERSION):
        plain = [request(number, method, version) for number, method in enumerate(methods(version))]
        messages = anyio.run(conversation, server, [JSONRPCRequest.model_validate(each) for each in plain])
        found[version] = dict(zip(methods(version), [message.result for message in messages], strict=True))
    return found


async def conversation(server: PipedServer, messages: Sequence[JSONRPCMessage]) -> list[Any]:
    """The answers; one after the other, so that each belongs to the request before it."""
    asking, asked = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    answered, answering = anyio.create_memory_object_stream[SessionMessage](0)
    protocol = server.protocol_server()
    heard = []
    async with anyio.create_task_group() as tasks, asking, answering:
        tasks.start_soon(protocol.run, asked, answered, protocol.create_initialization_options())
        for message in messages:
            await asking.send(SessionMessage(message))
            if isinstance(message, JSONRPCRequest):
                heard.append((await answering.receive()).message)
        tasks.cancel_scope.cancel()
    return heard


def recorded() -> dict[str, Any]:
    """The answers of every profile; what they have in common once."""
    everything = {profile: answered(profile) for profile in PROFILES}
    older = {profile: found[HANDSHAKE_VERSIONS[-1]] for profile, found in everything.items()}
    plain, modern = older["default"], everything["default"][MODERN_VERSION]
    tools, profiles = _tools({profile: answers["tools/list"]["tools"] for profile, answers in older.items()})
    return {
        "initialize": plain["initialize"],
        "discover": modern["server/discover"],
        "modern": {name: value for name, value in modern["tools/list"].items() if name != "tools"},
        "lists": {name: plain[name] for name in LISTS if name.startswith("resources/")},
        "prompts": {profile: answers["prompts/list"] for profile, answers in older.items()},
        "tools": tools,
        "profiles": profiles,
    }


def _tools(listed: dict[Profile, list[dict[str, Any]]]) -> tuple[dict[str, Any], dict[str, list[str]]]:
    """Each form of a tool by a name of its own, and the names in each profile."""
    tools: dict[str, Any] = {tool["name"]: tool for tool in listed["full"]}
    profiles: dict[str, list[str]] = {}
    for profile, shown in listed.items():
        keys = [tool["name"] if tools.get(tool["name"]) == tool else f"{tool['name']} ({profile})" for tool in shown]
        tools |= dict(zip(keys, shown, strict=True))
        profiles[profile] = keys
    return tools, profiles


def text() -> str:
    """A line for each tool, so that two changes seldom meet."""
    parts = recorded()
    lines = [f'"{name}": {_compact(part)}' for name, part in parts.items() if name != "tools"]
    tools = ",\n".join(f"{_compact(key)}: {_compact(tool)}" for key, tool in sorted(parts["tools"].items()))
    return "{\n" + ",\n".join(lines) + ',\n"tools": {\n' + tools + "\n}\n}\n"


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def is_current() -> bool:
    return RECORDED.exists() and RECORDED.read_text("utf-8") == text()


def write() -> None:
    RECORDED.write_text(text(), "utf-8")
