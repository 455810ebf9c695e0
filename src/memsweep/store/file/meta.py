"""What a workspace file says of itself."""

from __future__ import annotations

import json
from functools import lru_cache

import apsw

from memsweep.model.audit import AuditEvent
from memsweep.model.memory import EmbeddingModel
from memsweep.model.times import to_micros
from memsweep.store.audit_rows import counts_of
from memsweep.store.file import meta_sql
from memsweep.store.file.connect import one
from memsweep.store.stored import to_json

_MODEL = "model"


def read_model(db: apsw.Connection) -> EmbeddingModel | None:
    stored = one(db, meta_sql.GET_META, (_MODEL,))
    return None if stored is None else _model(stored)


@lru_cache
def _model(stored: str) -> EmbeddingModel:
    return EmbeddingModel(**json.loads(stored))


def write_model(db: apsw.Connection, model: EmbeddingModel) -> None:
    db.execute(meta_sql.SET_META, (_MODEL, to_json({"name": model.name, "dimension": model.dimension})))


def add_event(db: apsw.Connection, event: AuditEvent) -> None:
    said = (to_micros(event.at), event.actor, event.action, event.subject)
    for counts in counts_of(event):
        db.execute(meta_sql.ADD_AUDIT, (*said, counts, event.reason))
