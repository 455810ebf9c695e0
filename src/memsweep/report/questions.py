"""Write the questions that a person is asked before anything is removed. Pure: the same state gives the same words."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from memsweep.model.strategies import SECRETS
from memsweep.model.text import counted
from memsweep.report import amount, memory, named
from memsweep.secrets.find import redacted

if TYPE_CHECKING:
    from memsweep.model.memory import Memory, Stats
    from memsweep.model.plan import Plan, PlanView

SAMPLE = 5
_SHOWN = 60
_LOOKED_AT = 500
_UNDOABLE = "This can be undone until the trash is purged."
_FINAL = "This cannot be undone."


def plan_question(workspace_id: str, plan: Plan, sample: Sequence[PlanView], *, named: bool) -> str:
    """With its id if it was `named` by the caller: one that is made for the question has another id each time."""
    names = "; ".join(_line(item.relative_path or item.name or item.id) for item in sample[:SAMPLE])
    more = f" and {plan.item_count - SAMPLE:,} more" if plan.item_count > SAMPLE else ""
    share = f" ({plan.share:.0%} of the memories)" if plan.totals.memories else ""
    which = f"Plan {plan.id}, strategy" if named else "Strategy"
    if plan.strategy == SECRETS:
        what = f"Redact the secrets in {memory.places(plan.totals, plan.item_count)} of workspace {workspace_id!r}"
        return f"{what}? {which} {plan.strategy}: {names}{more}. {_UNDOABLE}"
    return (
        f"Move {amount(plan.totals) or 'nothing'}{share} of workspace {workspace_id!r} to the trash?"
        f" {which} {plan.strategy}: {names}{more}. {_UNDOABLE}"
    )


def delete_question(workspace_id: str, memory: Memory, *, forever: bool) -> str:
    what = f"memory {memory.id} of workspace {workspace_id!r}"
    said = f"It begins: {_line(memory.text)!r}."
    if forever:
        return f"Permanently delete {what}, and never learn it again? {said} {_FINAL}"
    return f"Move {what} to the trash? {said} {_UNDOABLE}"


def release_question(workspace_id: str, memory: Memory) -> str:
    what = f"memory {memory.id} of workspace {workspace_id!r}, which came from {memory.origin.brief}"
    return f"Let {what}, out of quarantine, to be told like any other? It begins: {_line(memory.text)!r}."


def clear_question(stats: Stats) -> str:
    found = {"memories": stats.total_memories, "entities": stats.total_entities, "relations": stats.total_relations}
    counts = ", ".join(named(number, what) for what, number in found.items())
    where = f"workspace {stats.workspace_id!r} ({counts})"
    return f"Move everything in {where} that is not pinned to the trash? {_UNDOABLE}"


def purge_question(workspace_id: str, days: float, in_trash: int, workspaces: int | None) -> str:
    """`workspaces`: how many deleted ones would go, too; None if none were asked for."""
    others = "" if workspaces is None else f", and {counted(workspaces, 'workspace')} deleted that long ago"
    return (
        f"Permanently delete what has been in the trash of workspace {workspace_id!r} for {days:g} days"
        f" (of {counted(in_trash, 'item')} there){others}? {_FINAL}"
    )


def workspace_question(workspace_id: str, memories: int | None) -> str:
    """`memories`: how many it has; None if it cannot be read."""
    what = "" if memories is None else f" with {counted(memories, 'memory', 'memories')}"
    return f"Move workspace {workspace_id!r}{what} to the trash? {_UNDOABLE}"


def segments_question(project_id: str, number: int | None) -> str:
    what = "what the plan would delete" if number is None else counted(number, "segment")
    return f"Move {what} of context window {project_id!r} to the trash? This can be undone until it is purged."


def window_question(project_id: str) -> str:
    return f"Move all of context window {project_id!r} to the trash? This can be undone until it is purged."


def command_line(*words: str, workspace_id: str) -> str:
    """A command that can be pasted into a shell."""
    return shlex.join(["memsweep", *words, "--workspace", workspace_id])


def _line(text: str) -> str:
    """The beginning, without the secrets in it: whoever deletes one need not see it again, nor their client's log."""
    return " ".join(redacted(text[:_LOOKED_AT])[0].split())[:_SHOWN]
