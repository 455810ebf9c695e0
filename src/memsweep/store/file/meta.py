"""The description that a workspace file has of itself."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING

import apsw

from memsweep.model.stored import to_json
from memsweep.model.times import to_micros
from memsweep.model.workspace import EmbeddingModel
from memsweep.store.audit_rows import counts_of
from memsweep.store.file import schema
from memsweep.store.file.connect import one

if TYPE_CHECKING:
    from memsweep.model.audit_event import AuditEvent

_MODEL = "model"


def read_model(db: apsw.Connection) -> EmbeddingModel | None:
    stored = one(db, schema.GET_META, (_MODEL,))
    return None if stored is None else _model(stored)


@lru_cache
def _model(stored: str) -> EmbeddingModel:
    return EmbeddingModel(**json.loads(stored))


def write_model(db: apsw.Connection, model: EmbeddingModel) -> None:
    db.execute(schema.SET_META, (_MODEL, to_json({"name": model.name, "dimension": model.dimension})))


def add_event(db: apsw.Connection, event: AuditEvent) -> None:
    said = (to_micros(event.at), event.actor, event.action, event.subject)
    for counts in counts_of(event):
        db.execute(schema.ADD_AUDIT, (*said, counts, event.reason))
