"""The way to a FalkorDB server, to the primary of a sentinel, or to a cluster: one pool, timeouts, plain refusals.

Nothing is sent twice by itself: a command whose answer got lost may have been done. Only reads are asked
again, once, if the connection broke. A server that does not answer in time is not asked again.
"""

from __future__ import annotations

import contextlib
import os
import ssl
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import redis
from redis import exceptions as refused
from redis.backoff import NoBackoff
from redis.cluster import RedisCluster
from redis.retry import Retry
from redis.sentinel import Sentinel

from memsweep.deadline import refuse_if_over
from memsweep.errors import BadSetting, StoreAway, StoreError
from memsweep.forking import after_fork, new_lock
from memsweep.model.address import parse_address
from memsweep.model.text import without_password
from memsweep.store.falkor.refusals import MAY_BE_DONE, Broken, no_module, no_tls, node_of_a_cluster, plain, too_old
from memsweep.store.falkor.wire import Row, rows_of, with_values

Command = Sequence[Any]


def exchanged(client: Any, commands: Sequence[Command]) -> list[Any]:
    """The answers to several commands, each done on its own; the first refusal is raised when all have been read.

    The pipelines of the client library do the same, and take half as long again for hooks that nothing here uses.
    """
    sent = _send(client, commands)
    replies = sent.read()
    for reply in replies:
        if isinstance(reply, refused.ResponseError):
            raise reply
    return replies


class _Sent(NamedTuple):
    """A connection with so many answers to come; nobody else has it until they are read."""

    pool: Any
    connection: Any
    answers: int

    def read(self) -> list[Any]:
        try:
            return [self._reply() for _ in range(self.answers)]
        finally:  # where reading was cut short, the connection has closed itself: no answer is left to be mistaken
            self.pool.release(self.connection)

    def _reply(self) -> Any:
        with _closed_if_broken(self.connection):
            try:
                return self.connection.read_response()
            except refused.ResponseError as error:
                return error

    def is_of_this_process(self) -> bool:
        return bool(self.connection.pid == os.getpid())


def _send(client: Any, commands: Sequence[Command]) -> _Sent:
    pool = client.connection_pool
    connection = pool.get_connection()
    try:
        with _closed_if_broken(connection):
            connection.send_packed_command(connection.pack_commands(commands))
    except BaseException:
        pool.release(connection)
        raise
    return _Sent(pool, connection, len(commands))


@contextlib.contextmanager
def _closed_if_broken(connection: Any) -> Iterator[None]:
    try:
        yield
    except BaseException as error:
        connection.disconnect()
        if type(error) is refused.ConnectionError:  # not a refusal that the server answers with
            raise Broken(str(error)) from error
        raise


class Unawaited:
    """Commands that nobody waits for: whoever sends the next one reads their answers first.

    So all that this process asks for comes after them, as if it had waited.
    """

    def __init__(self) -> None:
        self._lock = new_lock()
        self._sent: list[_Sent] = []

    def send(self, client: Any, commands: Sequence[Command]) -> None:
        self._sent.append(_send(client, commands))

    def read(self) -> None:
        """Read the replies. Refused or lost ones are not told: whoever needs one to be done waits for it."""
        if not self._sent:
            return
        with self._lock:
            while self._sent:
                try:
                    _drained(self._sent[0])
                finally:
                    del self._sent[0]


def _drained(sent: _Sent) -> None:
    if not sent.is_of_this_process():  # the answers are for the process that this one was forked from
        sent.connection.disconnect()
        return
    try:
        sent.read()
    except refused.ConnectionError:
        return


# Both keys are in one slot, and a script is done whole: the entry of a workspace, which leads to a graph, and the list
# of the deleted ones. ARGV: the graph that the entry leads to, what goes from the list if it is as it was read, what
# comes onto it, and fields of the entry, which is another one if they name a graph.
CHANGE_ENTRY = """
    if (redis.call('hget', KEYS[1], 'graph') or '') ~= ARGV[1] then return 0 end
    if ARGV[3] ~= '' and redis.call('hget', KEYS[2], ARGV[2]) ~= ARGV[3] then return 0 end
    if ARGV[2] ~= '' then redis.call('hdel', KEYS[2], ARGV[2]) end
    if ARGV[4] ~= '' then redis.call('hset', KEYS[2], ARGV[4], ARGV[5]) end
    if ARGV[4] ~= '' or ARGV[6] == 'graph' then redis.call('del', KEYS[1]) end
    if #ARGV > 6 then redis.call('hset', KEYS[1], unpack(ARGV, 6)) end
    return 1"""
