"""What every fact counts now, and keeping that beside its base."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from memsweep.model.decay import Rates, age_days, faded
from memsweep.model.graph import Faded
from memsweep.model.times import from_micros
from memsweep.store.falkor import graph_cypher
from memsweep.store.falkor.surveying import at_one_moment
from memsweep.store.falkor.transaction import GraphHandle, Transaction
from memsweep.store.falkor.wire import as_returned


def decay(graph: GraphHandle, rates: Rates, now: datetime, *, store: bool) -> tuple[list[Faded], list[Faded]]:
    """Every entity and every relation of known weight; one transaction if it is stored."""
    if not store:
        entities, relations = at_one_moment(graph, lambda asked: _fading(asked, rates, now))
    else:
        with graph.writing() as tx:
            entities, relations = _fading(tx, rates, now)
            tx.do(graph_cypher.STORE_CONFIDENCE, _to_store(entities))
            tx.do(graph_cypher.STORE_WEIGHT, _to_store(relations))
    return [fact for _, fact, _ in entities], [fact for _, fact, _ in relations]


_Fading = list[tuple[int, Faded, float | None]]


def _fading(asked: GraphHandle | Transaction, rates: Rates, now: datetime) -> tuple[_Fading, _Fading]:
    """Every entity, and every relation of known weight, with what it counts now and what is stored of that."""
    entities, relations = asked.ask_all((graph_cypher.ENTITY_BASES, {}), (graph_cypher.RELATION_BASES, {}))
    return _faded(entities, rates.of, now), _faded(relations, lambda _: rates.edge, now)


def _faded(rows: Sequence[Any], rate_of: Callable[[str], float], now: datetime) -> _Fading:
    return [
        (key, Faded(uid, name, kind, base, faded(base, rate_of(kind), age_days(from_micros(seen), now))), stored)
        for key, uid, name, kind, base, seen, stored in rows
    ]


def _to_store(fading: _Fading) -> list[dict[str, Any]]:
    return [
        {"key": key, "current": fact.current} for key, fact, stored in fading if stored != as_returned(fact.current)
    ]
