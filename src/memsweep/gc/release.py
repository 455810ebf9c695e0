"""Let memories out of quarantine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memsweep.gc.missing import live_memory
from memsweep.model.times import to_micros

if TYPE_CHECKING:
    from memsweep.gc.collect import CollectorDependencies


def release(tools: CollectorDependencies, memory_id: str) -> None:
    doing = tools.operation()
    with tools.store.changing() as tx:
        tx.origins.release(live_memory(tx.items, memory_id, tools.workspace_id), to_micros(doing.now))
        tx.audit(doing.event("release", memory_id, ids=(memory_id,)))
