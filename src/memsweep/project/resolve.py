"""Choose the workspace where nobody names one. Pure: what the registry knows is handed in.

An explicit name never comes here. Then: the settings, `.memsweep.toml`, the git repository, `default`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from itertools import count
from typing import Literal, Protocol

from memsweep.model.frozen import frozen
from memsweep.model.ids import DEFAULT_WORKSPACE
from memsweep.project.locate import Project
from memsweep.project.naming import is_made_name, workspace_name

Why = Literal["settings", "file", "git", "default"]


class Registry(Protocol):
    """A lookup of workspaces, and of the projects that they were made for."""

    def owner_of(self, workspace_id: str) -> str | None:
        """The project that a workspace was made for, empty if for none; None if there is no such workspace."""

    def workspace_of(self, owner: str) -> str | None:
        """The workspace that was made for a project."""


@frozen
class Place:
    """The workspace that is meant, and why."""

    workspace_id: str
    why: Why
    exists: bool
    owner: str = ""
    """The project that the workspace is made for by its first memory; empty where it is made for none."""
    project: Project | None = None
    refused: str = ""
    """A workspace that `.memsweep.toml` names and that nobody agreed to."""


def resolve(
    configured: str,
    project: Project | None,
    owner: str,
    registry: Registry,
    *,
    reserved: tuple[str, ...],
    is_trusted: Callable[[str], bool],
) -> Place:
    """`owner`: how the registry knows the project. `reserved`: workspaces that are made for no single project."""
    if configured:
        return Place(configured, "settings", registry.owner_of(configured) is not None, project=project)
    if project is None:
        return Place(DEFAULT_WORKSPACE, "default", registry.owner_of(DEFAULT_WORKSPACE) is not None)
    named = project.file.workspace
    refused = ""
    if named:
        known = registry.owner_of(named)
        if known == owner or is_trusted(named):
            is_own = known == owner or (known is None and named not in reserved)
            return Place(named, "file", known is not None, owner if is_own else "", project)
        refused = named
    if not project.is_git:
        exists = registry.owner_of(DEFAULT_WORKSPACE) is not None
        return Place(DEFAULT_WORKSPACE, "default", exists, project=project, refused=refused)
    name, exists = _own(project, owner, registry)
    return Place(name, "git", exists, owner, project, refused)


def claimed_by(workspace_id: str, owner: str, known: str | None, trusted: Mapping[str, Collection[str]]) -> str:
    """Return another project that chose the name of a workspace, unless a person agreed to share it with that.

    `known`: the project that the workspace was made for, None if it is not made; `trusted`: what each project may use.
    """
    if known in ("", owner) or workspace_id in trusted.get(owner, ()) or (known and is_made_name(workspace_id)):
        return ""
    return known or min((each for each, names in trusted.items() if each and workspace_id in names), default="")


def without_registry(project: Project | None, owner: str) -> Place:
    """The same where the registry cannot be read: what only it could allow is not allowed."""
    if project is None or not project.is_git:
        return Place(DEFAULT_WORKSPACE, "default", False, project=project)
    return Place(workspace_name(project.title, owner), "git", False, owner, project, project.file.workspace)


def _own(project: Project, owner: str, registry: Registry) -> tuple[str, bool]:
    """The workspace of a repository, and whether it is made yet; a name that another project has is passed over."""
    name = workspace_name(project.title, owner)
    if registry.owner_of(name) == owner:
        return name, True
    if (known := registry.workspace_of(owner)) is not None:
        return known, True
    for attempt in count():
        name = workspace_name(project.title, owner, attempt)
        holder = registry.owner_of(name)
        if holder in (None, "", owner):
            return name, holder is not None
    raise AssertionError("there is always a next name")
