"""The clients that keep memory in files, and the places of these files. Pure."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass

from memsweep.errors import BadInput
from memsweep.model.adopt import NotePlace
from memsweep.model.text import shown

_LONGEST_SLUG = 200
_UNSAFE = re.compile(r"[^a-zA-Z0-9]")


@dataclass(frozen=True, slots=True)
class AdoptClient:
    """A client and the layout of its folder, which is the same on every platform."""

    name: str
    title: str
    variable: str
    """The environment variable that moves its folder."""
    folder: str
    """Below the home of the person."""
    stores: str
    """The folder that has a folder a project; empty if there is one store for all."""
    memory: str
    index: str
    loaded_lines: int
    """How many lines of the index a session begins with; 0 if that is not known."""
    made_by_client: frozenset[str] = frozenset()
    """Files that the client writes anew from its own database; they are mirrored, and never in a plan."""

    def store_path(self, store: str) -> str:
        """Return the place of a store, below the folder of the client."""
        return f"{self.stores}/{store}/{self.memory}" if self.stores else self.memory


CLIENTS = {
    each.name: each
    for each in (
        AdoptClient("claude", "Claude Code", "CLAUDE_CONFIG_DIR", ".claude", "projects", "memory", "MEMORY.md", 200),
        AdoptClient(
            "codex",
            "Codex",
            "CODEX_HOME",
            ".codex",
            "",
            "memories",
            "MEMORY.md",
            0,
            frozenset({"MEMORY.md", "memory_summary.md", "raw_memories.md"}),
        ),
    )
}
ONLY_STORE = "all"
"""The name of the one store of a client that has no folder a project."""


def client_named(name: str) -> AdoptClient:
    if name not in CLIENTS:
        raise BadInput(f"client {shown(name)} is unknown.", hint=f"Use one of: {', '.join(CLIENTS)}.")
    return CLIENTS[name]


def slug(folder: str) -> str:
    """The name that Claude Code gives to the store of a folder; of a very long path only the beginning is known."""
    return _UNSAFE.sub("-", folder)[:_LONGEST_SLUG]


def is_slug_of(store: str, folder: str) -> bool:
    made = slug(folder)
    return store == made or (len(made) == _LONGEST_SLUG and store.startswith(f"{made}-"))


def checked_place(place: NotePlace) -> NotePlace:
    """Refuse a name that would lead out of its store."""
    for part, what in ((place.store, "store"), (place.name, "file")):
        clean = posixpath.normpath(part)
        if clean != part or part.startswith(("/", "..")) or part in ("", ".") or "\0" in part:
            raise BadInput(f"the {what} {shown(part)} is not a valid file name.")
    if "/" in place.store:
        raise BadInput(f"the store {shown(place.store)} is not a valid store name.")
    return place
