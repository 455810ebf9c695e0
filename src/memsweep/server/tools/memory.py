"""Remembering and recalling."""

from __future__ import annotations

from typing import Annotated, Any, Unpack

from pydantic import Field

from memsweep.app import App
from memsweep.errors import StoreError
from memsweep.model.listing import State as ListedState
from memsweep.model.memory import Remembering, arguments_of
from memsweep.model.search import SearchMode
from memsweep.report import Answer, graph, questions
from memsweep.report import memory as report
from memsweep.schedule.background import Background
from memsweep.server.consent import AskedRemoval, Question
from memsweep.server.tools import FILTERS_SHOWN, ToolRow, looks_like, with_arguments

Filters = Annotated[dict[str, Any] | None, looks_like(FILTERS_SHOWN)]
Offset = Annotated[int, Field(description="the next_offset of the piece before")]
Shown = Annotated[int, Field(description="of each kind, at most 50")]
State = Annotated[ListedState | None, Field(description="current: what search can find")]


def memory_tools(app: App) -> list[ToolRow]:
    def add_memory(text: str, workspace_id: str = "", **said: Unpack[Remembering]) -> Answer:
        """Remember a decision, preference, correction or lesson for later sessions. Search first: if it
        is known in other words, use update_memory; if it changed, supersedes. The same text again is
        only marked as seen. similar: what it seems to repeat or contradict."""
        result = app.memory(workspace_id).remember(text, find_similar=True, **said)
        return report.remembered(result)

    def search_memory(
        query: str,
        limit: int = 10,
        filters: Filters = None,
        workspace_id: str = "",
        cursor: str | None = None,
        detail: report.Detail = "concise",
        mode: SearchMode = "precise",
    ) -> Answer:
        """Find what was remembered and indexed, by words and by meaning. Call it before you read files or ask. Shows
        passages that answer, or with mode="deep" all that resembles the query; get_memory has the whole text."""
        page = app.memory(workspace_id).search(query, limit=limit, filters=filters, cursor=cursor, mode=mode)
        return report.found(page, detail)

    def list_memories(
        filters: Filters = None,
        state: State = None,
        door: str = "",
        limit: int = 20,
        workspace_id: str = "",
        cursor: str | None = None,
    ) -> Answer:
        """List memories by the beginning of their texts, the newest first. To find something, use search_memory."""
        options: dict[str, Any] = {"filters": filters, "state": state, "door": door, "limit": limit, "cursor": cursor}
        return report.memory_list(app.memory(workspace_id).memories(**options))

    def get_memory(memory_id: str, offset: Offset = 0, workspace_id: str = "") -> Answer:
        """Get one whole memory by an id from search_memory; a long text comes in pieces."""
        return report.memory_page(app.memory(workspace_id).get(memory_id), offset)

    def update_memory(
        memory_id: str,
        text: str | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        workspace_id: str = "",
    ) -> Answer:
        """Replace the text, tags or metadata of a memory; undo_prune brings the old ones back."""
        change = app.memory(workspace_id).update(memory_id, text=text, tags=tags, metadata=metadata)
        return report.updated(change)

    def get_stats(workspace_id: str = "") -> Answer:
        """Counts and sizes of a workspace. For what is in it, call briefing."""
        found = app.memory(workspace_id).stats()
        return report.stats(found, Background(app).times(found.workspace_id))

    def briefing(limit: Shown = 5, workspace_id: str = "") -> Answer:
        """Call it once when work begins: the newest memories, facts, open contradictions, and what is stale. To find
        something, use search_memory."""
        return graph.briefed(app.memory(workspace_id).briefing(limit=limit))

    def create_workspace(workspace_id: str, description: str = "") -> Answer:
        """Create a memory of its own. Seldom needed: add_memory makes the workspace that it names."""
        return report.workspace(app.create_workspace(workspace_id, description))

    def list_workspaces(deleted: Deleted = False) -> Answer:
        """List all workspaces, and the one that an empty workspace_id stands for."""
        current = app.workspace_id
        if not deleted:
            return report.workspaces(app.workspaces(), current)
        return report.workspaces_deleted(
            app.workspaces(deleted=True), app.workspaces(), current, app.settings.gc.purge_days
        )

    def delete_asks(workspace_id: str, confirm: bool) -> AskedRemoval | None:
        def question() -> Question:
            try:
                memories = app.memory(workspace_id).stats().total_memories
            except StoreError:  # a damaged one may go, too
                memories = None
            return Question(questions.workspace_question(workspace_id, memories))

        return AskedRemoval(question) if confirm else None

    def delete_workspace(workspace_id: str, confirm: bool = False) -> Answer:
        """Move a workspace to the trash. Needs confirm=true."""
        return report.workspace_deleted(app.delete_workspace(workspace_id, confirm=confirm))

    return [
        ToolRow(briefing, reads=True, always=True),
        ToolRow(with_arguments(add_memory, arguments_of(Remembering)), repeats=True, always=True, quick=True),
        ToolRow(search_memory, reads=True, always=True, quick=True),
        ToolRow(get_memory, reads=True, quick=True),
        ToolRow(list_memories, reads=True, profile="full"),
        ToolRow(update_memory, repeats=True, quick=True),
        ToolRow(get_stats, reads=True),
        ToolRow(create_workspace),
        ToolRow(list_workspaces, reads=True),
        ToolRow(delete_workspace, destroys=True, asks=delete_asks, profile="full"),
    ]


Deleted = Annotated[bool, Field(description="those in the trash, with their receipts")]
