"""Say which workspace is meant, why, and what lies elsewhere: in words and as an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memsweep.model.text import counted
from memsweep.report import Answer

if TYPE_CHECKING:
    from memsweep.project.resolve import Place
    from memsweep.project.whereabouts import Whereabouts


def where(found: Whereabouts) -> Answer:
    place = found.place
    return {
        "workspace_id": place.workspace_id,
        "memories": found.memories,
        "made": place.exists,
        "why": place.why,
        "reason": reason(place),
        "project": place.project.folder if place.project else None,
        "personal": found.personal or None,
        "personal_memories": found.personal_memories,
        "notes": notes(found),
    }


def reason(place: Place) -> str:
    project = place.project
    match place.why:
        case "settings":
            return "the settings or MEMSWEEP_WORKSPACE name it"
        case "file":
            return f"{project.file.path if project else ''} names it"
        case "git":
            return f"it belongs to the git repository {project.identity if project else ''}"
        case "default":
            return "no project was found here" if project is None else "the project names no workspace it may use"


def notes(found: Whereabouts) -> list[str]:
    """Return the notes that a person should read or act on, each with its command."""
    place = found.place
    said = list(place.project.file.notes) if place.project else []
    if asked := asked_for(place):
        said.append(asked)
    said += [
        f"The project of workspace {name!r} is gone; if it was moved here, `memsweep workspace adopt {name}`"
        " finds its memories again."
        for name in found.stranded
    ]
    if found.default_memories:
        said.append(from_before(found.default_memories, place.workspace_id))
    return said


def asked_for(place: Place) -> str:
    """The name that a project's file chose and that waits for a person; empty where none does."""
    if not place.refused or not place.project:
        return ""
    return (
        f"{place.project.file.path} asks for workspace {place.refused!r}; it is ignored until you agree"
        f" with `memsweep trust {place.refused}`."
    )


def from_before(memories: int, workspace_id: str) -> str:
    held = counted(memories, "memory", "memories")
    return (
        f"Workspace 'default' holds {held} from before projects had workspaces of their own;"
        f" `memsweep workspace copy default --as {workspace_id}` copies them here."
    )
