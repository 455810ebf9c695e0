"""The ways to FalkorDB: through TLS, by a sentinel, over connections that break. Nothing is sent twice."""

import contextlib
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from memsweep.app import App
from memsweep.errors import BadSetting, StoreAway, StoreError
from memsweep.settings import load_settings
from memsweep.store.falkor.link import Link
from tests.falkor.servers import Start, opened, texts
from tests.support.falkor import SentinelProcess, Server, free_port
from tests.support.proxy import Proxy, certificate
from tests.support.waiting import wait_for

# TLS


@pytest.fixture
def tls(start: Start, tmp_path: Path) -> Iterator[tuple[Proxy, Path]]:
    """A server behind TLS, and the certificate of its authority."""
    ca, context = certificate(tmp_path)
    proxy = Proxy(start().port, tls=context)
    yield proxy, ca
    proxy.close()


def test_falkors_speaks_tls_with_a_certificate_that_is_named(tls: tuple[Proxy, Path], tmp_path: Path) -> None:
    proxy, ca = tls
    with opened(f"falkors://127.0.0.1:{proxy.port}/blue?ca={ca}", tmp_path) as app:
        app.memory().remember("said in confidence")
        assert app.memory().search("confidence").hits[0].passage.text == "said in confidence"
    with opened(f"falkor://127.0.0.1:{proxy.port}/blue", tmp_path) as app, pytest.raises(StoreAway):
        app.workspaces()


def test_falkors_speaks_tls_to_a_cluster(start: Start, tmp_path: Path) -> None:
    ca, context = certificate(tmp_path)
    with (
        cluster_behind(start, tls=context) as proxy,
        opened(f"falkors://127.0.0.1:{proxy.port}?ca={ca}", tmp_path) as app,
    ):
        app.memory().remember("said in confidence")
        assert app.memory().search("confidence").hits[0].passage.text == "said in confidence"


def test_a_certificate_that_is_not_trusted_is_said_with_what_to_do(tls: tuple[Proxy, Path], tmp_path: Path) -> None:
    proxy, _ = tls
    url, said = f"falkors://u:secret@127.0.0.1:{proxy.port}", r"is not trusted \(certificate verify failed: self.signed"
    with opened(url, tmp_path) as app, pytest.raises(StoreAway, match=said) as caught:
        app.workspaces()
    assert "?ca=FILE" in caught.value.hint
    assert "secret" not in str(caught.value)


def test_a_certificate_of_another_host_is_not_trusted(start: Start, tmp_path: Path) -> None:
    ca, context = certificate(tmp_path, "DNS:elsewhere.example")
    with (
        contextlib.closing(Proxy(start().port, tls=context)) as proxy,
        opened(f"falkors://127.0.0.1:{proxy.port}?ca={ca}", tmp_path) as app,
        pytest.raises(StoreAway, match=r"not trusted .*IP address mismatch"),
    ):
        app.workspaces()


def test_falkors_to_a_server_without_tls_is_said(start: Start, tmp_path: Path) -> None:
    url = f"falkors://127.0.0.1:{start().port}?timeout=1"
    with opened(url, tmp_path) as app, pytest.raises(StoreAway, match="does not speak TLS") as caught:
        app.workspaces()
    assert "falkor://" in caught.value.hint


def test_a_certificate_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    for file in ("missing.pem", "empty.pem"):
        (tmp_path / "empty.pem").touch()
        url = f"falkors://127.0.0.1:{free_port()}?ca={tmp_path / file}"
        with opened(url, tmp_path) as app, pytest.raises(BadSetting, match=file):
            app.workspaces()


WRONG = {
    "falkor://h?sentinal=x": "'sentinal', which is unknown",
    "falkor://h?ca=x.pem": "does not ask for TLS",
    "falkor://h?timeout=soon": "timeout 'soon'",
    "falkor://h?timeout=0": "timeout '0'",
    "falkor://u:pass:word@h:x": "is not an address",
}


@pytest.mark.parametrize(("url", "said"), WRONG.items())
def test_an_address_of_falkor_that_cannot_be_meant_is_refused(url: str, said: str) -> None:
    with pytest.raises(BadSetting) as caught:
        load_settings({"MEMSWEEP_STORE": url})
    assert said in caught.value.message
    assert "pass" not in caught.value.message.replace("password", "")


# Sentinel


@pytest.fixture
def watched(start: Start, tmp_path: Path) -> Iterator[tuple[Server, Server, SentinelProcess]]:
    """A primary and a replica with a password, and a sentinel that has none."""
    secret = ("--requirepass", "right", "--masterauth", "right")
    primary = start(*secret, durable=True)
    replica = start(*secret, "--replicaof", "127.0.0.1", str(primary.port), durable=True)
    sentinel = SentinelProcess(tmp_path / "sentinel", "team", primary.port, "right")
    try:
        wait_for(lambda: sentinel.primary() == primary.port and sentinel.replicas() == 1)
        yield primary, replica, sentinel
    finally:
        sentinel.stop()