IS_LISTED = "return redis.call('HEXISTS', KEYS[1], ARGV[1])"
PASSED_ON = "if redis.call('hget', KEYS[1], 'events') == ARGV[1] then redis.call('hdel', KEYS[1], 'events') end"
# A field of a hash, if it is still what was read.
FREE = """
    if redis.call('hget', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
    redis.call('hset', KEYS[1], ARGV[1], ARGV[3]) return 1"""
# Of tokens: a name is free again once its token is revoked.
ADD_TOKEN = """
    for _, kept in ipairs(redis.call('hvals', KEYS[1])) do
        local token = cjson.decode(kept)
        if token['name'] == ARGV[3] and not token['revoked_at'] then return 0 end
    end
    return redis.call('hsetnx', KEYS[1], ARGV[1], ARGV[2])"""


OLDEST_MODULE = 40_800
_CONNECT_SECONDS = 5.0
_QUERY_MILLISECONDS = 120_000
_POOL = 64


class Link:
    """Commands to wherever a key lives."""

    def __init__(self, url: str) -> None:
        self.shown = without_password(url)
        self._address = address = parse_address(url)
        self.prefix = address.prefix
        self._lock = new_lock()
        self._unawaited = Unawaited()
        self._options: dict[str, Any] = {
            "host": address.host,
            "port": address.port,
            "username": address.username,
            "password": address.password,
            "ssl": address.tls,
            "socket_connect_timeout": min(_CONNECT_SECONDS, address.timeout_seconds),
            "socket_timeout": address.timeout_seconds,
        }
        if address.ca:
            self._options["ssl_ca_certs"] = address.ca
        after_fork(self)

    def leave_to_parent(self, *, torn: bool) -> None:
        """In a forked child: have connections of its own. Those of the parent are let go of without a word to them."""
        self.__dict__.pop("_client", None)
        self._unawaited = Unawaited()

    def read_all(self, commands: Sequence[Command]) -> list[Any]:
        """Several commands that change nothing, in one go; none is begun when the call has used up its time."""
        refuse_if_over()
        with self._plain():
            replies: list[Any] = self._again(lambda: self._send_all(commands))
            return replies

    def read(self, *command: Any) -> Any:
        refuse_if_over()
        with self._plain():
            return self._again(lambda: self._client.execute_command(*command))

    def write(self, *command: Any) -> Any:
        return self.send_all([command])[0]

    def at_node_of(self, key: str, *command: Any) -> Any:
        """A command to the server that holds a key, about itself."""
        with self._plain():
            return self._node_of(key).execute_command(*command)

    def send_all(self, commands: Sequence[Command], *, changing: bool = True) -> list[Any]:
        """Several commands for one graph in one go, each on its own; the first refusal is raised.

        Where they are `changing` something and no answer comes, it says that they may be done.
        """
        with self._plain(changing=changing):
            return self._send_all(commands)

    @contextlib.contextmanager
    def after_a_change(self) -> Iterator[None]:
        """Run what follows a change that is made: if the server goes away then, the error says that it may be."""
        try:
            yield
        except StoreAway as error:
            raise StoreAway(error.message, hint=MAY_BE_DONE) from error

    def send_unawaited(self, commands: Sequence[Command]) -> None:
        """Several commands for one graph in one go. They are done before whatever this link is asked for next, and what
        is refused or does not get there nobody hears of."""
        with contextlib.suppress(StoreError), self._plain():
            if isinstance(self._client, RedisCluster):  # where they may be for another node by now
                self._send_all(commands)
            else:
                self._unawaited.send(self._client, commands)

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
            with contextlib.suppress(refused.RedisError, OSError):
                self._unawaited.read()
            client.close()

    def _send_all(self, commands: Sequence[Command]) -> list[Any]:
        try:
            return self._send_together(commands)
        except refused.MovedError:  # refused as a whole: the workspace lives on another node by now
            if not isinstance(self._client, RedisCluster):
                raise
            self._client.nodes_manager.initialize()
            return self._send_together(commands)

    def _send_together(self, commands: Sequence[Command]) -> list[Any]:
        node = self._node_of(_key_of(commands[0]))
        try:
            return exchanged(node, commands)
        except (refused.ConnectionError, refused.TimeoutError):
            if node is not self._client:  # whoever comes next asks the node that took over
                with contextlib.suppress(refused.RedisError):
                    self._client.nodes_manager.initialize()
            raise

    def _node_of(self, key: str) -> Any:
        """The client of the node that holds a key: a cluster's own pipeline would send again what may be done."""
        client = self._client
        if not isinstance(client, RedisCluster):
            return client
        return client.get_redis_connection(client.get_node_from_key(key))  # type: ignore[no-untyped-call]

    def _again(self, read: Callable[[], Any]) -> Any:
        try:
            return read()
        except refused.ConnectionError as error:
            if isinstance(error, refused.AuthenticationError | refused.BusyLoadingError):
                raise
            return read()

    @cached_property
    def _client(self) -> Any:
        with self._lock:
            if self._address.tls:
                self._require_tls()
            first, mode = self._first()
            if mode == "sentinel":
                client = self._primary(first)
            elif self._address.sentinel:
                raise BadSetting(f"the server at {self.shown} is not a sentinel.", hint="Leave out ?sentinel=.")
            elif mode == "cluster":
                client = RedisCluster(
                    **self._options, require_full_coverage=False, max_connections=_POOL, retry=Retry(NoBackoff(), 0)
                )
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

    def _first(self) -> tuple[Any, str]:
        """A connection to the address itself, and what is there. A sentinel may be without the server's password."""
        options = {**self._options, "retry": Retry(NoBackoff(), 0)}
        first = redis.Redis(**options)
        try:
            return first, str(first.info("server").get("redis_mode"))
        except refused.AuthenticationError:
            first.close()
            if not self._address.sentinel:
                raise
        first = redis.Redis(**{**options, "username": None, "password": None})
        return first, str(first.info("server").get("redis_mode"))

    def _primary(self, first: Any) -> Any:
        """Whatever the sentinels call the primary, whenever a connection is made; each of them can tell."""
        known = list(first.sentinel_masters())
        name = self._address.sentinel or next(iter(known), "")
        if name not in known:
            raise BadSetting(
                f"the sentinel at {self.shown} knows no primary {name!r}.", hint=f"Known there: {', '.join(known)}."
            )
        others = [(str(each["ip"]), int(each["port"])) for each in first.sentinel_sentinels(name)]
        kept = {key: value for key, value in self._options.items() if key not in ("host", "port")}
        kept["retry"] = Retry(NoBackoff(), 0)
        used = first.connection_pool.connection_kwargs
        own = {**kept, "username": used.get("username"), "password": used.get("password")}
        sentinels = [(self._address.host, self._address.port), *others]
        watch = Sentinel(sentinels, sentinel_kwargs=own, **kept)  # type: ignore[no-untyped-call]
        return watch.master_for(name)  # type: ignore[no-untyped-call]

    def _require_tls(self) -> None:
        """A server without TLS takes the first words of it for the beginning of a command, and waits for more."""
        if self._address.ca:
            try:
                ssl.create_default_context(cafile=self._address.ca)
            except OSError as error:
                raise BadSetting(
                    f"the certificate {self._address.ca!r} of `store` cannot be read ({error.strerror or error}).",
                    hint="Name a file in PEM form in ?ca=.",
                ) from None
        options = {**self._options, "socket_timeout": self._options["socket_connect_timeout"]}
        probe = redis.Redis(**options, retry=Retry(NoBackoff(), 0))
        try:
            probe.ping()
        except refused.TimeoutError as error:
            raise no_tls(self.shown, str(error)) from error
        finally:
            probe.close()

    def _require_module(self, client: Any) -> None:
        with contextlib.suppress(refused.NoPermissionError):  # then the first query tells
            listed = client.execute_command("MODULE", "LIST")
            listed = next(iter(listed.values())) if isinstance(listed, dict) else listed
            known = {bytes(module.get(b"name", b"")).decode(): module.get(b"ver", 0) for module in listed}
            if "graph" not in known:
                raise no_module(self.shown)
            if known["graph"] < OLDEST_MODULE or "vectorset" not in known:
                raise too_old(self.shown, known["graph"], "vectorset" in known)

    @contextlib.contextmanager
    def _plain(self, *, changing: bool = False) -> Iterator[None]:
        try:
            self._unawaited.read()
            yield
        except (refused.RedisError, OSError) as error:
            if isinstance(error, refused.AskError) and not isinstance(self.__dict__.get("_client"), RedisCluster):
                raise node_of_a_cluster(self.shown, str(error)) from error
            raise plain(error, self.shown, changing=changing) from error


def question(graph: str, query: str, values: Mapping[str, Any]) -> tuple[Any, ...]:
    """The command that asks a graph and changes nothing."""
    return "GRAPH.RO_QUERY", graph, with_values(query, values), "--compact"


def change_command(graph: str, query: str, values: dict[str, Any]) -> Command:
    return "GRAPH.QUERY", graph, with_values(query, values), "--compact", "timeout", _QUERY_MILLISECONDS


def _key_of(command: Command) -> str:
    """A key of the command; all that is sent together is in the slot of one workspace."""
    return str(command[3] if command[0] == "EVAL" else command[1])
