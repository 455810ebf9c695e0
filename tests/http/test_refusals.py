"""What a real server refuses, by raw requests: one server, a row for each case."""

from collections.abc import Iterator
from typing import Any

import pytest

from memsweep.app import App
from memsweep.web.guard import MOST_BODY_BYTES, SECURITY_HEADERS
from tests.support.http import HttpServer, is_hung_up_on, rpc_headers

LIST = "tools/list"


@pytest.mark.parametrize(
    ("token", "headers", "status", "said"),
    [
        ("all", {}, 200, '"search_memory"'),
        ("mine", {}, 200, '"search_memory"'),
        ("all", {"host": "evil.example"}, 421, "not known by that name"),
        ("all", {"host": "localhost"}, 421, "not known by that name"),
        ("all", {"origin": "https://evil.example"}, 403, "other sites"),
        ("all", {"origin": "http://localhost:3000"}, 403, "other sites"),
        ("all", {"origin": "null"}, 403, "other sites"),
        ("all", {"sec_fetch_site": "cross-site"}, 403, "other sites"),
        ("none", {"host": "evil.example"}, 421, "not known by that name"),
        ("none", {}, 401, "A token is needed"),
        ("none", {"authorization": "Basic YTpi"}, 401, "A token is needed"),
        ("none", {"authorization": "Bearer "}, 401, "A token is needed"),
        ("malformed", {}, 401, "unknown here"),
        ("unknown", {}, 401, "unknown here"),
        ("expired", {}, 401, "'expired' expired on"),
        ("revoked", {}, 401, "'revoked' was revoked on"),
        ("all", {"content_length": str(MOST_BODY_BYTES + 1)}, 413, "Split it"),
        ("all", {"content_type": "text/plain"}, 400, "Content-Type"),
        ("all", {"mcp_protocol_version": "1999-01-01"}, 400, "does not match"),
    ],
)
def test_a_request_is_refused_with_a_sentence(
    server: HttpServer, tokens: dict[str, str], token: str, headers: dict[str, str], status: int, said: str
) -> None:
    answer = server.rpc(tokens[token], LIST, **headers)
    assert (answer.status, said in answer.text) == (status, True), answer
    assert answer.headers.items() >= {name.decode(): each.decode() for name, each in SECURITY_HEADERS[:3]}.items()
    assert answer.headers.get("www-authenticate", "").startswith("Bearer") == (status == 401)
    assert all(secret not in answer.text for secret in tokens.values() if secret)


def test_a_host_is_ours_with_its_port_and_an_origin_is_the_same(server: HttpServer, tokens: dict[str, str]) -> None:
    for name in ("127.0.0.1", "localhost", "[::1]"):
        host = f"{name}:{server.port}"
        assert server.rpc(tokens["all"], LIST, host=host, origin=f"http://{host}").status == 200
    assert server.rpc(tokens["all"], LIST, host=f"localhost:{server.port + 1}").status == 421
    # HTTP/1.1 does not have that; a body that is not read would reset the connection, at times before the answer is.
    assert server.ask("GET", "/mcp", host=None).status == 400


@pytest.mark.parametrize("token", ["none", "unknown", "expired", "revoked"])
def test_without_a_token_nothing_is_to_be_seen(server: HttpServer, tokens: dict[str, str], token: str) -> None:
    for path in ("/mcp", "/metrics", "/", "/nothing", "/mcp/", "/healthz/", "//mcp", "/login"):
        for method in ("GET", "POST", "DELETE", "OPTIONS", "HEAD"):
            answer = server.ask(method, path, **rpc_headers(tokens[token], LIST))
            assert answer.status == 401, (method, path)


def test_health_needs_no_token_and_tells_nothing(server: HttpServer) -> None:
    answer = server.ask("GET", "/healthz")
    assert (answer.status, answer.text) == (200, "ok\n")
    assert server.ask("GET", "/healthz", host="evil.example").status == 421
    assert server.ask("POST", "/healthz").status == 405


def test_metrics_are_in_the_form_of_prometheus_and_name_nobody(server: HttpServer, tokens: dict[str, str]) -> None:
    server.call(tokens["all"], "list_workspaces")
    server.call(tokens["all"], "no_such_tool")
    answer = server.ask("GET", "/metrics", authorization=f"Bearer {tokens['reading']}")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    samples = dict(line.rsplit(" ", 1) for line in answer.text.splitlines() if not line.startswith("#"))
    assert int(samples['memsweep_tool_calls_total{tool="list_workspaces",outcome="ok"}']) >= 1
    assert int(samples['memsweep_tool_calls_total{tool="unknown",outcome="error"}']) >= 1
    assert int(samples['memsweep_http_requests_total{method="POST",status="200"}']) >= 2
    assert samples['memsweep_http_request_seconds_bucket{le="+Inf"}'] == samples["memsweep_http_request_seconds_count"]
    assert not any(name in answer.text for name in ("mine", "reading", "msw_"))


def refused(server: HttpServer, secret: str, tool: str, **arguments: Any) -> str:
    """The sentence that a tool answers; it is an error for the model, not for the protocol."""
    result = server.call(secret, tool, **arguments)
    assert result["isError"], result
    return str(result["content"][0]["text"])


