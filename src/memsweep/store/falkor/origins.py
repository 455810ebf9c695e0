"""The origins of rows, inside the caller's transaction."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict

from memsweep.model.origin import UNKNOWN, Origin, stored_origin
from memsweep.store.falkor import origin_cypher
from memsweep.store.falkor.transaction import GraphHandle, Transaction
from memsweep.store.falkor.wire import Query


def about(graph: GraphHandle, origin: Origin) -> list[Query]:
    """Return the queries that `origin_key` will need."""
    return [] if origin == UNKNOWN or origin in graph.origins else [(origin_cypher.FIND, asdict(origin))]


def origin_key(tx: Transaction, origin: Origin) -> int | None:
    """Return the key by which nodes refer to an origin: stored once, and kept. None for an unknown one.

    It is asked for until it is there, and then not again by this process.
    """
    if origin == UNKNOWN:
        return None
    known = tx.origins
    if origin in tx.new_origins:
        return tx.new_origins[origin]
    if origin not in known:
        if not (found := tx.ask(origin_cypher.FIND, **asdict(origin))):
            return _made(tx, origin)
        known[origin] = found[0][0]
    return known[origin]


def _made(tx: Transaction, origin: Origin) -> int:
    values = asdict(origin)
    key = tx.new_origins[origin] = tx.new_key()
    tx.do(origin_cypher.ADD, [{"key": key, "client_version": values.pop("version"), **values}])
    return key


def accepted(graph: GraphHandle, accept: Callable[[Origin], bool]) -> list[int | None]:
    """The keys of the origins that pass, nothing for that which is not known. They are few."""
    known: dict[int | None, Origin] = {key: stored_origin(*said) for key, *said in graph.ask(origin_cypher.EVERY)}
    known[None] = UNKNOWN
    return [key for key, origin in known.items() if accept(origin)]


def tiers_of(graph: GraphHandle, keys: Collection[int | None]) -> Mapping[int | None, str]:
    """Return the tiers of some origins, by key. They are few and stay as they are, so they are asked for once."""
    if any(key is not None and key not in graph.tiers for key in keys):
        graph.tiers = {key: stored_origin(*said).tier for key, *said in graph.ask(origin_cypher.EVERY)}
    return {key: UNKNOWN.tier if key is None else graph.tiers.get(key, UNKNOWN.tier) for key in keys}
