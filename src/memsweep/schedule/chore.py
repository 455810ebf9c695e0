"""Background collection: the same plans and guards, in small steps, at set times, by one process of many."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from memsweep.gc import collect
from memsweep.gc.planner import CAP_FROM, CAP_SHARE
from memsweep.model.plan import Totals
from memsweep.model.text import counted

if TYPE_CHECKING:
    from memsweep.errors import MemsweepError
    from memsweep.gc.collect import CollectorDependencies
    from memsweep.schedule.cron import Cron

logger = logging.getLogger("memsweep.schedule")

_STEP = 500
_LOOK_AGAIN_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Chore:
    """What one run does in every workspace."""

    strategies: tuple[str, ...]
    ttl_days: float | None
    purge_days: float | None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run did in one workspace, or why it did nothing."""

    workspace_id: str
    totals: Totals
    receipts: tuple[str, ...]
    purged_memories: int = 0
    stopped: str = ""

    def shown(self) -> dict[str, Any]:
        return {
            "workspace_id": self.workspace_id,
            "deleted_memories": self.totals.memories,
            "deleted_chunks": self.totals.chunks,
            "deleted_entities": self.totals.entities,
            "deleted_relations": self.totals.relations,
            "purged_memories": self.purged_memories,
            "receipts": list(self.receipts),
            "stopped": self.stopped,
        }


def run_chore(tools: CollectorDependencies, chore: Chore, memories_now: int, memories_then: int | None) -> Outcome:
    """Collect in steps; stop before more than half of what was there is gone, whoever took it."""
    reference = max(memories_now, memories_then or 0)
    if _shrank(memories_now, reference):
        now = counted(memories_now, "memory", "memories")
        said = f"it has {now} and had {memories_then:,} after the last run; nothing was collected"
        return Outcome(tools.workspace_id, Totals(), (), stopped=said)
    totals, receipts = Totals(), []
    stopped = ""
    for strategy in chore.strategies:
        for receipt in collect.prune_in_steps(tools, strategy, _STEP, chore.ttl_days):
            totals = _sum(totals, receipt.totals)
            receipts.append(receipt.id)
            if _shrank(memories_now - totals.memories, reference):
                stopped = f"half of the {reference:,} it had are gone; `memsweep prune --allow-large` collects the rest"
                break
        if stopped:
            break
    purged = 0
    if chore.purge_days is not None and not stopped:
        purged = collect.purge(tools, chore.purge_days, confirm=True).memories
    return Outcome(tools.workspace_id, totals, tuple(receipts), purged, stopped)


def _shrank(now: int, reference: int) -> bool:
    return reference >= CAP_FROM and now < reference * (1 - CAP_SHARE)


def _sum(left: Totals, right: Totals) -> Totals:
    return Totals(
        left.memories + right.memories,
        left.chunks + right.chunks,
        left.entities + right.entities,
        left.relations + right.relations,
    )


def due_times(cron: Cron, clock: Callable[[], datetime], stop: threading.Event) -> Iterator[datetime]:
    """Each time of the schedule once it has come; a clock that jumps ahead runs once, one that jumps back waits."""
    due = cron.next_after(clock())
    while not stop.is_set():
        now = clock()
        if now >= due:
            yield due
            due = cron.next_after(clock())
        else:
            due = min(due, cron.next_after(now))
            stop.wait(min(_LOOK_AGAIN_SECONDS, max(0.05, (due - now).total_seconds())))


def notify(command: tuple[str, ...], url: str, summary: Mapping[str, Any]) -> None:
    """Hand the summary to a command's standard input and to a webhook; a failure is logged, never raised."""
    import json
    import subprocess

    text = json.dumps(summary, ensure_ascii=False)
    if command:
        try:
            subprocess.run(list(command), input=text.encode(), timeout=60, check=True, capture_output=True)
        except (OSError, ValueError, subprocess.SubprocessError) as error:  # ValueError: a NUL in a word
            logger.warning("the notification command failed: %s", error)
    if url:
        import httpx

        try:
            httpx.post(url, json=summary, timeout=30).raise_for_status()
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            logger.warning("the notification webhook failed: %s", error)


def describe_failure(workspace_id: str, error: MemsweepError) -> Outcome:
    return Outcome(workspace_id, Totals(), (), stopped=str(error))
