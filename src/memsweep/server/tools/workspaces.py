"""Workspaces: isolated memories."""

from __future__ import annotations

from memsweep.app import App
from memsweep.errors import StoreError
from memsweep.report import memory as report
from memsweep.report import questions
from memsweep.server.consent import Question, Removal
from memsweep.server.tools import ToolRow


def workspace_tools(app: App) -> list[ToolRow]:
    def create_workspace(workspace_id: str, description: str = "") -> report.WorkspaceAnswer:
        """Create an isolated memory. Adding to an unknown workspace creates it, too."""
        return report.workspace(app.create_workspace(workspace_id, description))

    def list_workspaces() -> report.WorkspacesAnswer:
        """List all workspaces, and the one that an empty workspace_id stands for."""
        return report.workspaces(app.workspaces(), app.settings.workspace)

    def delete_asks(workspace_id: str, confirm: bool) -> Removal | None:
        def question() -> Question:
            try:
                memories = app.memory(workspace_id).stats().total_memories
            except StoreError:  # a damaged one may go, too
                memories = None
            return Question(questions.workspace_question(workspace_id, memories))

        return Removal(question) if confirm else None

    def delete_workspace(workspace_id: str, confirm: bool = False) -> report.WorkspaceAnswer:
        """Move a workspace to the trash. Needs confirm=true."""
        return report.workspace_deleted(app.delete_workspace(workspace_id, confirm=confirm))

    return [
        ToolRow(create_workspace),
        ToolRow(list_workspaces, reads=True),
        ToolRow(delete_workspace, destroys=True, asks=delete_asks, profile="full"),
    ]
