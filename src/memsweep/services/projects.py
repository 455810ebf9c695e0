"""`app.projects`: the workspace of a project, what a person decides about that, and the status of it all."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from memsweep.errors import BadInput, Conflict, MemsweepError, UnknownWorkspace
from memsweep.model.ids import DEFAULT_WORKSPACE
from memsweep.model.plan import Totals
from memsweep.model.text import counted
from memsweep.project.naming import slug
from memsweep.project.runs import HookSummary, summaries
from memsweep.project.trust import change_trust, is_trusted
from memsweep.project.whereabouts import Owned, Whereabouts, stranded, whereabouts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memsweep.app import App
    from memsweep.model.memory import Stats
    from memsweep.project.locate import Project
    from memsweep.project.whereabouts import Whereabouts
    from memsweep.store.protocol import Store


class Projects:
    """The projects of an app; `app.resolver` knows which one this process is in."""

    def __init__(self, app: App) -> None:
        self._app = app

    def whereabouts(self) -> Whereabouts:
        """Return the default workspace, and what lies elsewhere."""
        return whereabouts(self._app.settings, self._app.resolver, self.memories, self._owned)

    def status(self) -> ProjectStatus:
        """Return what is stored for this project, how fresh it is, what would go, and what its hooks did."""
        from memsweep.services.projects import project_status

        return project_status(self._app)

    def stranded(self) -> list[tuple[str, str]]:
        """Workspaces whose project is gone, and where that was."""
        return stranded(self._app.settings, self._owned())

    def memories(self, workspace_id: str) -> int:
        engine = self._app.engine
        if engine.owner_of(workspace_id) is None:
            return 0
        try:
            return engine.open(workspace_id).stats().total_memories
        except UnknownWorkspace:  # it was deleted in between
            return 0

    def trust(self, workspace_id: str, *, agreed: bool) -> tuple[str, bool]:
        """Let the project use a workspace that it names, or share one that another names; which one, whether new."""
        app = self._app
        owner, name = app.resolver.owner(), workspace_id
        if not self._is_shared(workspace_id, owner):
            name = self._asked_for(workspace_id)
        app.private_home()
        new = change_trust(app.settings.home, owner, name, agreed=agreed)
        if not agreed and owner and app.engine.owner_of(name) == owner:
            app.engine.assign(name, "")
        app.resolver.look_again()
        return name, new

    def _is_shared(self, workspace_id: str, owner: str) -> bool:
        """Return whether a person may agree, or has agreed, to put something into it from this project."""
        app = self._app
        return bool(app.resolver.claimed_by(workspace_id)) or is_trusted(app.settings.home, owner, workspace_id)

    def _asked_for(self, workspace_id: str) -> str:
        project = self._here()
        asked = project.file.workspace
        if not asked:
            raise BadInput(f"the project {project.folder} names no workspace.", hint="Name one in its .memsweep.toml.")
        if workspace_id not in ("", asked):
            raise BadInput(f"the project asks for workspace {asked!r}, not for {workspace_id!r:.80}.")
        return asked

    def adopt(self, workspace_id: str = "") -> str:
        """Lead the project to a workspace that was made for it where it was before; which one."""
        from memsweep.model.plan import Operation

        project, app = self._here(), self._app
        owner = app.resolver.owner()
        name = workspace_id or self._only_candidate(project)
        self._refuse_what_is_in_use(name, owner)
        own = app.engine.workspace_of(owner)
        if own not in (None, name):
            assert own is not None
            if held := self.memories(own):
                raise Conflict(
                    f"this project already has workspace {own!r} with {counted(held, 'memory', 'memories')}.",
                    hint=f"Move it away first: memsweep workspace delete {own}",
                )
            app.engine.assign(own, "")
        app.engine.assign(name, owner)
        with app.engine.open(name).collector.changing() as tx:
            tx.audit(Operation(app.actor, app.clock()).event("adopt", project.folder))
        app.resolver.look_again()
        return name

    def _here(self) -> Project:
        project = self._app.resolver.project
        if project is None:
            raise BadInput("no project was found here.", hint="Run it in a git repository, or give --project.")
        return project

    def _only_candidate(self, project: Project) -> str:
        lost = [name for name, _ in self.stranded()]
        alike = [name for name in lost if name.startswith(f"{slug(project.title)}-")]
        if len(alike) == 1:
            return alike[0]
        choice = ", ".join(map(repr, alike or lost))
        raise BadInput(
            f"{'several workspaces' if choice else 'no workspace'} may be the one this project had before it was moved"
            f"{f': {choice}' if choice else ''}.",
            hint="Name one: memsweep workspace adopt ID" if choice else "`memsweep workspace list` shows all.",
        )

    def _refuse_what_is_in_use(self, name: str, owner: str) -> None:
        app = self._app
        if name in (DEFAULT_WORKSPACE, app.settings.personal):
            raise BadInput(f"workspace {name!r} belongs to no single project.", hint="Copy it with --as instead.")
        app.engine.open(name)  # an unknown one is another mistake
        known = app.engine.owner_of(name)
        if known not in ("", owner) and name not in dict(self.stranded()):
            raise Conflict(
                f"workspace {name!r} belongs to another project, which is still there: {known}.",
                hint=f"A copy is another workspace: memsweep workspace copy {name} --as NEW",
            )

    def _owned(self) -> list[Owned]:
        return [(each.id, each.project) for each in self._app.workspaces() if each.project]


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
