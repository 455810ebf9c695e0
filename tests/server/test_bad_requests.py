"""Every request gets an answer: a table of lines that are no request, and what a client hears of them."""

from __future__ import annotations

import json
import random
import select
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memsweep.server.envelope import MAX_LINE_BYTES
from tests.support.client import TRIED_MODES, RawServer, raw_server
from tests.support.commands import MEMSWEEP, environment
from tests.support.waiting import PATIENCE

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32700, -32600, -32601, -32602
TOOL_ERROR = 1  # a result that says so, which the model reads
NESTED_META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


@pytest.fixture(scope="module", params=TRIED_MODES)
def talk(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Talk]:
    """One server for the whole table: it has to survive all of it."""
    home = tmp_path_factory.mktemp("served") / "home"
    with raw_server(home, MEMSWEEP_LOG_LEVEL="ERROR") as server:
        talk = Talk(server, modern=request.param != "legacy")
        if not talk.modern:
            server.initialize()
        yield talk
        status, _, log = server.hang_up()
    assert status == 0
    assert b"Traceback" not in log


class Talk:
    """A conversation in one generation of the protocol."""

    def __init__(self, server: RawServer, *, modern: bool) -> None:
        self.server, self.modern = server, modern
        self._ids = iter(range(1_000_000, 2_000_000))

    def params(self, params: dict[str, Any]) -> dict[str, Any]:
        return {**params, "_meta": NESTED_META} if self.modern else params

    def call(self, number: Any, arguments: dict[str, Any], tool: str = "add_memory") -> dict[str, Any]:
        params = self.params({"name": tool, "arguments": arguments})
        return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}

    def answers(self, *lines: bytes, at_least: int = 0) -> list[dict[str, Any]]:
        """What came back to these lines, and that a good call after them is answered."""
        for line in lines:
            self.server.send_bytes(line)
        last = next(self._ids)
        self.server.send_bytes(_json(self.call(last, {}, "get_stats")))
        heard: list[dict[str, Any]] = []
        good: dict[str, Any] = {}
        while not good or len(heard) < at_least:
            answer = json.loads(self.server.line())
            if answer.get("id") == last:
                good = answer
            else:
                heard.append(answer)
        assert "result" in good
        return heard


def _json(message: Any) -> bytes:
    return json.dumps(message).encode()


def _nested(talk: Talk, levels: int) -> bytes:
    call = _json(talk.call("deep", {"text": "x", "metadata": {"deep": "HERE"}}))
    return call.replace(b'"HERE"', b"[" * levels + b"]" * levels)


def _envelope(**fields: Any) -> Callable[[Talk], bytes]:
    """A ping with other fields; None takes one away."""

    def line(talk: Talk) -> bytes:
        message = {"jsonrpc": "2.0", "id": 7, "method": "tools/list", "params": talk.params({})} | fields
        return _json({name: value for name, value in message.items() if value is not ...})

    return line


def _adding(**arguments: Any) -> Callable[[Talk], bytes]:
    return lambda talk: _json(talk.call(7, {"text": "good", **arguments}))


def _raw(line: bytes) -> Callable[[Talk], bytes]:
    return lambda talk: line


def _replaced(old: bytes, new: bytes) -> Callable[[Talk], bytes]:
    return lambda talk: _json(talk.call(7, {"text": "PLACE"})).replace(old, new)


