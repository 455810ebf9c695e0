"""Agents over HTTP as they should be served: both generations of the protocol, many at once, several servers."""

import json
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from memsweep.app import App, make_app
from memsweep.server.http.door import bind
from memsweep.settings import load_settings
from tests.support.client import MODES, say_yes
from tests.support.commands import Ran
from tests.support.engines import ENGINES, Home
from tests.support.http import HttpServer, client_of, rpc, serving

CLIENTS, REQUESTS = 8, 200


@pytest.mark.parametrize("mode", MODES)
def test_a_client_of_either_generation_remembers_and_is_asked(
    server: HttpServer, tokens: dict[str, str], beside: App, mode: str
) -> None:
    with client_of(server.url, tokens["mine"], mode, asked=say_yes) as client:
        assert (client.protocol_version == "2026-07-28") == (mode == "auto")
        made = client.call("add_memory", text=f"The {mode} lighthouse is lit at six.")
        assert client.call("search_memory", query=f"{mode} lighthouse")["results"]
        gone = client.call("delete_memory", memory_id=made["memory_id"], confirm=True)
        assert client.call("undo", receipt_id=gone["receipt_id"])
    memory = beside.memory("mine")
    origin = memory.get(made["memory_id"]).origin
    assert (origin.door, origin.client, origin.session.split("/")[0]) == ("http", "mcp", "mine")
    assert ("/" in origin.session) == (mode == "legacy")
    assert {event.actor for event in memory.sweep.audit(limit=2)} == {"http:mcp (mine)"}


def test_a_session_belongs_to_the_token_that_opened_it(server: HttpServer, tokens: dict[str, str]) -> None:
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
    plain = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    mine = {**plain, "authorization": f"Bearer {tokens['mine']}"}
    opened = server.ask("POST", "/mcp", json.dumps(body).encode(), **mine)
    session = {"mcp-session-id": opened.headers["mcp-session-id"]}
    listing = json.dumps({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}).encode()
    assert server.ask("POST", "/mcp", listing, **mine, **session).status == 200
    for other in ("all", "other", "reading"):
        theirs = {**plain, "authorization": f"Bearer {tokens[other]}"}
        assert server.ask("POST", "/mcp", listing, **theirs, **session).status == 404
    assert server.ask("DELETE", "/mcp", **mine, **session).status == 200
    assert server.ask("POST", "/mcp", listing, **mine, **session).status == 404


