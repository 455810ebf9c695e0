"""Let memories and facts out of quarantine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memsweep.collector.missing import live_memory
from memsweep.errors import NotFound
from memsweep.model.times import to_micros

if TYPE_CHECKING:
    from memsweep.collector.collect import CollectorDependencies


def release(tools: CollectorDependencies, memory_id: str) -> None:
    """A memory, with the facts that it states."""
    doing = tools.operation()
    with tools.store.changing() as tx:
        key = live_memory(tx.items, memory_id, tools.workspace_id)
        facts = {relation for relation, _ in tx.items.stated_by([key])}
        tx.origins.release(key, to_micros(doing.now))
        tx.origins.release_facts(facts, to_micros(doing.now))
        tx.audit(doing.event("release", memory_id, ids=(memory_id,)))


def release_fact(tools: CollectorDependencies, relation_id: str) -> None:
    doing = tools.operation()
    with tools.store.changing() as tx:
        found = tx.relations.by_id([relation_id]) if isinstance(relation_id, str) and relation_id.isascii() else []
        if not found:
            raise NotFound(
                f"fact {relation_id!r:.80} does not exist in workspace {tools.workspace_id!r}.",
                hint="Take an id from graph_query, and check the workspace.",
            )
        tx.origins.release_facts({row.key for row in found}, to_micros(doing.now))
        tx.audit(doing.event("release", relation_id))