# name: the line, the code of the answer (None: none is sent), its id
BAD: dict[str, tuple[Callable[[Talk], bytes], int | None, Any]] = {
    "garbage": (_raw(b"hello?"), PARSE_ERROR, None),
    "half an object": (_raw(b'{"jsonrpc":"2.0","id":9,"method":"ping"'), PARSE_ERROR, 9),
    "half an object, the id unfinished": (_raw(b'{"jsonrpc":"2.0","id'), PARSE_ERROR, None),
    "two on a line": (_raw(b'{"jsonrpc":"2.0","id":9,"method":"ping"}{}'), PARSE_ERROR, 9),
    "an id inside is not the id": (_raw(b'{"jsonrpc":"2.0","params":{"id":9},"method":"x",}'), PARSE_ERROR, None),
    "a NUL byte": (_replaced(b"PLACE", b"a\0b"), PARSE_ERROR, 7),
    "a NUL byte alone": (_raw(b"\0"), PARSE_ERROR, None),
    "a byte order mark": (_raw(b'\xef\xbb\xbf{"jsonrpc":"2.0","id":7,"method":"ping"}'), PARSE_ERROR, 7),
    "invalid UTF-8": (_replaced(b"PLACE", b"caf\xe9"), PARSE_ERROR, 7),
    "invalid UTF-8 in the name of the tool": (_replaced(b"add_memory", b"\xff\xfe"), PARSE_ERROR, 7),
    "a surrogate in UTF-8": (_replaced(b"PLACE", b"\xed\xa0\xbd"), PARSE_ERROR, 7),
    "an id of 5,000 digits": (_raw(b'{"jsonrpc":"2.0","method":"ping","id":' + b"9" * 5000 + b"}"), PARSE_ERROR, None),
    "nesting of 200 levels": (lambda talk: _nested(talk, 200), PARSE_ERROR, "deep"),
    "nesting of 100,000 levels": (lambda talk: _nested(talk, 100_000), PARSE_ERROR, "deep"),
    "nesting that never ends": (_raw(b"[" * 1_000_000), INVALID_REQUEST, None),
    "the id behind nesting": (
        _raw(b'{"params":' + b"[" * 100_000 + b"]" * 100_000 + b',"method":"x","jsonrpc":"2.0","id":"z"}'),
        PARSE_ERROR,
        "z",
    ),
    "nothing in it": (_raw(b"{}"), INVALID_REQUEST, None),
    "null": (_raw(b"null"), INVALID_REQUEST, None),
    "a number": (_raw(b"42"), INVALID_REQUEST, None),
    "a text": (_raw(b'"ping"'), INVALID_REQUEST, None),
    "an empty batch": (_raw(b"[]"), INVALID_REQUEST, None),
    "a batch of nothing useful": (_raw(b"[1, 2, 3]"), INVALID_REQUEST, None),
    "an id alone": (_raw(b'{"id":7}'), INVALID_REQUEST, 7),
    "no version": (_envelope(jsonrpc=...), INVALID_REQUEST, 7),
    "another version": (_envelope(jsonrpc="1.0"), INVALID_REQUEST, 7),
    "a version that is a number": (_envelope(jsonrpc=2.0), INVALID_REQUEST, 7),
    "no version and no id": (_raw(b'{"method":"ping"}'), INVALID_REQUEST, None),
    "no method": (_envelope(method=...), INVALID_REQUEST, 7),
    "a method that is a number": (_envelope(method=5), INVALID_REQUEST, 7),
    "a method that is null": (_envelope(method=None), INVALID_REQUEST, 7),
    "a method with half an emoji": (_envelope(method="pi\ud83dng"), INVALID_REQUEST, 7),
    "an id that is null": (_envelope(id=None), INVALID_REQUEST, None),
    "an id that is a fraction": (_envelope(id=1.5), INVALID_REQUEST, 1.5),
    "an id that is true": (_envelope(id=True), INVALID_REQUEST, None),
    "an id that is an object": (_envelope(id={"a": 1}), INVALID_REQUEST, None),
    "an id that is a list": (_envelope(id=[7]), INVALID_REQUEST, None),
    "an id of half an emoji": (_envelope(id="\ud83d"), INVALID_REQUEST, "\ud83d"),
    "params that are a list": (_envelope(params=[]), INVALID_PARAMS, 7),
    "params that are a text": (_envelope(params="x"), INVALID_PARAMS, 7),
    "params that are a list beside a result": (_envelope(params=[], result={}), INVALID_PARAMS, 7),
    "half an emoji in params": (
        lambda talk: _envelope(params=talk.params({"cursor": "\ud83d"}))(talk),
        INVALID_PARAMS,
        7,
    ),
    "an unknown method": (_envelope(method="tools/explode"), METHOD_NOT_FOUND, 7),
    "a call without a tool": (
        lambda talk: _envelope(method="tools/call", params=talk.params({}))(talk),
        INVALID_PARAMS,
        7,
    ),
    "arguments that are a list": (lambda talk: _arguments(talk, []), INVALID_PARAMS, 7),
    "arguments that are a text": (lambda talk: _arguments(talk, "x"), INVALID_PARAMS, 7),
    "half an emoji in an argument": (_adding(text="cut off \ud83d"), TOOL_ERROR, 7),
    "the other half": (_adding(text="\ude00 cut off"), TOOL_ERROR, 7),
    "half an emoji in a list": (_adding(tags=["a", "\ud83d"]), TOOL_ERROR, 7),
    "half an emoji in a key": (_adding(metadata={"\ud83d": 1}), TOOL_ERROR, 7),
    "half an emoji deep down": (_adding(metadata={"a": [{"b": "\ud83d"}]}), TOOL_ERROR, 7),
    "half an emoji in the name of an argument": (_adding(**{"\ud83d": 1}), TOOL_ERROR, 7),
    "half an emoji in a workspace": (_adding(workspace_id="\ud83d"), TOOL_ERROR, 7),
    "an unknown argument": (_adding(txet="x"), TOOL_ERROR, 7),
    "a notification that nobody knows": (_envelope(id=..., method="notifications/x"), None, None),
    "a notification with params that are a list": (_envelope(id=..., params=[]), None, None),
    "a notification with half an emoji": (_envelope(id=..., params={"a": "\ud83d"}), None, None),
    "an answer that nobody asked for": (_raw(b'{"jsonrpc":"2.0","id":7,"result":{}}'), None, None),
    "an answer without form": (_raw(b'{"jsonrpc":"2.0","id":7,"result":5}'), None, None),
    "an error without form": (_raw(b'{"jsonrpc":"2.0","id":7,"error":"no"}'), None, None),
    "an answer to null": (_raw(b'{"jsonrpc":"2.0","id":null,"result":{}}'), None, None),
    "an empty line": (_raw(b""), None, None),
    "white space": (_raw(b" \t \r"), None, None),
}


