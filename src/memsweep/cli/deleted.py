"""Deleted workspaces in words, for `memsweep trash` and `memsweep workspace list --deleted`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memsweep.cli.door import harmless, in_commands, show_way_back

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memsweep.report.memory import ListedWorkspace


def show_deleted(workspaces: Iterable[ListedWorkspace]) -> None:
    for item in workspaces:
        about = harmless(" ".join(item["description"].split()))
        times = f"deleted {item['deleted_at'][:16]}  kept until {item['kept_until'][:10]}"
        print(f"  {item['workspace_id']:24} {times}  {item['receipt_id']}  {about}".rstrip())
        if item["message"].startswith("undo_prune"):
            show_way_back(item["receipt_id"])
        else:
            print(in_commands(item["message"]))
