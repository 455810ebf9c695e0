"""A workspace has the vectors of one model. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memsweep.errors import ModelMismatch

if TYPE_CHECKING:
    from memsweep.model.workspace import EmbeddingModel


def check_model(stored: EmbeddingModel | None, current: EmbeddingModel) -> None:
    """Refuse to mix the vectors of two models."""
    if stored is not None and stored != current:
        raise ModelMismatch(
            f"this workspace was embedded by {stored.name} ({stored.dimension} dimensions); the settings name"
            f" {current.name} ({current.dimension}).",
            hint="Recompute its embeddings with `memsweep workspace reembed`, or set the old model again.",
        )