def test_a_token_reaches_its_own_workspaces_alone(server: HttpServer, tokens: dict[str, str]) -> None:
    own = server.call(tokens["mine"], "search_memory", query="harbour", mode="deep")["structuredContent"]
    assert [hit["text"] for hit in own["results"]] == ["The harbour opens at dawn."]
    listed = server.call(tokens["mine"], "list_workspaces")["structuredContent"]
    assert {each["workspace_id"] for each in listed["workspaces"]} <= {"mine", "new"}
    assert listed["current"] == "mine"
    for tool, arguments in (
        ("search_memory", {"query": "vault"}),
        ("add_memory", {"text": "x"}),
        ("get_stats", {}),
        ("prune_memory", {"strategy": "all"}),
        ("create_workspace", {}),
    ):
        said = refused(server, tokens["mine"], tool, workspace_id="other", **arguments)
        assert "token 'mine' is not for workspace 'other', only for 'mine', 'new'" in said
    assert "is not for workspace 'personal'" in refused(
        server, tokens["mine"], "add_memory", text="x", scope="personal"
    )
    for uri in ("memsweep://other/stats", "memsweep://other/trash", "memsweep://other/audit"):
        read = server.rpc(tokens["mine"], "resources/read", {"uri": uri}, mcp_name=uri).json
        assert "is not for workspace 'other'" in read["result"]["contents"][0]["text"]
    uri = "memsweep://workspaces"
    names = server.rpc(tokens["mine"], "resources/read", {"uri": uri}, mcp_name=uri).json["result"]["contents"][0]
    assert "other" not in names["text"]


def test_clients_with_different_tokens_at_once_have_different_workspaces(
    server: HttpServer, tokens: dict[str, str], beside: App
) -> None:
    for name in ("mine", "other"):
        server.call(tokens[name], "add_memory", text=f"Said by the holder of {name}.")
    for name in ("mine", "other"):
        texts = [hit.passage.text for hit in beside.memory(name).search("said by the holder", mode="deep").hits]
        assert [text for text in texts if text.startswith("Said")] == [f"Said by the holder of {name}."]


def test_a_reading_token_finds_no_tool_that_writes(server: HttpServer, tokens: dict[str, str], beside: App) -> None:
    before = beside.memory("mine").stats().total_memories
    tools = server.rpc(tokens["reading"], LIST).json["result"]["tools"]
    assert "search_memory" in {tool["name"] for tool in tools}
    assert all(tool["annotations"]["readOnlyHint"] for tool in tools)
    said = refused(server, tokens["reading"], "add_memory", text="x")
    assert "add_memory is not offered: this token only reads" in said
    assert beside.memory("mine").stats().total_memories == before
    assert not server.call(tokens["reading"], "search_memory", query="harbour").get("isError")


def test_files_of_the_server_are_for_tokens_of_all_workspaces(
    server: HttpServer, tokens: dict[str, str], tmp_path: Any
) -> None:
    (tmp_path / "a.py").write_text("def secret_function(): ...\n")
    said = refused(server, tokens["mine"], "index_codebase", repo_path=str(tmp_path))
    assert "does not reach them" in said
    done = server.call(tokens["all"], "index_codebase", repo_path=str(tmp_path), workspace_id="code")
    assert not done.get("isError"), done


def test_the_origin_names_the_token_and_the_client(server: HttpServer, tokens: dict[str, str], beside: App) -> None:
    made = server.call(tokens["mine"], "add_memory", text="Origins are set by the door.")["structuredContent"]
    origin = beside.memory("mine").get(made["memory_id"]).origin
    assert (origin.door, origin.client, origin.session, origin.tier) == ("http", "raw", "mine", "agent")


def pieces(size: int) -> Iterator[bytes]:
    for _ in range(size // (1 << 20) + 1):
        yield b"x" * (1 << 20)


def test_a_body_that_grows_too_large_is_cut_off(server: HttpServer, tokens: dict[str, str]) -> None:
    headers = rpc_headers(tokens["all"], LIST)
    assert server.ask("POST", "/mcp", pieces(MOST_BODY_BYTES), **headers).status == 413
    assert server.rpc(tokens["all"], LIST).status == 200


@pytest.mark.slow
def test_a_client_that_never_finishes_is_hung_up_on(server: HttpServer, tokens: dict[str, str]) -> None:
    head = f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n".encode()
    token = f"Authorization: Bearer {tokens['all']}\r\nContent-Type: application/json\r\n".encode()
    waiting = [
        server.raw(),  # says nothing
        server.raw(head),  # no end of the head
        server.raw(head, token, b"Content-Length: 100\r\n\r\n{"),  # no end of the body
        server.raw(head.replace(b"POST /mcp", b"GET /healthz"), b"\r\n", head),  # a second head without an end
    ]
    said = [is_hung_up_on(each) for each in waiting]
    assert said[:2] == [b"", b""]
    assert said[2].startswith(b"HTTP/1.1 408 ")
    assert said[3].startswith(b"HTTP/1.1 200 ")
    assert said[3].count(b"HTTP/1.1") == 1
    assert server.rpc(tokens["all"], LIST).status == 200


def test_what_is_no_http_gets_an_answer_and_hurts_nobody(server: HttpServer, tokens: dict[str, str]) -> None:
    for garbage in (b"\x16\x03\x01\x02\x00\x01\x00", b"GET\r\n\r\n", b"\x00" * 100 + b"\r\n\r\n", b"A" * 100_000):
        assert is_hung_up_on(server.raw(garbage)).startswith((b"HTTP/1.1 400 ", b""))
    assert server.rpc(tokens["all"], LIST).status == 200
