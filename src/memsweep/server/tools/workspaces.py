"""Workspaces: isolated memories."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from memsweep.app import App
from memsweep.errors import StoreError
from memsweep.report import memory as report
from memsweep.report import questions
from memsweep.server.consent import AskedRemoval, Question
from memsweep.server.tools import ToolRow

Deleted = Annotated[bool, Field(description="those in the trash, with their receipts")]


def workspace_tools(app: App) -> list[ToolRow]:
    def create_workspace(workspace_id: str, description: str = "") -> report.WorkspaceAnswer:
        """Create a memory of its own. Seldom needed: add_memory makes the workspace that it names."""
        return report.workspace(app.create_workspace(workspace_id, description))

    def list_workspaces(deleted: Deleted = False) -> report.WorkspacesAnswer:
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

    def delete_workspace(workspace_id: str, confirm: bool = False) -> report.WorkspaceAnswer:
        """Move a workspace to the trash. Needs confirm=true."""
        return report.workspace_deleted(app.delete_workspace(workspace_id, confirm=confirm))

    return [
        ToolRow(create_workspace),
        ToolRow(list_workspaces, reads=True),
        ToolRow(delete_workspace, destroys=True, asks=delete_asks, profile="full"),
    ]
