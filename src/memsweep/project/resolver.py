"""The steps around `resolve`: which folder is meant, what lies there, what the registry and the person said of it."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial

from memsweep.errors import BadInput, StoreCorrupt
from memsweep.model.ids import DEFAULT_WORKSPACE
from memsweep.places import working_directory
from memsweep.project.installation import owner_in, path_of
from memsweep.project.locate import Project, locate
from memsweep.project.resolve import Place, Registry, claimed_by, resolve, without_registry
from memsweep.project.trust import is_trusted, trusted
from memsweep.settings import Settings


class Resolver:
    """The project and the workspace of a process; what can change while it runs is asked again."""

    def __init__(self, settings: Settings, registry: Callable[[], Registry], folder: str = "") -> None:
        """`folder`: somewhere in the project; empty: what the client says, or the working directory."""
        self._settings = settings
        self._registry = registry
        self._given = existing_folder(folder) if folder else ""
        self._of_client = ""
        self._project: tuple[str, Project | None] | None = None
        self._place: Place | None = None

    def use(self, folder: str) -> None:
        """Take the folder that a client works in, unless the person who started this one has said another."""
        if not self.is_given and os.path.isdir(folder):
            self._of_client = folder
            self._project = self._place = None

    @property
    def is_given(self) -> bool:
        """Return whether the one who started this process named a project."""
        return bool(self._given or self._settings.workspace or os.path.isdir(self._settings.project))

    @property
    def place(self) -> Place:
        """Once the workspace is there, it stays; until then others may make it, or lead the project elsewhere."""
        if self._place is None or not self._place.exists:
            self._place = self._resolved()
        return self._place

    @property
    def known_place(self) -> Place | None:
        """The place, if anybody has asked for it."""
        return self._place

    def look_again(self) -> None:
        """Something has changed that the workspace depends on."""
        self._place = None

    def owner(self) -> str:
        """Return the name of the project in the registry; empty outside of all."""
        project = self.project
        return owner_in(self._settings.store, self._settings.home, project.identity) if project else ""

    @property
    def project(self) -> Project | None:
        folder = self._folder()
        if self._project is None or self._project[0] != folder:
            self._project = folder, locate(folder) if folder else None
        return self._project[1]

    def claimed_by(self, workspace_id: str) -> str:
        """Return another project whose file chose the name of a workspace that something is put into from here."""
        if workspace_id in (DEFAULT_WORKSPACE, self._settings.personal):
            return ""
        known = self._registry().owner_of(workspace_id)
        return "" if known == "" else claimed_by(workspace_id, self.owner(), known, self._trusted())

    def _trusted(self) -> dict[str, list[str]]:
        """Return the workspaces that each project of this store may use; under "" those for no project."""
        store, home = self._settings.store, self._settings.home
        known = trusted(home)
        return {
            owner: names
            for owner, names in known.items()
            if not owner or ((path := path_of(owner, store, home)) is not None and os.path.isabs(path))
        }

    def _resolved(self) -> Place:
        settings, owner = self._settings, "" if self._settings.workspace else self.owner()
        try:
            return resolve(
                settings.workspace,
                self.project,
                owner,
                self._registry(),
                reserved=(DEFAULT_WORKSPACE, settings.personal),
                is_trusted=partial(is_trusted, settings.home, owner),
            )
        except StoreCorrupt:  # nothing can be read or written, but the doctor has to begin somewhere
            return without_registry(self.project, owner)

    def _folder(self) -> str:
        configured = self._settings.project if os.path.isdir(self._settings.project) else ""
        return self._given or configured or self._of_client or working_directory()


def existing_folder(folder: str) -> str:
    if not os.path.isdir(folder):
        raise BadInput(f"the project folder {folder!r:.200} does not exist.", hint="Give a folder in the project.")
    return os.path.abspath(folder)