@pytest.mark.slow
def test_many_requests_at_once_are_all_answered(server: HttpServer, tokens: dict[str, str], beside: App) -> None:
    def work(number: int) -> list[int]:
        connection = server.connect()
        token, seen = tokens[("mine", "other")[number % 2]], []
        for count in range(REQUESTS // CLIENTS):
            said = {"name": "add_memory", "arguments": {"text": f"Note {number}.{count} of a busy day."}}
            asked = {"name": "search_memory", "arguments": {"query": "harbour"}}
            answer = rpc(connection, token, "tools/call", said if count % 5 == 0 else asked)
            seen.append(500 if answer.json["result"].get("isError") else answer.status)
        connection.close()
        return seen

    before = beside.memory("mine").stats().total_memories
    with ThreadPoolExecutor(CLIENTS) as pool:
        assert [status for seen in pool.map(work, range(CLIENTS)) for status in seen] == [200] * REQUESTS
    assert beside.memory("mine").stats().total_memories == before + REQUESTS // 5 // 2


@pytest.mark.slow
def test_a_token_that_asks_too_often_has_to_wait_and_no_other(tmp_path: Path, log: Path) -> None:
    slow = {"MEMSWEEP_HTTP_REQUESTS_PER_SECOND": "0.01", "MEMSWEEP_HTTP_BURST": "3"}
    app = make_app(load_settings({"MEMSWEEP_HOME": str(tmp_path / "home")}))
    _, other = app.tokens.create("other")
    _, eager = app.tokens.create("eager")
    with serving(tmp_path / "home", log, **slow) as server:
        answers = [server.rpc(eager, "tools/list") for _ in range(4)]
        assert [each.status for each in answers] == [200, 200, 200, 429]
        assert int(answers[3].headers["retry-after"]) in range(1, 101)
        assert server.rpc(other, "tools/list").status == 200
    app.close()


@pytest.mark.slow
@pytest.mark.skipif("falkor" not in ENGINES, reason="FalkorDB needs Python 3.12 here")
def test_several_servers_of_one_team_know_each_others_tokens(tmp_path: Path) -> None:
    team = Home("falkor", tmp_path / "a")
    here = make_app(load_settings(team.variables))
    _, secret = here.tokens.create("team", ["shared"])
    with (
        serving(tmp_path / "a", tmp_path / "log-a", **team.settings) as first,
        serving(tmp_path / "b", tmp_path / "log-b", **team.settings) as second,
    ):
        first.call(secret, "add_memory", text="The mast is painted white.")
        found = second.call(secret, "search_memory", query="mast")["structuredContent"]
        assert [hit["text"] for hit in found["results"]] == ["The mast is painted white."]
        here.tokens.revoke("team")
        assert [each.rpc(secret, "tools/list").status for each in (first, second)] == [401, 401]
        _, again = here.tokens.create("team")
        assert second.rpc(again, "tools/list").status == 200
    assert not (tmp_path / "a" / "http-token").exists()
    here.close()
    team.close()


@pytest.mark.slow
def test_the_first_token_is_a_private_file_and_made_once(home: Path, log: Path) -> None:
    with serving(home, log) as server:
        secret = server.first_token
        assert (home / "http-token").stat().st_mode & 0o777 == 0o600
        assert secret not in log.read_text()  # which somebody keeps
        assert str(home / "http-token") in log.read_text()
        assert server.rpc(secret, "tools/list").status == 200
    with serving(home, log) as server:
        assert server.first_token == secret
        assert server.rpc(secret, "tools/list").status == 200


@pytest.mark.slow
def test_the_page_is_served_beside_and_a_token_logs_in(home: Path, log: Path) -> None:
    app = make_app(load_settings({"MEMSWEEP_HOME": str(home)}))
    app.memory("mine").remember("The harbour opens at dawn.")
    app.memory("other").remember("The vault is below.")
    _, secret = app.tokens.create("viewer", ["mine"], read_only=True)
    with serving(home, log, "--ui") as server:
        own = {"origin": f"http://127.0.0.1:{server.port}", "content-type": "application/x-www-form-urlencoded"}
        assert server.ask("GET", "/login").status == 200
        assert server.ask("GET", "/").headers["location"] == "/login"
        assert server.ask("POST", "/login", b"token=msw_x", **own).status == 403
        assert server.ask("POST", "/login", f"token={secret}".encode(), **{**own, "origin": "null"}).status == 403
        entered = server.ask("POST", "/login", f"token={secret}".encode(), **own)
        cookie = entered.headers["set-cookie"].split(";")[0]
        assert server.ask("GET", "/w/mine/", cookie=cookie).status == 200
        assert server.ask("GET", "/w/other/", cookie=cookie).status == 404
        assert server.ask("GET", "/mcp", cookie=cookie).status == 401
        assert server.rpc(secret, "tools/list").status == 200
        app.tokens.revoke("viewer")
        assert server.ask("GET", "/w/mine/", cookie=cookie).headers["location"] == "/login"
    app.close()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--ui", "--allowed-host", "m.example"], "the page is for this machine alone"),
        (["--host", "0.0.0.0"], "can be reached from other machines, and no name is allowed"),
        (["--host", "::"], "can be reached from other machines, and no name is allowed"),
        (["--host", "0.0.0.0", "--allowed-host", "m.example"], "there is no token yet"),
        (["--allowed-host", "https://m.example"], "is not a host name, with or without a port"),
        (["--allowed-host", "*"], "is not a host name, with or without a port"),
        (["--host", "192.0.2.1", "--allowed-host", "m.example"], "there is no token yet"),
        (["--profile", "nonsense"], "profile 'nonsense' is unknown"),
        (["--project", "/nowhere/at/all"], "does not exist"),
    ],
)
def test_a_door_that_would_be_open_is_not_opened(
    run: Callable[..., Ran], home: Path, arguments: list[str], sentence: str
) -> None:
    ran = run("serve", "--http", *arguments)
    assert ran.status in (2, 4)
    assert sentence in ran.err
    assert not (home / "http-token").exists()


def test_a_port_that_is_taken_is_said(run: Callable[..., Ran], server: HttpServer) -> None:
    ran = run("serve", "--http", "--port", str(server.port))
    assert (ran.status, f"cannot listen on 127.0.0.1:{server.port}" in ran.err) == (2, True)


def test_answers_go_at_once() -> None:
    """asyncio switches Nagle's algorithm off where a socket says that it is TCP; otherwise each answer waits 40 ms."""
    with bind("127.0.0.1", 0) as listener:
        assert listener.proto == socket.IPPROTO_TCP


def test_options_of_http_need_http(run: Callable[..., Ran]) -> None:
    ran = run("serve", "--port", "9000")
    assert (ran.status, "Add --http" in ran.err) == (2, True)
