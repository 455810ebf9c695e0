"""Nobody takes all places: of streams, of requests, of connections."""

import json
import socket
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsweep.app import make_app
from memsweep.model.checks import MOST_VALUES
from memsweep.server.envelope import TOO_MANY_VALUES, Refused, has_too_many_values, read_line
from memsweep.settings import load_settings
from memsweep.web.connections import MOST_CONNECTIONS
from memsweep.web.guard import MOST_BODY_BYTES, Shares
from tests.support.http import HttpServer, rpc_body, rpc_headers, serving

LIST, LISTEN = "tools/list", "subscriptions/listen"
GENEROUS = {"MEMSWEEP_HTTP_BURST": "10000"}


@pytest.fixture
def patient(tmp_path: Path) -> Iterator[tuple[HttpServer, dict[str, str]]]:
    """A server that waits as long as servers do, and two tokens."""
    app = make_app(load_settings({"MEMSWEEP_HOME": str(tmp_path / "home")}))
    made = {name: app.tokens.create(name, ["work"], read_only=True)[1] for name in ("greedy", "other")}
    app.close()
    with serving(tmp_path / "home", tmp_path / "log", **GENEROUS) as server:
        yield server, made


@pytest.fixture
def opened(patient: tuple[HttpServer, dict[str, str]]) -> Iterator[Callable[[bytes], socket.socket]]:
    with ExitStack() as stack:
        yield lambda said: stack.enter_context(closing(patient[0].raw(said)))


def request(server: HttpServer, token: str, method: str, params: dict[str, object] | None = None) -> bytes:
    body, headers = rpc_body(method, params), rpc_headers(token, method)
    headers |= {"host": f"127.0.0.1:{server.port}", "content-length": str(len(body))}
    lines = ["POST /mcp HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    return "\r\n".join(lines).encode() + body


@pytest.mark.slow
def test_one_token_that_listens_without_end_shuts_nobody_out(patient, opened) -> None:
    server, tokens = patient

    def listen(name: str) -> bytes:
        return opened(request(server, tokens[name], LISTEN, {"notifications": {}})).recv(1 << 16)

    said = [listen("greedy") for _ in range(140)]
    assert {each[:12] for each in said[:128]} == {b"HTTP/1.1 200"}
    assert {each[:12] for each in said[128:]} == {b"HTTP/1.1 503"}
    assert b"Too many streams of this token are open; end one, or wait." in said[-1]
    assert listen("other").startswith(b"HTTP/1.1 200 ")
    assert [server.rpc(tokens[name], LIST).status for name in tokens] == [200, 200]


@pytest.mark.slow
def test_heads_that_never_end_shut_nobody_out(patient, opened) -> None:
    server, tokens = patient
    for number in range(MOST_CONNECTIONS + 100):
        opened(f"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1:{server.port}\r\nx: {number}\r\n".encode())
    assert server.ask("GET", "/healthz").status == 200
    assert server.rpc(tokens["other"], LIST).status == 200


@pytest.mark.slow
def test_bodies_that_never_end_shut_nobody_out(patient, opened) -> None:
    server, tokens = patient
    begun = request(server, tokens["greedy"], LIST)[:-1]
    waiting = [opened(begun) for _ in range(MOST_CONNECTIONS)]
    assert b"Too many requests with this token are under way" in waiting[-1].recv(1 << 16)
    assert server.ask("GET", "/healthz").status == 200
    assert server.rpc(tokens["other"], LIST).status == 200


@pytest.mark.slow
def test_a_message_of_very_many_values_is_refused_before_it_is_read(patient) -> None:
    server, tokens = patient
    batch = b"[" + b"{}," * (MOST_BODY_BYTES // 3 - 100) + b"{}]"
    for body in (batch, b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":' + batch[:-3] + b"1]}}"):
        answer = server.ask("POST", "/mcp", body, **rpc_headers(tokens["other"], LIST))
        assert (answer.status, TOO_MANY_VALUES in answer.text) == (413, True)


@pytest.mark.parametrize(
    ("values", "is_refused"), [(MOST_VALUES - 10, False), (MOST_VALUES + 1, True)], ids=["few", "many"]
)
def test_values_are_counted_and_the_commas_of_texts_are_not(values: int, is_refused: bool) -> None:
    params = {"text": '[,{"\\' * MOST_VALUES, "list": [1] * values}
    line = json.dumps({"jsonrpc": "2.0", "id": 7, "method": "x", "params": params}).encode()
    assert has_too_many_values(line) is is_refused
    read = read_line(line)
    assert isinstance(read, Refused) is is_refused
    assert not isinstance(read, Refused) or '"id": 7' in read.answers[0]


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.booleans()), max_size=120), st.integers(8, 40))
def test_who_holds_nothing_is_let_in_whatever_the_others_do(steps: list[tuple[str, bool]], places: int) -> None:
    shares, held = Shares(places), Counter[str]()
    for caller, comes in steps:
        if comes:
            is_let_in = shares.take(caller)
            assert is_let_in or held[caller]
            held[caller] += is_let_in
        elif held[caller]:
            shares.give_back(caller)
            held[caller] -= 1
        assert held.total() < places
    newcomer = "somebody else"
    assert shares.take(newcomer)


def test_one_caller_alone_gets_half() -> None:
    shares = Shares(10)
    assert sum(shares.take("a") for _ in range(20)) == 5
    assert [shares.take("b") for _ in range(4)] == [True, True, True, False]