def _arguments(talk: Talk, arguments: Any) -> bytes:
    return _json(talk.call(7, {}) | {"params": talk.params({"name": "add_memory", "arguments": arguments})})


@pytest.mark.parametrize("name", BAD)
def test_a_line_that_is_no_request_is_answered_as_json_rpc_says_and_the_session_goes_on(talk: Talk, name: str) -> None:
    line, code, number = BAD[name]
    heard = talk.answers(line(talk), at_least=code is not None)
    if code is None:
        assert heard == []
        return
    (answer,) = heard
    assert answer["jsonrpc"] == "2.0"
    assert answer["id"] == number
    if code == TOOL_ERROR:
        assert answer["result"]["isError"] is True
        assert answer["result"]["content"][0]["text"].startswith("Error: ")
    else:
        assert answer["error"]["code"] == code, answer
        assert answer["error"]["message"]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"text": "cut off \ud83d"}, "text"),
        ({"tags": ["a", "\ud83d"]}, "tags[1]"),
        ({"metadata": {"\ud83d": 1}}, "metadata"),
        ({"metadata": {"a": [{"b": "\ud83d"}]}}, "metadata.a[0].b"),
        ({"workspace_id": "w\ud83d"}, "workspace_id"),
    ],
)
def test_half_an_emoji_is_refused_by_the_name_of_its_argument(
    talk: Talk, arguments: dict[str, Any], named: str
) -> None:
    (answer,) = talk.answers(_json(talk.call(7, {"text": "good", **arguments})), at_least=1)
    sentence = answer["result"]["content"][0]["text"]
    assert sentence.startswith(f"Error: {named} contains a lone surrogate")
    assert "\\ud83d" in sentence


def test_each_request_of_a_batch_is_refused_by_its_id(talk: Talk) -> None:
    batch = [
        {"jsonrpc": "2.0", "id": 1, "method": "ping"},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": "b", "method": "ping"},
    ]
    heard = talk.answers(_json(batch))
    assert [(answer["id"], answer["error"]["code"]) for answer in heard] == [
        (1, INVALID_REQUEST),
        ("b", INVALID_REQUEST),
    ]
    assert "line" in heard[0]["error"]["message"]


def test_two_requests_with_one_id_are_both_answered(talk: Talk) -> None:
    twice = [_json(talk.call(7, {"text": f"twin {number}"})) for number in range(2)]
    heard = talk.answers(*twice, at_least=2)
    assert [answer["id"] for answer in heard] == [7, 7]
    assert all(answer["result"]["isError"] is False for answer in heard)


@pytest.mark.slow
def test_a_line_of_100_mb_is_refused_by_its_id_wherever_that_is(talk: Talk) -> None:
    long = b"x" * (100 * 1024 * 1024)
    first = b'{"jsonrpc":"2.0","id":"first","method":"ping","params":{"a":"' + long + b'"}}'
    last = b'{"method":"ping","params":{"a":"' + long + b'"},"jsonrpc":"2.0","id":"last"}'
    heard = talk.answers(first, last)
    assert [(answer["id"], answer["error"]["code"]) for answer in heard] == [
        ("first", INVALID_REQUEST),
        ("last", INVALID_REQUEST),
    ]
    assert f"{MAX_LINE_BYTES:,}" in heard[0]["error"]["message"]


