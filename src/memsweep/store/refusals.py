"""Refusals that every engine makes in the same words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from memsweep.errors import AlreadyExists, Conflict, ModelMismatch, NotFound, StoreBusy, UnknownWorkspace
from memsweep.model.text import expect

if TYPE_CHECKING:
    from datetime import datetime

    from memsweep.model.workspace import EmbeddingModel, Workspace


def unknown_workspace(workspace_id: str, known: Iterable[str], deleted: Iterable[Workspace]) -> UnknownWorkspace:
    """`deleted`: the last deleted first."""
    receipt = next((each.receipt_id for each in deleted if each.id == workspace_id and each.receipt_id), None)
    way_back = f"It was deleted; undo_prune with {receipt} brings it back." if receipt else ""
    error = UnknownWorkspace(
        f"workspace {workspace_id!r} does not exist; known workspaces: {_listed(known)}.",
        hint=way_back or "Adding a memory to it creates it.",
    )
    error.was_deleted = receipt is not None
    return error


def workspace_exists(workspace_id: str) -> AlreadyExists:
    return AlreadyExists(f"workspace {workspace_id!r} exists already.", hint="Choose another id, or use it as it is.")


def workspace_occupied(workspace_id: str) -> AlreadyExists:
    return AlreadyExists(
        f"workspace {workspace_id!r} exists and is not empty; nothing was changed.",
        hint="Restore into another workspace, or move this one to the trash with --replace.",
    )


def workspace_made_again(workspace_id: str) -> AlreadyExists:
    return AlreadyExists(
        f"workspace {workspace_id!r} was created again meanwhile; the old one was left in the trash.",
        hint="Delete the new one first.",
    )


def workspace_changed(workspace_id: str) -> Conflict:
    return Conflict(f"workspace {workspace_id!r} was created or deleted meanwhile.", hint="Try again.")


def unknown_receipt(receipt_id: str) -> NotFound:
    return NotFound(f"receipt {receipt_id!r:.60} does not exist; it may have been undone or purged.")


def unknown_window(project_id: str, known: Iterable[str]) -> NotFound:
    listed = _listed(known)
    return NotFound(
        f"context window {project_id!r} does not exist; known: {listed}.", hint="Adding a segment to it makes it."
    )


def unknown_relation(subject: str, relation: str, target: str) -> NotFound:
    return NotFound(f"there is no current relation {relation!r:.60} from {subject!r:.60} to {target!r:.60}.")


def unknown_source(memory_id: str) -> NotFound:
    return NotFound(f"memory {memory_id!r:.60}, the source of a fact, does not exist in this workspace.")


def file_removed_meanwhile(what: str) -> Conflict:
    return Conflict(f"{what} was removed from the index while it was refreshed.", hint="Run the index again.")


def tombstoned_text() -> Conflict:
    return Conflict(
        "this text was deleted permanently and must not be learned again.",
        hint="`memsweep tombstone list` lists such texts; removing its tombstone allows it again.",
    )


def forgotten_text(at: datetime, memory_id: str) -> str:
    """Return the reason why something cannot come back."""
    said = f"its text was deleted for good at {at:%Y-%m-%d %H:%M} UTC"
    return f"{said}; `memsweep tombstone remove {memory_id}` allows it again"


def other_model(known: EmbeddingModel, model: EmbeddingModel) -> ModelMismatch:
    return ModelMismatch(
        f"this workspace was embedded by {known.name} ({known.dimension} dimensions),"
        f" not by {model.name} ({model.dimension}).",
        hint="Embed it again with: memsweep workspace reembed",
    )


def other_query_model(known: EmbeddingModel) -> ModelMismatch:
    """A query was embedded before the workspace was read: that may have changed its model in between."""
    return ModelMismatch(
        f"this workspace was embedded by {known.name} ({known.dimension} dimensions), not by the query's model.",
        hint="Ask again.",
    )


def _listed(names: Iterable[str]) -> str:
    """Names to choose from. One that is no text is damaged, and may be the one that was not found."""
    found = tuple(names)
    expect(str, *found)
    return ", ".join(map(repr, found)) or "none yet"


def too_slow(seconds: float) -> StoreBusy:
    """Return the error about work that took too long; nothing of it is kept."""
    return StoreBusy(
        f"the collection took longer than {seconds:g} s and was stopped; nothing was changed.",
        hint="Collect less at once, or raise gc.apply_seconds in the settings.",
    )
