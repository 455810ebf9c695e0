"""What is answered before the SDK is there is what the SDK would have answered."""

import json
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import JSONRPCRequest, JSONRPCResponse
from scripts.record_answers import answered, conversation, request

from memsweep.app import App
from memsweep.server.app import make_server
from memsweep.server.envelope import Refused, read_line, write_line
from memsweep.server.handshake import HANDSHAKE_VERSIONS, MODERN_VERSION, MOST_BYTES, Handshake, load_recorded
from memsweep.server.pipes import PipedServer
from memsweep.server.start import PROFILES, Profile
from memsweep.settings import load_settings

RECORDED = load_recorded()
META = "io.modelcontextprotocol/"
CLIENT = {"name": "test", "version": "1"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> PipedServer:
    return make_server(App(load_settings({"MEMSWEEP_HOME": str(tmp_path_factory.mktemp("served") / "home")})))


def _line(message: Any) -> bytes:
    return json.dumps(message).encode()


@pytest.mark.parametrize("profile", PROFILES)
def test_every_version_of_the_protocol_gets_the_answers_of_the_server(profile: Profile) -> None:
    for version, answers in answered(profile).items():
        handshake = Handshake(profile, RECORDED)
        for number, (method, expected) in enumerate(answers.items()):
            reply = handshake.reply(_line(request(number, method, version)))
            assert reply is not None, (version, method)
            assert json.loads(reply) == {"jsonrpc": "2.0", "id": number, "result": expected}


INITIALIZE = request(1, "initialize", "2025-11-25")
LIST = request(2, "tools/list", "2025-11-25")
DISCOVER = request(1, "server/discover", MODERN_VERSION)
LEFT_TO_THE_SDK: dict[str, list[bytes]] = {
    "a list before the handshake": [_line(LIST)],
    "an unknown version": [_line(request(1, "initialize", "1999-01-01"))],
    "the newer version in the older handshake": [_line(request(1, "initialize", MODERN_VERSION))],
    "an unknown method": [_line({**INITIALIZE, "method": "tools/explode"})],
    "a call": [_line({**INITIALIZE, "method": "tools/call"})],
    "a second handshake": [_line(INITIALIZE), _line(INITIALIZE)],
    "the newer generation after the older": [_line(INITIALIZE), _line(DISCOVER)],
    "the older generation after the newer": [_line(DISCOVER), _line(INITIALIZE)],
    "a ping in the newer generation": [_line(request(1, "ping", MODERN_VERSION))],
    "a cursor": [_line(INITIALIZE), _line({**LIST, "params": {"cursor": "x"}})],
    "no capabilities": [_line({**INITIALIZE, "params": {"protocolVersion": "2025-11-25", "clientInfo": CLIENT}})],
    "no client": [_line({**INITIALIZE, "params": {"protocolVersion": "2025-11-25", "capabilities": {}}})],
    "a batch": [_line([INITIALIZE])],
    "an id that is null": [_line({**INITIALIZE, "id": None})],
    "an id that is true": [_line({**INITIALIZE, "id": True})],
    "an id that is a fraction": [_line({**INITIALIZE, "id": 1.0})],
    "an id of half an emoji": [_line({**INITIALIZE, "id": "\ud83d"})],
    "an id of 400 digits": [_line({**INITIALIZE, "id": 10**400})],
    "a name twice": [b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}'],
    "a result": [_line({**INITIALIZE, "result": {}})],
    "an answer": [b'{"jsonrpc":"2.0","id":1,"result":{}}'],
    "another notification": [b'{"jsonrpc":"2.0","method":"ping"}'],
    "garbage": [b"hello?"],
    "an empty line": [b""],
    "invalid UTF-8": [_line(INITIALIZE).replace(b"recorder", b"caf\xe9")],
    "a byte order mark": [b"\xef\xbb\xbf" + _line(INITIALIZE)],
    "a long line": [_line({**INITIALIZE, "id": "x" * MOST_BYTES})],
    "nesting": [
        _line(INITIALIZE).replace(b'"capabilities": {}', b'"capabilities": ' + b'{"a":' * 200 + b"1" + b"}" * 200)
    ],
    "nesting that never ends": [b"[" * 60_000],
}


@pytest.mark.parametrize("name", LEFT_TO_THE_SDK)
def test_what_is_not_plain_is_left_to_the_sdk(name: str) -> None:
    handshake = Handshake("default", RECORDED)
    *before, last = [handshake.reply(line) for line in LEFT_TO_THE_SDK[name]]
    assert all(before)
    assert last is None


ODD: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, 0, 5, "", "x", [], ["x"], {}, {"x": 1}, {"x": {}}, {"listChanged": True}, {"listChanged": "x"}]
)