def test_a_client_of_falkor_follows_the_sentinel_to_the_new_primary(
    watched: tuple[Server, Server, SentinelProcess], tmp_path: Path
) -> None:
    primary, replica, sentinel = watched
    url = sentinel.url.replace("//", "//:right@")
    assert "knows no primary 'nobody'. Known there: team." in _misnamed(url.replace("=team", "=nobody"), tmp_path)
    assert "is not a sentinel" in _misnamed(url.replace(str(sentinel.port), str(primary.port)), tmp_path)
    with opened(url, tmp_path) as app:
        both = set()
        for number in range(30):
            app.memory().remember(f"kept by both {number}")
            if _acknowledged(app):
                both.add(f"kept by both {number}")
        assert both
        primary.kill()
        with pytest.raises(StoreError):
            app.memory().remember("while there is no primary")
        wait_for(lambda: sentinel.primary() == replica.port)
        wait_for(lambda: _writes(app))
        assert texts(app) >= both
        assert app.memory().search("kept by both 7").hits[0].passage.text == "kept by both 7"
        primary.start()  # comes back as a replica, and nobody writes to it
        wait_for(lambda: sentinel.replicas() == 1)
        app.memory().remember("still to the new one")
    with opened(f"falkor://:right@127.0.0.1:{replica.port}", tmp_path) as app:
        assert texts(app) >= {*both, "still to the new one"}
        assert app.memory().care.doctor().findings == ()


def _acknowledged(app: App) -> bool:
    """Has the replica all that was written?"""
    graph = app.engine.open("default")._graph
    return bool(graph.link.write("WAIT", 1, 5000) >= 1)


def _writes(app: App) -> bool:
    with contextlib.suppress(StoreError):
        app.memory().remember("after the failover")
        return True
    return False


def _misnamed(url: str, tmp_path: Path) -> str:
    with opened(url, tmp_path) as app, pytest.raises(BadSetting) as caught:
        app.workspaces()
    return str(caught.value)


# replies that get lost


@contextlib.contextmanager
def cluster_behind(start: Start, tls: ssl.SSLContext | None = None) -> Iterator[Proxy]:
    """A cluster of one node that sends its clients to the proxy."""
    port = free_port()
    with contextlib.closing(Proxy(port, tls=tls)) as proxy:
        announced = ("--cluster-announce-ip", "127.0.0.1", "--cluster-announce-port", str(proxy.port))
        node = start("--cluster-enabled", "yes", "--cluster-port", str(free_port()), *announced, port=port)
        with node.client() as client:
            client.execute_command("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
            wait_for(lambda: client.cluster("info")["cluster_state"] == "ok")
        yield proxy


@contextlib.contextmanager
def broken_way(kind: str, start: Start, tmp_path: Path) -> Iterator[tuple[Proxy, str]]:
    """A proxy that can lose replies on the way to one server, however it is found."""
    if kind == "cluster":
        with cluster_behind(start) as proxy:
            yield proxy, f"falkor://127.0.0.1:{proxy.port}"
        return
    with contextlib.closing(Proxy(start().port)) as proxy:
        if kind == "server":
            yield proxy, f"falkor://127.0.0.1:{proxy.port}"
            return
        sentinel = SentinelProcess(tmp_path / "sentinel", "team", proxy.port)
        try:
            wait_for(lambda: sentinel.primary() == proxy.port)
            yield proxy, sentinel.url
        finally:
            sentinel.stop()


@pytest.mark.parametrize("kind", ["server", "sentinel", "cluster"])
def test_a_write_to_falkor_whose_reply_is_lost_is_not_sent_again(kind: str, start: Start, tmp_path: Path) -> None:
    with broken_way(kind, start, tmp_path) as (proxy, url):
        link = Link(url)
        link.write("SET", "{x}a", 0)
        for send in (lambda: link.write("INCR", "{x}a"), lambda: link.send_all([("INCR", "{x}a"), ("GET", "{x}a")])):
            proxy.lose_reply_to = b"INCR"
            with pytest.raises(StoreAway, match="broke before it answered") as caught:
                send()
            assert "may have been made" in caught.value.hint
        assert proxy.lost == 2
        assert int(link.read("GET", "{x}a")) == 2, "done once each, though nobody heard of it"
        proxy.lose_reply_to = b"GET"
        assert int(link.read("GET", "{x}a")) == 2, "a read is asked again"
        assert proxy.lost == 3
        link.close()


def test_a_memory_whose_acknowledgement_from_falkor_is_lost_is_there_once(start: Start, tmp_path: Path) -> None:
    with broken_way("server", start, tmp_path) as (proxy, url), opened(url, tmp_path) as app:
        app.memory().remember("before")
        proxy.lose_reply_to = b"GRAPH.QUERY"
        with pytest.raises(StoreAway, match="broke before it answered") as caught:
            app.memory().remember("was it heard?")
        assert "receipts" in caught.value.hint
        assert proxy.lost == 1
        assert texts(app) == {"before", "was it heard?"}
        with opened(url, tmp_path) as other:
            graph = other.engine.open("default")._graph
            graph.link.write("DEL", f"{graph.name}:writer")  # the lease would end by itself
        assert app.memory().remember("was it heard?").duplicate_of is not None
        assert app.memory().stats().total_memories == 2
        assert app.memory().care.doctor().findings == ()
