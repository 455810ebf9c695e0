"""The origins of rows, which are few."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from memsweep.model.origin import UNKNOWN, Origin, stored_origin
from memsweep.store.falkor import origin_cypher
from memsweep.store.falkor.transaction import GraphHandle


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
