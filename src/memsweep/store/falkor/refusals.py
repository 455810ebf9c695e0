"""Translate a server's refusal into an error that says what to do. Pure."""

from __future__ import annotations

from collections.abc import Callable

from redis import exceptions as refused

from memsweep import errors


class Broken(refused.ConnectionError):
    """The connection broke after something was sent: it may have been done."""


MAY_BE_DONE = "The change may have been made. Look before you ask for it again: search, lists and receipts show it."
Sentence = Callable[[str, str], errors.MemsweepError]


def plain(error: Exception, where: str, *, changing: bool = False) -> errors.MemsweepError:
    """The refusal as a sentence; `where` is the address without its password. A change may have been asked for."""
    said = str(error).rpartition("caused error: ")[2]  # what was sent stays out of it
    if changing and isinstance(error, Broken):
        return _lost(where, said[:160].rstrip("."))
    for kinds, words, make in _REFUSALS:
        if (kinds and isinstance(error, kinds)) or any(word in said for word in words):
            return make(where, said[:160].rstrip("."))
    return errors.StoreError(f"the FalkorDB server at {where} refused: {said[:160]}.", hint="See its log.")


def node_of_a_cluster(where: str, said: str) -> errors.StoreError:
    return errors.StoreError(
        f"the FalkorDB server at {where} is a node of a cluster now, and has this elsewhere ({said[:160]}).",
        hint="Start memsweep again; name a node of the cluster in `store`.",
    )


def no_module(where: str) -> errors.StoreError:
    return errors.StoreError(
        f"the server at {where} is Redis without the FalkorDB module.", hint="Start the falkordb image instead."
    )


def too_old(where: str, module: int, has_vectors: bool) -> errors.StoreError:
    return errors.StoreError(
        f"the FalkorDB server at {where} is too old (module {module}, vector sets: {'yes' if has_vectors else 'no'}).",
        hint="memsweep needs FalkorDB 4.8 or later on Redis 8 or later.",
    )


def _untrusted(where: str, said: str) -> errors.StoreError:
    why = said.partition("CERTIFICATE_VERIFY_FAILED] ")[2].partition(" (_ssl")[0] or said
    return errors.StoreAway(
        f"the certificate of the FalkorDB server at {where} is not trusted ({why}).",
        hint="Name the file of the authority that signed it: falkors://host:6379?ca=FILE.",
    )


def no_tls(where: str, said: str) -> errors.StoreError:
    return errors.StoreAway(
        f"the server at {where} does not speak TLS as it should ({said}).",
        hint="If it has no TLS, write falkor:// instead of falkors://.",
    )


def _sentence(kind: type[errors.StoreError], says: str, hint: str) -> Sentence:
    return lambda where, said: kind(says.format(where=where, said=said), hint=hint)


_SERVER = "the FalkorDB server at {where}"
_wrong_password = _sentence(
    errors.StoreError, _SERVER + " refuses the user or the password ({said}).", "Correct `store` in the settings."
)
_loading = _sentence(errors.StoreBusy, _SERVER + " is still loading its data.", "Try again in a while.")
_read_only = _sentence(errors.StoreReadOnly, _SERVER + " takes no writes ({said}).", "Name the primary in `store`.")
_full = _sentence(errors.StoreFull, _SERVER + " has no room left ({said}).", "Raise its maxmemory or its disk.")
_gave_up = _sentence(
    errors.StoreBusy,
    _SERVER + " gave up a query that took too long; nothing was changed.",
    "Try again, or raise its TIMEOUT_MAX.",
)
_moving = _sentence(
    errors.StoreBusy,
    "the FalkorDB cluster at {where} is moving this workspace to another node.",
    "Try again in a while.",
)
_silent = _sentence(
    errors.StoreAway,
    _SERVER + " does not answer ({said}).",
    MAY_BE_DONE,
)
_lost = _sentence(errors.StoreAway, "the connection to " + _SERVER + " broke before it answered ({said}).", MAY_BE_DONE)
_away = _sentence(
    errors.StoreAway, _SERVER + " cannot be reached ({said}).", "Start it, or correct `store` in the settings."
)
# In this order: the first that fits is what is said.
_REFUSALS: tuple[tuple[tuple[type[Exception], ...], tuple[str, ...], Sentence], ...] = (
    ((), ("CERTIFICATE_VERIFY_FAILED",), _untrusted),
    ((), ("[SSL",), no_tls),
    ((refused.AuthenticationError, refused.NoPermissionError), ("NOAUTH", "WRONGPASS", "NOPERM"), _wrong_password),
    ((refused.BusyLoadingError,), ("LOADING",), _loading),
    (
        (refused.ReadOnlyError,),
        ("READONLY", "graph.RO_QUERY is to be executed only on read-only", "NOREPLICAS"),
        _read_only,
    ),
    ((refused.OutOfMemoryError,), ("OOM", "memory capacity", "MISCONF"), _full),
    ((), ("unknown command", "ERR unknown"), lambda where, said: no_module(where)),
    ((), ("Query timed out",), _gave_up),
    ((refused.AskError, refused.MovedError, refused.TryAgainError), (), _moving),
    ((), ("Timeout connecting",), lambda where, said: _away(where, said)),
    ((refused.TimeoutError,), (), _silent),
    (
        (refused.ConnectionError, refused.ClusterDownError, refused.RedisClusterException, OSError),
        ("CLUSTERDOWN", "MASTERDOWN"),
        _away,
    ),
)
