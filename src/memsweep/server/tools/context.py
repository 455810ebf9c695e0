"""The context collector: what is in the agent's window, what could leave it, and how to bring it back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from pydantic import Field

from memsweep.app import App
from memsweep.model.checks import FLAG, TEXT, TIME, WHOLE, fields, items_of, one_of
from memsweep.model.segment import Role, SegmentType
from memsweep.report import Answer, questions
from memsweep.report import context as report
from memsweep.server.consent import AskedRemoval, Question
from memsweep.server.tools import Tier, ToolRow, looks_like

if TYPE_CHECKING:
    from memsweep.context.service import ContextWindow
    from memsweep.operation import Sync

ANSWER_TOKENS = 4000
"""How much text an answer holds by default."""

SEGMENT = fields(
    ["text"],
    text=TEXT,
    segment_id=TEXT,
    type=one_of(get_args(SegmentType)),
    role=one_of(get_args(Role)),
    references=items_of(TEXT),
    task_id=TEXT,
    file_path=TEXT,
    line_range=items_of(WHOLE),
    tags=items_of(TEXT),
    topic_id=TEXT,
    pinned=FLAG,
    tokens=WHOLE,
    created_at=TIME,
)
DESCRIPTORS = fields(
    active_file=TEXT, line_range=items_of(WHOLE), open_files=items_of(TEXT), recently_edited=items_of(TEXT)
)
Segments = Annotated[list[dict[str, Any]], looks_like(items_of(SEGMENT))]
Descriptors = Annotated[dict[str, Any] | None, looks_like(DESCRIPTORS, "what you work on")]
Target = Annotated[int | None, Field(description="tokens to free")]
Budget = Annotated[int | None, Field(description="or tokens to fit into")]
RestoreBudget = Annotated[int | None, Field(description="tokens; 4000 for a query")]
Confirm = Annotated[bool, Field(description="required to delete")]
DryRun = Annotated[bool, Field(description="save no plan")]


def context_tools(app: App) -> list[ToolRow]:
    def window(project_id: str, workspace_id: str) -> ContextWindow[Sync]:
        return app.memory(workspace_id).context(project_id)

    def context_add(project_id: str, segments: Segments, tier: Tier = "", workspace_id: str = "") -> Answer:
        """Record what entered your context window, if you manage one. Over its limits, the least useful segments go to
        the stash."""
        return report.added(window(project_id, workspace_id).add(segments, tier=tier))

    def context_gc_analyze(
        project_id: str,
        target_tokens: Target = None,
        budget: Budget = None,
        task_id: str | None = None,
        descriptors: Descriptors = None,
        max_candidates: int = 20,
        include_scores: bool = True,
        dry_run: DryRun = False,
        workspace_id: str = "",
    ) -> Answer:
        """Show what could leave the window and why. Moves nothing: context_gc_prune takes the plan_id."""
        result = window(project_id, workspace_id).analyze(
            target_tokens=target_tokens,
            budget=budget,
            task_id=task_id,
            descriptors=descriptors,
            max_candidates=max_candidates,
            dry_run=dry_run,
        )
        return report.analyzed(result, include_scores=include_scores)

    def prune_asks(project_id: str, segment_ids: list[str] | None, strategy: str, confirm: bool) -> AskedRemoval | None:
        if strategy == "stash" or (strategy == "auto" and segment_ids) or not confirm:
            return None
        return AskedRemoval(lambda: Question(questions.segments_question(project_id, len(segment_ids or ()) or None)))

    def context_gc_prune(
        project_id: str,
        segment_ids: list[str] | None = None,
        plan_id: str | None = None,
        strategy: Literal["auto", "stash", "delete"] = "auto",
        confirm: Confirm = False,
        workspace_id: str = "",
    ) -> Answer:
        """Move segments out of the window, by ids or by plan: to the stash (context_restore), or with strategy=delete
        to the trash (undo)."""
        chosen = window(project_id, workspace_id)
        return report.pruned(chosen.prune(segment_ids, plan_id=plan_id, strategy=strategy, confirm=confirm))

    def context_gc_pin(project_id: str, segment_ids: list[str], workspace_id: str = "") -> Answer:
        """Keep segments in the window through every collection."""
        return report.pinned(window(project_id, workspace_id).pin(segment_ids), True)

    def context_gc_unpin(project_id: str, segment_ids: list[str], workspace_id: str = "") -> Answer:
        """Let pinned segments be collected again."""
        return report.pinned(window(project_id, workspace_id).unpin(segment_ids), False)

    def context_gc_configure(
        project_id: str,
        soft_tokens: int | None = None,
        hard_tokens: int | None = None,
        changes_per_step: int | None = None,
        batch: int | None = None,
        last_n: int | None = None,
        decision_minutes: int | None = None,
        workspace_id: str = "",
    ) -> Answer:
        """Change the limits of the window; without arguments, show them."""
        result = window(project_id, workspace_id).configure(
            soft_tokens=soft_tokens,
            hard_tokens=hard_tokens,
            changes_per_step=changes_per_step,
            batch=batch,
            last_n=last_n,
            decision_minutes=decision_minutes,
        )
        return report.configured(result)

    def context_stash_search(project_id: str, query: str, limit: int = 10, workspace_id: str = "") -> Answer:
        """Search what left the window; context_restore brings it back."""
        return report.found(window(project_id, workspace_id).search(query, limit=limit))

    def context_restore(
        project_id: str,
        segment_ids: list[str] | None = None,
        query: str | None = None,
        budget: RestoreBudget = None,
        workspace_id: str = "",
    ) -> Answer:
        """Bring whole segments back from the stash, by ids or by a query."""
        room = ANSWER_TOKENS if budget is None and query is not None else budget
        return report.restored(window(project_id, workspace_id).restore(segment_ids, query=query, budget=room))

    def context_compress(project_id: str, segment_ids: list[str], summary: str, workspace_id: str = "") -> Answer:
        """Put your summary in place of segments; the originals are stashed behind it."""
        return report.compressed(window(project_id, workspace_id).compress(segment_ids, summary))

    def context_working_set(project_id: str, budget: int = ANSWER_TOKENS, workspace_id: str = "") -> Answer:
        """Show what a window of this budget should hold, in order."""
        return report.working_set(window(project_id, workspace_id).working_set(budget))

    def context_list(workspace_id: str = "") -> Answer:
        """List the context windows of a workspace."""
        return report.windows(app.memory(workspace_id).contexts())

    def delete_asks(project_id: str, confirm: bool) -> AskedRemoval | None:
        return AskedRemoval(lambda: Question(questions.window_question(project_id))) if confirm else None

    def context_delete(project_id: str, confirm: Confirm = False, workspace_id: str = "") -> Answer:
        """Move a whole window and its stash to the trash."""
        return report.pruned(window(project_id, workspace_id).delete(confirm=confirm))

    return [
        ToolRow(context_add, quick=True),
        ToolRow(context_gc_analyze, repeats=True),
        ToolRow(context_gc_prune, destroys=True, asks=prune_asks),
        ToolRow(context_gc_pin, repeats=True),
        ToolRow(context_gc_unpin, repeats=True),
        ToolRow(context_gc_configure, repeats=True),
        ToolRow(context_stash_search, reads=True, quick=True),
        ToolRow(context_restore, repeats=True, quick=True),
        ToolRow(context_compress, profile="full"),
        ToolRow(context_working_set, reads=True, profile="full"),
        ToolRow(context_list, reads=True, profile="full"),
        ToolRow(context_delete, destroys=True, asks=delete_asks, profile="full"),
    ]
