"""Report on the chosen workspace: its contents, and what lies elsewhere from before."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

from memsweep.model.frozen import frozen
from memsweep.model.ids import DEFAULT_WORKSPACE
from memsweep.project.installation import path_of
from memsweep.project.naming import slug
from memsweep.project.resolve import Place
from memsweep.project.resolver import Resolver
from memsweep.settings import Settings

Owned = tuple[str, str]
"""A workspace and the project that it was made for."""


@frozen
class Whereabouts:
    place: Place
    memories: int
    personal: str
    """The personal workspace, if there is one and another is meant."""
    personal_memories: int
    default_memories: int
    """What `default` holds where another workspace is meant."""
    stranded: tuple[str, ...]
    """Workspaces of the same title whose project is gone, where this project has none yet."""


def whereabouts(
    settings: Settings, resolver: Resolver, count: Callable[[str], int], owned: Callable[[], Iterable[Owned]]
) -> Whereabouts:
    """`count`: how many memories a workspace has, 0 if there is none; `owned`: all workspaces made for projects."""
    place = resolver.place
    personal = settings.personal if settings.personal != place.workspace_id else ""
    from_before = place.why in ("git", "file") and place.workspace_id != DEFAULT_WORKSPACE
    lost = [] if place.exists or place.why != "git" else stranded(settings, owned())
    return Whereabouts(
        place,
        count(place.workspace_id) if place.exists else 0,
        personal,
        count(personal) if personal else 0,
        count(DEFAULT_WORKSPACE) if from_before else 0,
        tuple(name for name, _ in lost if place.project and name.startswith(f"{slug(place.project.title)}-")),
    )


def stranded(settings: Settings, owned: Iterable[Owned]) -> list[tuple[str, str]]:
    """Workspaces whose project is gone, and where it was. A folder that cannot be looked at is not known to be gone."""
    places = ((name, path_of(owner, settings.store, settings.home)) for name, owner in owned if owner)
    return [(name, os.fsdecode(path)) for name, path in places if path is not None and _is_gone(path)]


def _is_gone(path: bytes) -> bool:
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):
        return False
    return False
