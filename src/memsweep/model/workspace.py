"""A workspace, and the model that its vectors are from."""

from __future__ import annotations

from datetime import datetime

from memsweep.model.frozen import frozen


@frozen
class Workspace:
    """A workspace as it is listed."""

    id: str
    description: str
    created_at: datetime
    receipt_id: str | None = None
    """Of its deletion."""
    deleted_at: datetime | None = None
    project: str = ""
    """The project that it was made for; `memsweep.project` says how it is written."""


@frozen
class EmbeddingModel:
    """The model that made a workspace's vectors. Vectors of two models are never mixed."""

    name: str
    dimension: int
