"""A plan of memories that somebody named one by one, to be looked at and applied like any other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from memsweep.collector.collect import save_draft
from memsweep.collector.missing import no_memory
from memsweep.collector.planner import plan_of
from memsweep.collector.strategies import CASCADE
from memsweep.model.plan import Found, Plan
from memsweep.model.strategies import CHOSEN
from memsweep.store.paused import gc_paused

if TYPE_CHECKING:
    from memsweep.collector.collect import CollectorDependencies


def plan_chosen(tools: CollectorDependencies, memory_ids: Sequence[str]) -> Plan:
    """These, and what only they keep alive; what is pinned is named as protected."""
    keys = tools.store.memory_keys(memory_ids)
    for memory_id in memory_ids:
        if memory_id not in keys:
            raise no_memory(memory_id, tools.workspace_id)
    with gc_paused(), tools.store.reading() as rows:
        found = [Found("memory", keys[memory_id], "deleted") for memory_id in dict.fromkeys(memory_ids)]
        draft = plan_of(rows.items.survey(CASCADE), found, tools.options(), tools.workspace_id)
    return save_draft(tools, draft, CHOSEN)
