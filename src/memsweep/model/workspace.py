"""A workspace, and the model that its vectors are from."""

from __future__ import annotations

import json
from datetime import datetime
from functools import lru_cache

from memsweep.model.frozen import frozen
from memsweep.model.text import to_json


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


@lru_cache
def model_from(stored: str | None) -> EmbeddingModel | None:
    """Return the model that a workspace says its vectors are of; None before the first one."""
    return None if stored is None else EmbeddingModel(**json.loads(stored))


def model_text(model: EmbeddingModel) -> str:
    """Return a model as a workspace says it."""
    return to_json({"name": model.name, "dimension": model.dimension})
