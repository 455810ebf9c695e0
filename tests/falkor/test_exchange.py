"""Commands to FalkorDB that go out together, or that nobody waits for: every answer belongs to who asked."""

import multiprocessing
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from memsweep.errors import StoreAway, StoreError
from memsweep.store.falkor.link import Link
from tests.falkor.servers import Start
from tests.faults.forks import Child
from tests.support.engines import falkor_server
from tests.support.proxy import Proxy


@pytest.fixture
def proxy(start: Start) -> Iterator[Proxy]:
    with closing(Proxy(start().port)) as proxy:
        yield proxy


@pytest.fixture
def link(proxy: Proxy) -> Iterator[Link]:
    with closing(Link(f"falkor://127.0.0.1:{proxy.port}")) as link:
        link.send_all([("SET", "{x}a", "first"), ("SET", "{x}b", "second"), ("SET", "{x}n", 0)])
        yield link


ASKED = [("GET", "{x}a"), ("GET", "{x}b")]


@pytest.mark.parametrize("heard", [0, 1, 5, 11, 12])
def test_a_reply_of_falkor_that_breaks_off_is_not_taken_for_another(proxy: Proxy, link: Link, heard: int) -> None:
    proxy.lose_reply_to, proxy.bytes_heard = b"INCR", heard
    with pytest.raises(StoreAway, match="broke before it answered"):
        link.send_all([*ASKED, ("INCR", "{x}n")])
    assert link.send_all(ASKED) == [b"first", b"second"]
    proxy.lose_reply_to = b"{x}b"
    assert link.read_all([*ASKED, ("GET", "{x}n")]) == [b"first", b"second", b"1"], (
        "reads are asked again, writes never"
    )
    assert proxy.lost == 2


def test_a_refusal_of_falkor_among_answers_leaves_the_connection_in_order(link: Link) -> None:
    for _ in range(3):
        with pytest.raises(StoreError, match="not an integer"):
            link.send_all([("GET", "{x}b"), ("INCR", "{x}a"), ("INCR", "{x}n")])
        assert link.send_all(ASKED) == [b"first", b"second"]
    assert link.read("GET", "{x}n") == b"3", "each is done on its own"


def test_what_falkor_is_sent_without_waiting_is_done_before_what_comes_next(link: Link) -> None:
    for number in range(1, 50):
        link.send_unawaited([("INCR", "{x}n"), ("SET", "{x}b", number)])
        assert link.read_all([("GET", "{x}n"), ("GET", "{x}b")]) == [str(number).encode()] * 2


def test_what_falkor_refuses_or_loses_without_anybody_waiting_harms_nobody(proxy: Proxy, link: Link) -> None:
    link.send_unawaited([("INCR", "{x}a"), ("INCR", "{x}n")])
    assert link.send_all(ASKED) == [b"first", b"second"]
    for heard in (0, 2):
        proxy.lose_reply_to, proxy.bytes_heard = b"INCR", heard
        link.send_unawaited([("INCR", "{x}n")])
        assert link.send_all(ASKED) == [b"first", b"second"]
    assert proxy.lost == 2
    assert link.read("GET", "{x}n") == b"3"
    proxy.close()
    link.send_unawaited([("INCR", "{x}n")])
    with pytest.raises(StoreAway):
        link.read("GET", "{x}n")


def test_who_closes_the_way_to_falkor_has_what_was_sent_done(start: Start) -> None:
    port = start().port
    with closing(Link(f"falkor://127.0.0.1:{port}")) as first:
        first.write("SET", "{x}n", 0)
        first.send_unawaited([("INCR", "{x}n")])
    with closing(Link(f"falkor://127.0.0.1:{port}")) as second:
        assert second.read("GET", "{x}n") == b"1"


def test_threads_that_share_a_way_to_falkor_each_get_their_own_answers(link: Link) -> None:
    def work(thread: int) -> None:
        mine = f"{{x}}{thread}"
        for number in range(100):
            link.send_unawaited([("SET", mine, number), ("INCR", "{x}n")])
            assert link.read_all([("GET", mine), ("ECHO", mine)]) == [str(number).encode(), mine.encode()]

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(work, range(6)))
    assert link.read("GET", "{x}n") == b"600"


def _asks(link: Link) -> None:
    assert link.read_all([("GET", "{f}a"), ("GET", "{f}n")]) == [b"first", b"1"]


def test_a_forked_process_leaves_the_answers_of_falkor_to_the_other() -> None:
    with closing(Link(falkor_server().url)) as link:
        link.send_all([("SET", "{f}a", "first"), ("SET", "{f}n", 0)])
        link.send_unawaited([("INCR", "{f}n")])
        child = multiprocessing.get_context("fork").Process(target=_asks, args=(link,))
        child.start()
        child.join(30)
        assert child.exitcode == 0
        _asks(link)


def test_a_process_that_is_forked_among_threads_shares_no_connection_with_falkor() -> None:
    with closing(Link(falkor_server().url)) as link:
        link.send_all([("SET", f"{{f}}{number}", number) for number in range(9)])
        stop = threading.Event()

        def ask(number: int) -> bool:
            link.send_unawaited([("GET", f"{{f}}{number}")])
            return link.read("GET", f"{{f}}{number}") == str(number).encode()

        def work(number: int) -> list[bool]:
            return [ask(number) for _ in iter(stop.is_set, True)]

        with ThreadPoolExecutor(4) as pool:
            others = [pool.submit(work, number) for number in range(4)]
            children = [Child(lambda: [str(all(ask(8) for _ in range(200)))]) for _ in range(5)]
            for child in children:
                child.go()
            said = [child.said() for child in children]
            stop.set()
        assert said == [["True"]] * 5
        assert all(all(other.result()) for other in others)
