"""Campaign: whatever happens to a workspace, its log tells of every memory and entity what happened to it."""

from typing import Any

from tests.faults import audited_workspaces

NAME = "audits"


def run(seed: int) -> dict[str, Any]:
    return audited_workspaces.run(seed, "sqlite")
