"""The description that a workspace file has of itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import apsw

from memsweep.model.text import to_json
from memsweep.model.workspace import EmbeddingModel, model_from, model_text
from memsweep.store.file import schema
from memsweep.store.file.connect import one

if TYPE_CHECKING:
    from memsweep.model.audit import AuditEvent

_MODEL = "model"


def read_model(db: apsw.Connection) -> EmbeddingModel | None:
    return model_from(one(db, schema.GET_META, (_MODEL,)))


def write_model(db: apsw.Connection, model: EmbeddingModel) -> None:
    db.execute(schema.SET_META, (_MODEL, model_text(model)))


def add_event(db: apsw.Connection, event: AuditEvent) -> None:
    from memsweep.store.audit_rows import rows_of  # late: few of the commands that read a file write an event

    for row in rows_of(event):
        said = (row.at, row.actor, row.action, row.subject, to_json(row.counts), row.reason)
        db.execute(schema.ADD_AUDIT, said)
