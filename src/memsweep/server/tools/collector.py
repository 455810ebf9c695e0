"""The collector: plan, look, apply, undo, purge."""

# No postponed annotations here: the SDK must see the resolver itself, not its name.

from typing import Annotated

from mcp.server.elicitation import ElicitationResult
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.resolve import Elicit, Resolve
from pydantic import Field

from memsweep.app import App
from memsweep.model.paging import cursor_at, offset_of, page_size
from memsweep.model.strategies import NAMES
from memsweep.report import collector as report
from memsweep.report.reasons import why
from memsweep.server.consent import Consent, can_ask, granted, question
from memsweep.server.tools import ToolRow

Strategy = Annotated[str, Field(description=", ".join(NAMES))]
PlanId = Annotated[str | None, Field(description="apply exactly this plan, or page through it")]
AllowLarge = Annotated[bool, Field(description="allow removing more than half of the workspace")]


def collector_tools(app: App) -> list[ToolRow]:
    def consent(
        context: Context, workspace_id: str, dry_run: bool, confirm: bool, plan_id: str | None
    ) -> Elicit[Consent] | Consent:
        if dry_run or not confirm or plan_id is None or not can_ask(context):
            return Consent(approve=True)
        memory = app.memory(workspace_id)
        return question(memory.workspace_id, memory.sweep.get_plan(plan_id), memory.sweep.items(plan_id, limit=5))

    def prune_memory(
        agreed: Annotated[ElicitationResult[Consent], Resolve(consent)],
        workspace_id: str = "",
        dry_run: bool = True,
        confirm: bool = False,
        strategy: Strategy = "stale_code",
        plan_id: PlanId = None,
        limit: int = 20,
        cursor: str | None = None,
        allow_large: AllowLarge = False,
        ttl_days: float | None = None,
    ) -> report.PruneAnswer:
        """Find garbage and, with dry_run=false and confirm=true, move it to the trash. Preview first."""
        memory = app.memory(workspace_id)
        if not dry_run:
            granted(agreed)
            if plan_id is not None:
                return report.pruned(memory.sweep.apply(plan_id, confirm=confirm, allow_large=allow_large))
            receipt = memory.sweep.prune(strategy, confirm=confirm, allow_large=allow_large, ttl_days=ttl_days)
            return report.pruned(receipt)
        page_size(limit)
        offset = offset_of(cursor, plan_id or "")  # both before a plan is saved; a new one has no cursor yet
        plan = memory.sweep.plan(strategy, ttl_days=ttl_days) if plan_id is None else memory.sweep.get_plan(plan_id)
        items = memory.sweep.items(plan.id, offset=offset, limit=limit)
        return report.previewed(plan, items, why, cursor_at(offset + limit, plan.item_count, plan.id))

    def undo_prune(receipt_id: str, workspace_id: str = "") -> report.UndoAnswer:
        """Bring back everything that a prune or a deletion removed."""
        return report.undone(app.undo(receipt_id, workspace_id))

    def delete_memory(
        memory_id: str, confirm: bool = False, forever: bool = False, workspace_id: str = ""
    ) -> report.DeletedAnswer:
        """Move one memory to the trash. forever=true deletes it permanently and never learns it again."""
        receipt = app.memory(workspace_id).delete(memory_id, confirm=confirm, forever=forever)
        return report.deleted(receipt, forever=forever)

    def recover_memory(memory_id: str, workspace_id: str = "") -> report.UndoAnswer:
        """Bring one memory back from the trash."""
        return report.undone(app.memory(workspace_id).sweep.recover(memory_id))

    def list_trash(limit: int = 20, cursor: str | None = None, workspace_id: str = "") -> report.TrashAnswer:
        """List what was removed, when and why, and the earliest date it may be purged."""
        offset = offset_of(cursor, "trash")
        items, total = app.memory(workspace_id).sweep.trash(offset=offset, limit=limit)
        return report.trashed(items, total, app.settings.gc.purge_days, cursor_at(offset + limit, total, "trash"))

    def purge_trash(
        older_than_days: float | None = None,
        confirm: bool = False,
        workspace_id: str = "",
        deleted_workspaces: bool = False,
    ) -> report.PurgeAnswer:
        """Permanently delete trash older than older_than_days (30), on request deleted workspaces too."""
        days = app.settings.gc.purge_days if older_than_days is None else older_than_days
        purged = app.memory(workspace_id).sweep.purge(days, confirm=confirm)
        freed = app.purge_workspaces(days) if deleted_workspaces else 0
        return report.purged(purged, freed, app.deleted_workspaces(days))

    def clear_all(confirm_phrase: str, workspace_id: str = "") -> report.ClearedAnswer:
        """Move everything that is not pinned to the trash. confirm_phrase: DELETE ALL MEMORIES."""
        return report.cleared(app.memory(workspace_id).sweep.clear(confirm_phrase))

    def pin(id: str, pinned: bool = True, workspace_id: str = "") -> report.PinAnswer:
        """Protect a memory or an entity from every collection, or stop protecting it."""
        kind = app.memory(workspace_id).pin(id, pinned)
        return {"id": id, "type": kind.capitalize(), "pinned": pinned}

    def explain_memory(id: str, workspace_id: str = "") -> report.ExplainAnswer:
        """Explain why a memory or an entity is kept or is garbage, with its history."""
        return report.explained(*app.memory(workspace_id).sweep.explain(id))

    return [
        ToolRow(prune_memory, destroys=True),
        ToolRow(undo_prune),
        ToolRow(delete_memory, destroys=True),
        ToolRow(recover_memory, profile="full"),
        ToolRow(list_trash, reads=True, profile="full"),
        ToolRow(purge_trash, destroys=True, profile="full"),
        ToolRow(clear_all, destroys=True, profile="full"),
        ToolRow(explain_memory, reads=True, profile="full"),
        ToolRow(pin, repeats=True, profile="full"),
    ]