def _fields(known: dict[str, st.SearchStrategy[Any]], *more: str) -> st.SearchStrategy[dict[str, Any]]:
    """Mostly as it should be; now and then a field is odd, missing or one too many."""
    odd = dict.fromkeys(more, ODD)
    maybe = {name: st.one_of(value, value, value, ODD) for name, value in known.items()}
    return st.one_of(
        st.fixed_dictionaries(known, optional=odd),
        st.fixed_dictionaries({}, optional={**maybe, **odd}),
        st.fixed_dictionaries(maybe, optional=odd),
    )


CLIENTS = _fields(
    {"name": st.just("t"), "version": st.just("1")}, "title", "description", "websiteUrl", "icons", "more"
)
CAPABILITIES = st.one_of(
    st.just({}),
    _fields({}, "roots", "sampling", "elicitation", "experimental", "extensions", "tasks", "more"),
)
ENVELOPE = _fields(
    {
        f"{META}protocolVersion": st.just(MODERN_VERSION),
        f"{META}clientInfo": CLIENTS,
        f"{META}clientCapabilities": CAPABILITIES,
    },
    "progressToken",
    f"{META}logLevel",
)
HANDSHAKES = _fields(
    {"protocolVersion": st.sampled_from(HANDSHAKE_VERSIONS), "clientInfo": CLIENTS, "capabilities": CAPABILITIES},
    "_meta",
    "more",
)
METHODS = st.sampled_from(["ping", "tools/list", "prompts/list", "resources/list", "resources/templates/list"])
PARAMS = _fields({}, "_meta", "cursor", "more")


def _request(method: st.SearchStrategy[str], params: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {"jsonrpc": st.just("2.0"), "id": st.sampled_from([1, "a", -7, 2**40]), "method": method},
        optional={"params": params},
    )


NOTIFICATION = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0"), "method": st.sampled_from(["notifications/initialized", "notifications/x"])},
    optional={"params": st.one_of(st.just({}), ODD)},
)
OLDER = st.tuples(_request(st.just("initialize"), HANDSHAKES), st.one_of(NOTIFICATION, _request(METHODS, PARAMS)))
NEWER = st.tuples(
    _request(st.just("server/discover"), st.fixed_dictionaries({"_meta": ENVELOPE})),
    _request(METHODS, st.fixed_dictionaries({"_meta": ENVELOPE})),
)


@given(st.one_of(OLDER, NEWER))
def test_whatever_is_answered_early_the_server_answers_alike(
    server: PipedServer, messages: tuple[dict[str, Any], ...]
) -> None:
    handshake = Handshake("default", RECORDED)
    said, heard = [], []
    for line in map(_line, messages):
        reply = handshake.reply(line)
        if reply is None:
            break
        message = read_line(line)
        assert not isinstance(message, Refused)
        said.append(message)
        assert bool(reply) is isinstance(message, JSONRPCRequest)
        heard += [json.loads(reply)] if reply else []
    answers = anyio.run(conversation, server, said)
    assert all(isinstance(answer, JSONRPCResponse) for answer in answers), answers
    assert [json.loads(write_line(answer)) for answer in answers] == heard


def test_clients_as_they_are_known_to_be_are_answered_early() -> None:
    """Claude Code, Codex and the Inspector, as they introduce themselves."""
    rich = {**CLIENT, "title": "Claude Code", "description": "a coding tool", "websiteUrl": "https://example.org"}
    icons = {**CLIENT, "icons": [{"src": "https://example.org/i.png", "mimeType": "image/png"}]}
    tasks = {"list": {}, "cancel": {}, "requests": {"sampling": {"createMessage": {}}, "elicitation": {"create": {}}}}
    for client in (CLIENT, rich, icons):
        for capabilities in (
            {},
            {"roots": {"listChanged": True}},
            {"roots": {}, "elicitation": {"form": {}, "url": {}}},
            {"elicitation": {}, "sampling": {}, "tasks": tasks},
            {"experimental": {"x": {"deep": [1]}}, "extensions": {"io.modelcontextprotocol/ui": {"mimeTypes": ["a"]}}},
        ):
            params = {"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": client}
            assert Handshake("default", RECORDED).reply(_line({**INITIALIZE, "params": params})), (client, capabilities)