def test_nothing_that_is_not_utf_8_is_stored(talk: Talk) -> None:
    (answer,) = talk.answers(_replaced(b"PLACE", b"caf\xe9 zebrawort")(talk))
    assert "UTF-8" in answer["error"]["message"]
    found = talk.call(8, {"query": "zebrawort"}, "search_memory")
    talk.server.send_bytes(_json(found))
    hits = talk.server.answer(8)["result"]["structuredContent"]["results"]
    assert not any("zebrawort" in hit["text"] for hit in hits)


def test_no_answer_repeats_a_long_input(talk: Talk) -> None:
    long = "y" * 10_000
    lines = [
        _envelope(method=long),
        _envelope(jsonrpc=long),
        _envelope(params=long),
        lambda talk: _json(talk.call(7, {}, long)),
        lambda talk: _json(talk.call(7, {long: 1})),
        lambda talk: _envelope(method="resources/read", params=talk.params({"uri": f"memsweep://{long}"}))(talk),
        lambda talk: _envelope(method="prompts/get", params=talk.params({"name": long}))(talk),
        _raw(long.encode()),
    ]
    for line in lines:
        (answer,) = talk.answers(line(talk), at_least=1)
        assert "y" * 201 not in json.dumps(answer)


def test_a_cancelled_request_is_not_answered_and_the_next_one_is(talk: Talk) -> None:
    cancel = _json({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 4711}})
    heard = talk.answers(_json(talk.call(4711, {"text": "cancelled at once"})), cancel)
    assert len(heard) <= 1  # it may have been quicker
    assert talk.answers(cancel) == []  # nothing goes on under this number


PIECES = [b'"', b"{", b"}", b"[", b"]", b",", b":", b"\\", b"\\ud83d", b"\xff", b"\0", b"null", b"1e999"]


def _mutated(line: bytes, random_: random.Random) -> bytes:
    changed = bytearray(line)
    for _ in range(random_.randint(1, 4)):
        place = random_.randrange(len(changed) or 1)
        piece = random_.choice(
            [b'"', b"{", b"}", b"[", b"]", b",", b":", b"\\", b"\\ud83d", b"\xff", b"\0", b"null", b"1e999"]
        )
        match random_.randrange(4):
            case 0:
                changed[place:place] = piece
            case 1:
                changed[place : place + len(piece)] = piece
            case 2:
                del changed[place : place + random_.randint(1, 20)]
            case _:
                changed[place : place + 1] = bytes([random_.randrange(256)])
    return bytes(changed).replace(b"\n", b" ").replace(b"\r", b" ")


@pytest.mark.slow
def test_every_mutated_line_gets_exactly_one_answer_or_is_no_request(talk: Talk) -> None:
    """Whatever could be a request is answered once. The id stays whole, at one end or the other."""
    random_ = random.Random(14)
    for round_ in range(400):
        number = f"fuzz-{round_}"
        body = _json(talk.call(0, {"text": f"round {round_}", "tags": ["a"], "metadata": {"k": [1, {"x": None}]}}))
        middle = _mutated(body.removeprefix(b'{"jsonrpc": "2.0", "id": 0, ').removesuffix(b"}"), random_)
        envelope = b'"jsonrpc":"2.0","id":' + _json(number)
        line = b"{" + envelope + b"," + middle + b"}" if round_ % 2 else b"{" + middle + b"," + envelope + b"}"
        (answer,) = talk.answers(line, at_least=1)
        assert answer["id"] in (number, None), (line, answer)
        assert ("error" in answer) != ("result" in answer)
        assert not select.select([talk.server.process.stdout], [], [], 0)[0]


@pytest.mark.slow
def test_input_from_a_file_is_answered_as_well(tmp_path: Path) -> None:
    """Not through a pipe, which the event loop cannot watch."""
    lines = [b"garbage", b"[]", b'{"jsonrpc":"2.0","id":3,"method":"ping","params":[]}', b'{"id":4,"method":"\xff"}']
    (tmp_path / "talk").write_bytes(b"\n".join(lines))
    with (tmp_path / "talk").open("rb") as talk, (tmp_path / "answers").open("wb") as answers:
        ran = subprocess.run(
            [*MEMSWEEP, "serve"],
            stdin=talk,
            stdout=answers,
            stderr=subprocess.PIPE,
            env=environment(tmp_path / "home"),
            timeout=PATIENCE,
        )
    assert ran.returncode == 0, ran.stderr
    heard = [json.loads(line) for line in (tmp_path / "answers").read_bytes().splitlines()]
    assert [(each["id"], each["error"]["code"]) for each in heard] == [
        (None, PARSE_ERROR),
        (None, INVALID_REQUEST),
        (3, INVALID_PARAMS),
        (4, PARSE_ERROR),
    ]
