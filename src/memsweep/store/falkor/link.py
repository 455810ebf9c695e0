"""The way to a FalkorDB server or cluster: one pool, timeouts, and every refusal as a sentence.

Nothing is sent twice by itself: a command whose answer got lost may have been done. Reads are asked
again once, because a server that was restarted leaves dead connections in the pool.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import redis
from redis import exceptions as refused
from redis.backoff import NoBackoff
from redis.cluster import RedisCluster
from redis.retry import Retry
from redis.sentinel import Sentinel

from memsweep import errors
from memsweep.model.text import without_password
from memsweep.store.falkor.wire import Row, rows_of, with_values

OLDEST_MODULE = 40_800
_DEFAULT_PORT = 6379
_CONNECT_SECONDS = 5.0
_ANSWER_SECONDS = 150.0
_QUERY_MILLISECONDS = 120_000
_POOL = 64
_DEFAULT_PREFIX = "memsweep"

Command = Sequence[Any]


class Link:
    """Commands to wherever a key lives."""

    def __init__(self, url: str) -> None:
        self.shown = without_password(url)
        parts = urlsplit(url)
        self.prefix = parts.path.strip("/") or _DEFAULT_PREFIX
        self._sentinel_of = parse_qs(parts.query).get("sentinel", [""])[0]
        self._lock = threading.Lock()
        self._options: dict[str, Any] = {
            "host": parts.hostname or "127.0.0.1",
            "port": parts.port or _DEFAULT_PORT,
            "username": unquote(parts.username) if parts.username else None,
            "password": unquote(parts.password) if parts.password else None,
            "ssl": parts.scheme == "falkors",
            "socket_connect_timeout": _CONNECT_SECONDS,
            "socket_timeout": _ANSWER_SECONDS,
        }

    def ask(self, query: str, graph: str, **values: Any) -> list[Row]:
        """Read; a replica may answer."""
        return rows_of(self.read(*question(graph, query, values)))

    def ask_all(self, graph: str, *queries: tuple[str, dict[str, Any]]) -> list[list[Row]]:
        """Several reads in one go; they do not see one moment unless the caller holds the writer's place."""
        return [rows_of(reply) for reply in self.read_all([question(graph, *each) for each in queries])]

    def read_all(self, commands: Sequence[Command]) -> list[Any]:
        """Several commands that change nothing, in one go."""
        with self._plain():
            replies: list[Any] = self._again(lambda: self._send_all(commands))
            return replies

    def read(self, *command: Any) -> Any:
        with self._plain():
            return self._again(lambda: self._client.execute_command(*command))

    def write(self, *command: Any) -> Any:
        with self._plain():
            return self._client.execute_command(*command)

    def send_all(self, commands: Sequence[Command]) -> list[Any]:
        """Several commands for one graph in one go, each on its own; the first refusal is raised."""
        with self._plain():
            return self._send_all(commands)

    def change(self, graph: str, query: str, **values: Any) -> list[Row]:
        return rows_of(self.write(*change_command(graph, query, values)))

    def keys(self, pattern: str) -> Iterator[str]:
        """Every key of this prefix that matches, on every node that answers."""
        with self._plain():
            scan: Iterator[bytes] = self._client.scan_iter(match=f"{self.prefix}:{pattern}", count=1000)
            yield from (key.decode() for key in scan)

    def close(self) -> None:
        client = self.__dict__.pop("_client", None)
        if client is not None:
            client.close()

    def _send_all(self, commands: Sequence[Command]) -> list[Any]:
        pipe = self._client.pipeline(transaction=False)
        for command in commands:
            pipe.execute_command(*command)
        replies: list[Any] = pipe.execute()
        return replies

    def _again(self, read: Callable[[], Any]) -> Any:
        try:
            return read()
        except (refused.ConnectionError, refused.TimeoutError) as error:
            if isinstance(error, refused.AuthenticationError | refused.BusyLoadingError):
                raise
            return read()

    @cached_property
    def _client(self) -> Any:
        with self._lock:
            first = redis.Redis(**self._options, retry=Retry(NoBackoff(), 0))
            mode = first.info("server").get("redis_mode")
            if mode == "cluster":
                first.close()
                client: Any = RedisCluster(
                    **self._options, require_full_coverage=False, max_connections=_POOL, retry=Retry(NoBackoff(), 1)
                )
            elif mode == "sentinel":
                client = self._primary(first)
            else:
                pool = redis.BlockingConnectionPool(  # type: ignore[no-untyped-call]
                    connection_class=first.connection_pool.connection_class,
                    max_connections=_POOL,
                    **first.connection_pool.connection_kwargs,
                )
                client = redis.Redis.from_pool(pool)  # which closes it too
                first.close()
            self._require_module(client)
            return client

    def _primary(self, sentinel: Any) -> Any:
        """Whatever the sentinel calls the primary now."""
        name = self._sentinel_of or next(iter(sentinel.sentinel_masters()), "")
        options = {key: value for key, value in self._options.items() if key not in ("host", "port")}
        watch = Sentinel([(self._options["host"], self._options["port"])], sentinel_kwargs=options, **options)  # type: ignore[no-untyped-call]
        return watch.master_for(name, retry=Retry(NoBackoff(), 1))  # type: ignore[no-untyped-call]

    def _require_module(self, client: Any) -> None:
        with contextlib.suppress(refused.NoPermissionError):  # then the first query tells
            listed = client.execute_command("MODULE", "LIST")
            listed = next(iter(listed.values())) if isinstance(listed, dict) else listed
            known = {_text(module, b"name"): module.get(b"ver", 0) for module in listed}
            if "graph" not in known:
                raise _no_module(self.shown)
            if known["graph"] < OLDEST_MODULE or "vectorset" not in known:
                raise errors.StoreError(
                    f"the FalkorDB server at {self.shown} is too old"
                    f" (module {known['graph']}, vector sets: {'vectorset' in known}).",
                    hint="memsweep needs FalkorDB 4.8 or later on Redis 8 or later.",
                )

    @contextlib.contextmanager
    def _plain(self) -> Iterator[None]:
        try:
            yield
        except (refused.RedisError, OSError) as error:
            raise plain(error, self.shown) from error


