"""Memories that are asked for and are not there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memsweep.errors import NotFound

if TYPE_CHECKING:
    from memsweep.store.items import Items


def no_memory(memory_id: object, workspace_id: str) -> NotFound:
    return NotFound(
        f"memory {memory_id!r:.80} does not exist in workspace {workspace_id!r}.",
        hint="Take an id from search_memory, and check the workspace.",
    )


def live_memory(rows: Items, memory_id: str, workspace_id: str) -> int:
    """The key of a memory that is not in the trash."""
    found = rows.find(memory_id)
    if found is None or found[0] != "memory":
        raise no_memory(memory_id, workspace_id)
    if found[2] is not None:
        raise NotFound(f"memory {memory_id} is in the trash.", hint=f"Bring it back with recover_memory {memory_id}.")
    return found[1]
