"""`app.projects`: which workspace a project has, and what a person decides about that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memsweep.errors import BadInput, Conflict, UnknownWorkspace
from memsweep.model.ids import DEFAULT_WORKSPACE
from memsweep.model.text import counted
from memsweep.project.naming import slug
from memsweep.project.trust import change_trust, is_trusted
from memsweep.project.whereabouts import Owned, Whereabouts, stranded, whereabouts

if TYPE_CHECKING:
    from memsweep.app import App
    from memsweep.project.locate import Project
    from memsweep.services.status import ProjectStatus


class Projects:
    """The projects of an app; `app.resolver` knows which one this process is in."""

    def __init__(self, app: App) -> None:
        self._app = app

    def whereabouts(self) -> Whereabouts:
        """Return the default workspace, and what lies elsewhere."""
        return whereabouts(self._app.settings, self._app.resolver, self.memories, self._owned)

    def status(self) -> ProjectStatus:
        """Return what is stored for this project, how fresh it is, what would go, and what its hooks did."""
        from memsweep.services.status import project_status

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
