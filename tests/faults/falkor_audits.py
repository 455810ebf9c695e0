"""Campaign: the same as `audits`, on FalkorDB."""

from typing import Any

from tests.faults import audited_workspaces

NAME = "falkor_audits"


def run(seed: int) -> dict[str, Any]:
    return audited_workspaces.run(seed, "falkor")
