"""The collector: plan, look, apply, undo, purge."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from memsweep.app import App
from memsweep.collector.collect import CLEAR_PHRASE, refuse_other_strategy
from memsweep.errors import BadInput
from memsweep.model.paging import cursor_at, offset_of, page_size
from memsweep.model.strategies import DEFAULT, NAMES, Unsaid
from memsweep.report import Answer, questions
from memsweep.report import collector as report
from memsweep.report import memory as memories
from memsweep.report.collector import why
from memsweep.server.consent import AskedRemoval, Question
from memsweep.server.resources import view_of_plan
from memsweep.server.tools import WHOSE, ToolRow, looks_like

if TYPE_CHECKING:
    from memsweep.model.plan import Plan
    from memsweep.services.memory import Memory


Strategy = Annotated[str, looks_like({"enum": list(NAMES)})]
PlanId = Annotated[str | None, Field(description="apply exactly this plan, or page through it")]
Forever = Annotated[bool, Field(description="delete it permanently and never learn it again; a person is asked")]
Whose = Annotated[dict[str, Any] | None, looks_like(WHOSE, "with strategy=origin: whose")]
Exclude = Annotated[list[str] | None, Field(description="ids to spare, with what they keep alive")]
AllowLarge = Annotated[bool, Field(description="allow removing more than half of the workspace")]


def collector_tools(app: App) -> list[ToolRow]:
    def prune_asks(
        workspace_id: str,
        dry_run: bool,
        confirm: bool,
        strategy: str,
        plan_id: str | None,
        ttl_days: float | None,
        origin: dict[str, Any] | None,
        exclude: list[str] | None,
    ) -> AskedRemoval | None:
        memory = app.memory(workspace_id)
        make = partial(memory.sweep.plan, strategy, ttl_days=ttl_days, origin=origin)
        asked = partial(plan_question, memory, plan_id, make, exclude or ())
        return None if dry_run or not confirm else AskedRemoval(asked)

    def prune_memory(
        workspace_id: str = "",
        dry_run: bool = True,
        confirm: bool = False,
        strategy: Strategy = Unsaid(DEFAULT),
        plan_id: PlanId = None,
        limit: int = 20,
        cursor: str | None = None,
        allow_large: AllowLarge = False,
        ttl_days: float | None = None,
        origin: Whose = None,
        exclude: Exclude = None,
    ) -> Answer:
        """Find garbage: returns a plan with a reason for each item, and removes nothing. Then call it again with that
        plan_id, dry_run=false and confirm=true to move exactly these to the trash. undo brings them back."""
        memory = app.memory(workspace_id)
        if plan_id is not None and not isinstance(strategy, Unsaid):
            refuse_other_strategy(memory.sweep.get_plan(plan_id), strategy)
        if not dry_run:
            if plan_id is not None:
                receipt = memory.sweep.apply(plan_id, confirm=confirm, allow_large=allow_large, exclude=exclude or ())
                return report.pruned(receipt)
            receipt = memory.sweep.prune(
                strategy,
                confirm=confirm,
                allow_large=allow_large,
                ttl_days=ttl_days,
                origin=origin,
                exclude=exclude or (),
            )
            return report.pruned(receipt)
        page_size(limit)
        offset = offset_of(cursor, plan_id or "")  # all before a plan is saved; a new one has no cursor yet
        if exclude and plan_id is None:
            raise BadInput(
                "exclude needs the plan_id of a plan that was shown.",
                hint="Call it first without exclude.",
            )
        if plan_id is None:
            plan = memory.sweep.plan(strategy, ttl_days=ttl_days, origin=origin)
        else:
            plan = memory.sweep.get_plan(plan_id)
        if exclude:
            plan = memory.sweep.narrow(plan.id, exclude)
        items = memory.sweep.items(plan, offset=offset, limit=limit) if plan.item_count else []
        return report.previewed(plan, items, why, cursor_at(offset + limit, plan.item_count, plan.id))

    def undo(receipt_id: str, workspace_id: str = "") -> Answer:
        """Take back a prune, a deletion, a merge or an update by the receipt_id of its answer."""
        return report.undone(app.undo(receipt_id, workspace_id))

    def undo_prune(receipt_id: str, workspace_id: str = "") -> Answer:
        """The same as undo."""
        return report.undone(app.undo(receipt_id, workspace_id))

    def delete_asks(memory_id: str, confirm: bool, workspace_id: str, forever: bool = False) -> AskedRemoval | None:
        memory = app.memory(workspace_id)

        def question() -> Question:
            found = memory.get(memory_id)
            said = questions.delete_question(memory.workspace_id, found, forever=forever)
            return Question() if found.pinned else Question(said)  # which is refused

        words = ("delete", memory_id, "--forever")
        final = questions.command_line(*words, workspace_id=memory.workspace_id) if forever else ""
        return AskedRemoval(question, final) if confirm else None

    def delete_memory(
        memory_id: str, confirm: bool = False, forever: Forever = False, workspace_id: str = ""
    ) -> Answer:
        """Move one memory to the trash, with confirm=true; undo brings it back. If it is only out of date, use
        update_memory."""
        receipt = app.memory(workspace_id).delete(memory_id, confirm=confirm, forever=forever)
        return report.deleted(receipt, forever=forever)

    def recover_memory(memory_id: str, workspace_id: str = "") -> Answer:
        """Bring one memory back from the trash, or one entity or relation (by its id), with what it needs."""
        return report.undone(app.memory(workspace_id).sweep.recover(memory_id))

    def list_trash(limit: int = 20, cursor: str | None = None, workspace_id: str = "", receipt_id: str = "") -> Answer:
        """List what was removed, deleted workspaces too: when, why, and how long it is kept at least."""
        listing = f"trash {receipt_id}" if receipt_id else "trash"
        offset = offset_of(cursor, listing)
        page = app.trash(workspace_id, offset=offset, limit=limit, receipt_id=receipt_id)
        return report.trashed(page, app.settings.gc.purge_days, cursor_at(offset + limit, page.total, listing))

    def list_receipts(limit: int = 20, cursor: str | None = None, workspace_id: str = "") -> Answer:
        """List what was done, newest first, and whether it can still be undone."""
        return report.receipts(app.memory(workspace_id).sweep.receipts(limit=limit, cursor=cursor))

    def purge_asks(
        older_than_days: float | None, confirm: bool, workspace_id: str, deleted_workspaces: bool
    ) -> AskedRemoval | None:
        days = app.settings.gc.purge_days if older_than_days is None else older_than_days
        if not confirm or not days >= 0:  # which is refused
            return None
        memory = app.memory(workspace_id)
        if deleted_workspaces:
            _ = app.engine.keeper  # refused to a token for some workspaces, before the trash of one is freed

        def question() -> Question:
            others = app.deleted_workspaces(days) if deleted_workspaces else None
            _, in_trash = memory.sweep.trash(limit=1)
            return Question(questions.purge_question(memory.workspace_id, days, in_trash, others))

        words = ["purge", "--older-than-days", f"{days:g}", *(["--deleted-workspaces"] if deleted_workspaces else [])]
        return AskedRemoval(question, questions.command_line(*words, workspace_id=memory.workspace_id))

    def purge_trash(
        older_than_days: float | None = None,
        confirm: bool = False,
        workspace_id: str = "",
        deleted_workspaces: bool = False,
    ) -> Answer:
        """Permanently delete trash older than older_than_days (30), on request deleted workspaces too."""
        days = app.settings.gc.purge_days if older_than_days is None else older_than_days
        purged = app.memory(workspace_id).sweep.purge(days, confirm=confirm)
        freed = app.purge_workspaces(days) if deleted_workspaces else 0
        return report.purged(purged, freed, app.deleted_workspaces(days))

    def clear_asks(confirm_phrase: str, workspace_id: str) -> AskedRemoval | None:
        memory = app.memory(workspace_id)
        question = lambda: Question(questions.clear_question(memory.stats()))  # noqa: E731
        return AskedRemoval(question) if confirm_phrase == CLEAR_PHRASE else None

    def clear_all(confirm_phrase: str, workspace_id: str = "") -> Answer:
        """Move everything that is not pinned to the trash. confirm_phrase: DELETE ALL MEMORIES."""
        return report.cleared(app.memory(workspace_id).sweep.clear(confirm_phrase))

    def pin(id: str, pinned: bool = True, workspace_id: str = "") -> Answer:
        """Protect a memory or an entity from every collection, or stop protecting it."""
        return report.pinned(id, app.memory(workspace_id).pin(id, pinned), pinned=pinned)

    def release_asks(memory_id: str, workspace_id: str) -> AskedRemoval:
        memory = app.memory(workspace_id)

        def question() -> Question:
            found = memory.get(memory_id)
            return Question() if found.released_at else Question(questions.release_question(memory.workspace_id, found))

        command = questions.command_line("release", memory_id, workspace_id=memory.workspace_id)
        return AskedRemoval(question, command, "only a person lets something out of quarantine")

    def release_memory(memory_id: str, workspace_id: str = "") -> Answer:
        """Let a memory out of quarantine: search and briefings tell it from now on. A person is asked."""
        return memories.released(app.memory(workspace_id).release(memory_id))

    def explain_memory(id: str, workspace_id: str = "") -> Answer:
        """Explain why a memory or an entity is kept or is garbage, with its history."""
        return report.explained(*app.memory(workspace_id).sweep.explain(id))

    return [
        ToolRow(prune_memory, destroys=True, asks=prune_asks, view=view_of_plan(app)),
        ToolRow(undo),
        ToolRow(undo_prune),
        ToolRow(delete_memory, destroys=True, asks=delete_asks, only_full=("forever",)),
        ToolRow(recover_memory, profile="full"),
        ToolRow(list_trash, reads=True, profile="full"),
        ToolRow(list_receipts, reads=True, profile="full"),
        ToolRow(purge_trash, destroys=True, asks=purge_asks, profile="full"),
        ToolRow(clear_all, destroys=True, asks=clear_asks, profile="full"),
        ToolRow(explain_memory, reads=True, profile="full"),
        ToolRow(pin, repeats=True, profile="full"),
        ToolRow(release_memory, repeats=True, asks=release_asks, profile="full"),
    ]


def plan_question(
    memory: Memory, plan_id: str | None, make: Callable[[], Plan], exclude: Collection[str] = ()
) -> Question:
    """Return the question about a plan; the tool is called with this plan, and takes nothing else."""
    plan = make() if plan_id is None else memory.sweep.get_plan(plan_id)
    if exclude:
        plan = memory.sweep.narrow(plan.id, exclude)
    sample = memory.sweep.items(plan, limit=questions.SAMPLE) if plan.item_count else []
    said = questions.plan_question(memory.workspace_id, plan, sample, named=plan.id == plan_id)
    return Question(said if plan.item_count else "", {"plan_id": plan.id, **({"exclude": None} if exclude else {})})
