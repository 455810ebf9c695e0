"""Answers about another embedding model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memsweep.report.typed import TypedDict

if TYPE_CHECKING:
    from memsweep.model.workspace import EmbeddingModel


class ReembeddedAnswer(TypedDict):
    workspace_id: str
    chunks: int
    model: str | None


def reembedded(workspace_id: str, chunks: int, model: EmbeddingModel | None) -> ReembeddedAnswer:
    return {"workspace_id": workspace_id, "chunks": chunks, "model": model.name if model else None}
