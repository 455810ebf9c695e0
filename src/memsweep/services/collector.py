"""The collector of a workspace with the settings it goes by, for every service that removes something."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from memsweep.clock import new_id

if TYPE_CHECKING:
    from memsweep.collector.collect import CollectorDependencies
    from memsweep.collector.strategies.rule import Fading
    from memsweep.memory.names import Name
    from memsweep.model.workspace import EmbeddingModel
    from memsweep.services.access import Access


def collector(access: Access[Any], actor: str | None = None) -> CollectorDependencies:
    """Return the dependencies of `gc.collect`; `actor` is whoever calls, unless given."""
    from memsweep.collector.collect import CollectorDependencies

    settings, store = access.settings.gc, access.store
    access.app.sightings.flush(store)  # what was read until now is not garbage
    return CollectorDependencies(
        store=store.collector,
        workspace_id=access.workspace_id,
        actor=access.actor if actor is None else actor,
        clock=access.clock,
        new_id=new_id,
        plan_hours=settings.plan_hours,
        grace_days=settings.grace_days,
        apply_seconds=settings.apply_seconds,
        history_days=settings.history_days,
        fading=fading(access),
        embed=partial(_embed, access),
        find_names=_find_names,
        list_as=partial(access.app.engine.describe, access.workspace_id),
    )


def _embed(access: Access[Any], texts: Sequence[str]) -> tuple[EmbeddingModel, list[bytes]]:
    from memsweep.embed.protocol import quantise

    embedder = access.app.embedder
    return embedder.model, quantise(embedder.embed(texts))


def _find_names(texts: Sequence[str]) -> Sequence[Name]:
    from memsweep.memory.names import find_names

    return find_names(texts)


def fading(access: Access[Any]) -> Fading:
    """Return the decay rates and the thresholds of garbage, from the settings."""
    from memsweep.collector.strategies.rule import Fading

    graph = access.settings.graph
    return Fading(graph.decay(), graph.node_threshold, graph.edge_threshold, max_age_days=graph.max_age_days)