def question(graph: str, query: str, values: Mapping[str, Any]) -> tuple[Any, ...]:
    """The command that asks a graph and changes nothing."""
    return "GRAPH.RO_QUERY", graph, with_values(query, values), "--compact"


def change_command(graph: str, query: str, values: dict[str, Any]) -> Command:
    return "GRAPH.QUERY", graph, with_values(query, values), "--compact", "timeout", _QUERY_MILLISECONDS


def plain(error: Exception, where: str) -> errors.MemsweepError:
    """What a server's refusal means, and what to do about it."""
    said = str(error).rpartition("caused error: ")[2]  # what was sent stays out of it
    for kinds, words, make in _REFUSALS:
        if (kinds and isinstance(error, kinds)) or any(word in said for word in words):
            return make(where, said[:160])
    return errors.StoreError(f"the FalkorDB server at {where} refused: {said[:160]}.", hint="See its log.")


def _no_module(where: str) -> errors.StoreError:
    return errors.StoreError(
        f"the server at {where} is Redis without the FalkorDB module.", hint="Start the falkordb image instead."
    )


_REFUSALS: tuple[tuple[tuple[type[Exception], ...], tuple[str, ...], Callable[[str, str], errors.MemsweepError]], ...]
_REFUSALS = (
    (
        (refused.AuthenticationError, refused.NoPermissionError),
        ("NOAUTH", "WRONGPASS", "NOPERM"),
        lambda where, said: errors.StoreError(
            f"the FalkorDB server at {where} refuses the user or the password ({said}).",
            hint="Correct `store` in the settings.",
        ),
    ),
    (
        (refused.BusyLoadingError,),
        ("LOADING",),
        lambda where, said: errors.StoreBusy(
            f"the FalkorDB server at {where} is still loading its data.", hint="Try again in a while."
        ),
    ),
    (
        (refused.ReadOnlyError,),
        ("READONLY", "graph.RO_QUERY is to be executed only on read-only", "NOREPLICAS"),
        lambda where, said: errors.StoreReadOnly(
            f"the FalkorDB server at {where} takes no writes ({said}).", hint="Name the primary in `store`."
        ),
    ),
    (
        (refused.OutOfMemoryError,),
        ("OOM", "memory capacity", "MISCONF"),
        lambda where, said: errors.StoreFull(
            f"the FalkorDB server at {where} has no room left ({said}).", hint="Raise its maxmemory or its disk."
        ),
    ),
    ((), ("unknown command", "ERR unknown"), lambda where, said: _no_module(where)),
    (
        (),
        ("Query timed out",),
        lambda where, said: errors.StoreBusy(
            f"the FalkorDB server at {where} gave up a query that took too long; nothing was changed.",
            hint="Try again, or raise its TIMEOUT_MAX.",
        ),
    ),
    (
        (refused.ConnectionError, refused.TimeoutError, refused.ClusterDownError, OSError),
        ("CLUSTERDOWN", "MASTERDOWN"),
        lambda where, said: errors.StoreAway(
            f"the FalkorDB server at {where} cannot be reached ({said}).",
            hint="Start it, or correct `store` in the settings.",
        ),
    ),
)


def _text(module: Any, name: bytes) -> str:
    return bytes(module.get(name, b"")).decode()
