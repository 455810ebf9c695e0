"""`app.projects.status()`: what is stored for a project, how fresh it is, what would go, and what its hooks did."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from memsweep.errors import MemsweepError, UnknownWorkspace
from memsweep.model.plan import Totals
from memsweep.project.runs import HookSummary, summaries

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memsweep.app import App
    from memsweep.model.memory import Stats
    from memsweep.project.whereabouts import Whereabouts
    from memsweep.store.protocol import Store


@dataclass(frozen=True, slots=True)
class IndexedRoot:
    path: str
    files: int
    verified_at: datetime | None
    """When a run last compared it with the disk."""


@dataclass(frozen=True, slots=True)
class ProjectStatus:
    whereabouts: Whereabouts
    now: datetime
    stats: Stats | None
    """None where the workspace is not made yet."""
    roots: tuple[IndexedRoot, ...]
    strategies: tuple[str, ...]
    would_take: Totals
    git_hooks: Mapping[str, str]
    """Empty outside of git."""
    hooks: tuple[HookSummary, ...]
    deleted_by_clients: Mapping[str, int]
    """Files of the memory that a client keeps, which are gone and which `adopt` can bring back."""
    hooks_on: bool = True
    """Whether those of agents' clients do anything here."""


def project_status(app: App) -> ProjectStatus:
    found = app.projects.whereabouts()
    try:
        store: Store | None = app.engine.open(found.place.workspace_id)
    except UnknownWorkspace:
        store = None
    schedule, project = app.settings.schedule, found.place.project
    strategies = schedule.strategies if schedule.enabled else ("stale_code",)
    return ProjectStatus(
        found,
        app.clock(),
        store.stats() if store else None,
        tuple(_root(store, path) for path in store.code.roots()) if store else (),
        strategies,
        _would_take(app, strategies) if store else Totals(),
        _git_hooks(found),
        tuple(summaries(app.settings.home, found.place.workspace_id, project.identity if project else "")),
        _deleted_by_clients(app, found),
    )


def _deleted_by_clients(app: App, found: Whereabouts) -> Mapping[str, int]:
    from memsweep.adopt.clients import CLIENTS

    project, deleted = found.place.project, {}
    for client in CLIENTS:
        with contextlib.suppress(MemsweepError):  # no mirror that could be read
            deleted[client] = len(app.adopt.lost(client, project=project.folder if project else "."))
    return {client: count for client, count in deleted.items() if count}


def _root(store: Store, path: str) -> IndexedRoot:
    live = [file for file in store.code.files(path) if not file.stale]
    some = next((file.memory_id for file in live if file.memory_id), "")
    memory = store.memory(some) if some else None
    return IndexedRoot(path, len(live), memory.code.verified_at if memory and memory.code else None)


def _would_take(app: App, strategies: tuple[str, ...]) -> Totals:
    total = Totals()
    for each in app.memory().sweep.preview(*strategies, limit=0) if strategies else ():
        total = total.plus(each.totals)
    return total


def _git_hooks(found: Whereabouts) -> Mapping[str, str]:
    project = found.place.project
    if project is None or not project.is_git:
        return {}
    from memsweep.code.hooks import find_hooks

    with contextlib.suppress(MemsweepError):
        return dict(find_hooks(project.folder).status())
    return {}
