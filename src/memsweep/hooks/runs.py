"""What the hooks of agents' clients did for one project, as `memsweep status` shows it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from memsweep.hooks.event import EVENTS
from memsweep.hooks.files import HookFiles
from memsweep.project.locate import Project, locate
from memsweep.project.runs import HookRun, HookSummary, summaries

_FAILED = ("failed", "out of time")


def hooks_of(files: HookFiles, workspace_id: str, project: Project | None) -> list[HookSummary]:
    """By event; of all work trees of a project, and outside of projects of every folder that is in none."""
    return summaries(_runs(files.runs(), workspace_id, project.identity if project else ""))


def _runs(noted: Iterable[Mapping[str, Any]], workspace_id: str, identity: str) -> Iterator[HookRun]:
    identities: dict[str, str | None] = {}
    for run in noted:
        folder = run.get("folder")
        if run.get("event") not in EVENTS or not isinstance(folder, str) or not folder:
            continue
        if folder not in identities:
            identities[folder] = _identity(folder)
        if identities[folder] == identity and (read := _run(run, workspace_id)) is not None:
            yield read


def _identity(folder: str) -> str | None:
    """Empty outside of every project; None for a folder that cannot be looked at."""
    try:
        found = locate(folder)
    except (OSError, ValueError):
        return None
    return found.identity if found else ""


def _run(run: Mapping[str, Any], workspace_id: str) -> HookRun | None:
    """The list is a file that anybody can have damaged: a line that is none is passed over."""
    try:
        at, milliseconds = datetime.fromtimestamp(run["at"], UTC), int(run["ms"])
        failed = str(run["outcome"]).startswith(_FAILED)
    except (KeyError, TypeError, ValueError, OverflowError, OSError):
        return None
    return HookRun(at, run["event"], workspace_id, milliseconds, failed)
