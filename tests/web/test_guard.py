import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from memsweep.errors import BadInput
from memsweep.web.guard import SECURITY_HEADERS, Guard, GuardedApp, check_host, is_loopback, make_guard, with_security

GUARD = make_guard(8765, ["memory.example.com", "10.0.0.5:8765"], most_body_bytes=100)


def status(method: str = "POST", host: str = "127.0.0.1:8765", **more: str) -> int:
    """What a request is refused with; 200 if it is not."""
    headers = [(b"host", host.encode()), *((name.replace("_", "-").encode(), v.encode()) for name, v in more.items())]
    refused = GUARD.refusal(method, headers)
    return refused.status if refused else 200


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1:8765", 200),
        ("localhost:8765", 200),
        ("LocalHost:8765", 200),
        ("[::1]:8765", 200),
        ("memory.example.com", 200),
        ("10.0.0.5:8765", 200),
        ("127.0.0.1", 421),
        ("127.0.0.1:8766", 421),
        ("localhost.:8765", 421),
        ("memory.example.com:443", 421),
        ("10.0.0.5", 421),
        ("evil.example", 421),
        ("evil.example:8765", 421),
        ("127.0.0.1:8765, evil.example", 421),
        ("127.0.0.1:8765@evil.example", 421),
        ("", 421),
    ],
)
def test_only_exact_names_are_ours(host: str, expected: int) -> None:
    assert status(host=host) == expected


def test_two_hosts_or_none_are_no_name() -> None:
    for headers in ([], [(b"host", b"127.0.0.1:8765"), (b"host", b"evil.example")]):
        refused = GUARD.refusal("GET", headers)
        assert refused is not None
        assert refused.status == 421


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "OPTIONS"])
@pytest.mark.parametrize(
    ("host", "origin", "expected"),
    [
        ("127.0.0.1:8765", "http://127.0.0.1:8765", 200),
        ("localhost:8765", "http://localhost:8765", 200),
        ("memory.example.com", "https://memory.example.com", 200),
        ("127.0.0.1:8765", "http://localhost:8765", 403),
        ("127.0.0.1:8765", "https://127.0.0.1:8765", 403),
        ("127.0.0.1:8765", "http://127.0.0.1:3000", 403),
        ("127.0.0.1:8765", "http://127.0.0.1", 403),
        ("memory.example.com", "http://memory.example.com", 403),
        ("127.0.0.1:8765", "null", 403),
        ("127.0.0.1:8765", "", 403),
        ("127.0.0.1:8765", "https://evil.example", 403),
        ("127.0.0.1:8765", "http://127.0.0.1:8765.evil.example", 403),
    ],
)
def test_an_origin_is_none_or_exactly_that_of_the_host(method: str, host: str, origin: str, expected: int) -> None:
    assert status(method, host, origin=origin) == expected
    assert status(method, host) == 200


@pytest.mark.parametrize(
    ("site", "read", "write"),
    [("same-origin", 200, 200), ("none", 200, 200), ("same-site", 200, 403), ("cross-site", 200, 403), ("", 200, 403)],
)
def test_a_write_does_not_come_from_another_site(site: str, read: int, write: int) -> None:
    assert [status(each, sec_fetch_site=site) for each in ("GET", "POST", "DELETE")] == [read, write, write]


def test_a_declared_body_is_measured() -> None:
    assert [status(content_length=size) for size in ("0", "100", "101", "9" * 30)] == [200, 200, 413, 413]


@pytest.mark.parametrize(
    "name", ["", "*", "*.example.com", "https://a.example", "a.example/x", "a b", "a:0", "a:x", "a:", "::1", "[x]", "é"]
)
def test_what_cannot_be_a_host_is_not_allowed(name: str) -> None:
    with pytest.raises(BadInput, match="allowed host"):
        check_host(name)


def test_loopback_is_this_machine_alone() -> None:
    assert all(map(is_loopback, ("127.0.0.1", "127.9.9.9", "localhost", "::1", "[::1]")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "10.0.0.5", "example.com", "", "localhost.evil")))


def test_an_answer_keeps_what_it_says_itself() -> None:
    own = [(b"Cache-Control", b"max-age=60")]
    names = [name.lower() for name, _ in with_security(own)]
    assert sorted(names) == sorted(name for name, _ in SECURITY_HEADERS)
    assert (b"Cache-Control", b"max-age=60") in with_security(own)


async def echo(scope: Any, receive: Any, send: Any) -> None:
    """Answers with the size of the body."""
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise RuntimeError("a client that hangs up")  # as frameworks do
        size, more = size + len(message.get("body", b"")), message.get("more_body", False)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": str(size).encode()})


def ask(pieces: Sequence[bytes], guard: Guard = GUARD, host: bytes = b"localhost:8765", seconds: float = 30) -> Any:
    """Status, headers and text that a chunked request gets; a client that sends nothing more just waits."""
    sent: list[Any] = []

    async def run() -> None:
        waiting = [{"type": "http.request", "body": piece, "more_body": True} for piece in pieces]
        waiting += [{"type": "http.request", "body": b"", "more_body": False}] if seconds else []

        async def receive() -> Any:
            return waiting.pop(0) if waiting else await asyncio.Event().wait()

        async def send(message: Any) -> None:
            sent.append(message)

        scope = {"type": "http", "method": "POST", "headers": [(b"host", host)]}
        await GuardedApp(echo, guard, body_seconds=seconds)(scope, receive, send)

    asyncio.run(run())
    return sent[0]["status"], dict(sent[0]["headers"]), sent[1]["body"].decode()


def test_a_body_is_read_up_to_the_limit_in_size_and_time() -> None:
    assert ask([b"x" * 50, b"x" * 50])[::2] == (200, "100")
    assert ask([b"x" * 50, b"x" * 51])[::2] == (
        413,
        "The body has more than 100 bytes, the maximum. Split it.\n",
    )
    assert ask([b"x"], seconds=0)[::2] == (408, "The body did not arrive in time.\n")


def test_every_answer_is_protected_also_a_refusal() -> None:
    for host, expected in ((b"localhost:8765", 200), (b"evil.example", 421)):
        code, headers, _ = ask([], host=host)
        assert code == expected
        assert headers.items() >= dict(SECURITY_HEADERS).items()
