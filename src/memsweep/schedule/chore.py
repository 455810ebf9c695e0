"""Background collection: the same plans and guards, in small steps, at set times, by one process of many."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from memsweep.collector import collect
from memsweep.collector.planner import CAP_FROM, CAP_SHARE, KINDS, over_cap
from memsweep.errors import MemsweepError
from memsweep.model.plan import Totals
from memsweep.model.text import counted, listed
from memsweep.report import amount

if TYPE_CHECKING:
    from memsweep.collector.collect import CollectorDependencies, Outlook
    from memsweep.schedule.cron import Cron

logger = logging.getLogger("memsweep.schedule")

_STEP = 500
_LOOK_AGAIN_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Chore:
    """The work of one run in every workspace; `allow_large` lifts the cap, once."""

    strategies: tuple[str, ...]
    ttl_days: float | None
    purge_days: float | None
    allow_large: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a run in one workspace, or the reason why it did nothing."""

    workspace_id: str
    totals: Totals = field(default_factory=Totals)
    receipts: tuple[str, ...] = ()
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


def run_chore(tools: CollectorDependencies, chore: Chore, expected: int | None) -> Outcome:
    """Collect in steps, if all of them together stay below the cap; `expected` memories were left by the last run."""
    outlook = collect.look_ahead(tools, chore.strategies, chore.ttl_days)
    if not chore.allow_large and (stopped := objection(tools.workspace_id, chore, outlook, expected)):
        return Outcome(tools.workspace_id, stopped=stopped)
    outcome = Outcome(tools.workspace_id)
    try:
        for receipt in collect.prune_in_steps(
            tools, chore.strategies, _STEP, chore.ttl_days, outlook=outlook, allow_large=chore.allow_large
        ):
            totals, receipts = outcome.totals.plus(receipt.totals), (*outcome.receipts, receipt.id)
            outcome = replace(outcome, totals=totals, receipts=receipts)
        if chore.purge_days is not None:
            freed = collect.purge(tools, chore.purge_days, confirm=True).memories
            outcome = replace(outcome, purged_memories=freed)
    except MemsweepError as error:  # the steps before it stand, and their receipts are needed to undo them
        return replace(outcome, stopped=str(error))
    return outcome


def objection(workspace_id: str, chore: Chore, outlook: Outlook, expected: int | None) -> str:
    """Why a run may not begin, and how it may; empty if it may. Pure."""
    allow = f"`memsweep schedule run --workspace {workspace_id} --allow-large`"
    there = outlook.there["memory"]
    memories = counted(there, "memory", "memories")
    if _is_shrunken(there, expected or 0):
        return (
            f"it has {memories} and had {expected:,} after the last run; nothing was collected."
            f" If that is right, {allow} collects once and goes on from there."
        )
    if not (what := over_cap(outlook.going, outlook.there, KINDS, outlook.gone)):
        left = there - outlook.going.memories
        if not _is_shrunken(left, expected or 0):
            return ""
        what = f"{outlook.going.memories:,} of {memories}, of {expected:,} that it had after the last run"
    return (
        f"it would remove {what}; nothing was collected. It found {amount(outlook.going)}:"
        f" {_looks(workspace_id, chore, outlook)}; {allow} collects it once."
    )


def _looks(workspace_id: str, chore: Chore, outlook: Outlook) -> str:
    """The commands that show what was found."""
    commands = []
    for strategy in (name for name in chore.strategies if outlook.named_by[name]):
        ttl = f" --ttl-days {chore.ttl_days:g}" if chore.ttl_days is not None else ""
        commands.append(f"`memsweep prune --workspace {workspace_id} --strategy {strategy}{ttl}`")
    return f"{listed(commands)} {'show' if len(commands) > 1 else 'shows'} it"


def _is_shrunken(now: int, before: int) -> bool:
    return before >= CAP_FROM and now < before * (1 - CAP_SHARE)


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
