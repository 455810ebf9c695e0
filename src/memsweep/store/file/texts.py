"""Texts that are not what their hash says: put right where the memory and its pieces prove it together.

A memory and its chunks hold the same text twice, each with a hash. What the two agree on against the third is right.
"""

from __future__ import annotations

from typing import Any

import apsw

from memsweep.model.forms import assembled, hash_text, piece_with
from memsweep.store.file import values_sql
from memsweep.store.file.connect import one


def mend_texts(db: apsw.Connection) -> None:
    memories: list[Any] = db.execute(values_sql.ALL_TEXTS).fetchall()
    for key, text, digest in memories:
        if hash_text(text) != digest:
            _mend_memory(db, key, text, digest)
    chunks: list[Any] = db.execute(values_sql.ALL_PIECES).fetchall()
    for key, memory, start, text, digest in chunks:
        if hash_text(text) != digest:
            _mend_chunk(db, key, memory, start, text, digest)


def _mend_memory(db: apsw.Connection, key: int, text: str, digest: bytes) -> None:
    parts: list[Any] = db.execute(values_sql.PARTS, (key,)).fetchall()
    whole = assembled(parts)
    if whole is not None and hash_text(whole) == digest:
        db.execute(values_sql.set_values("memory", ["text"], "id = ?"), (whole, key))
    elif whole == text:
        db.execute(values_sql.set_values("memory", ["content_hash"], "id = ?"), (hash_text(text), key))


def _mend_chunk(db: apsw.Connection, key: int, memory: int, start: int, text: str, digest: bytes) -> None:
    whole = one(db, values_sql.TEXT_OF, (memory,))
    piece = piece_with(whole, start, digest)
    if piece is not None:
        db.execute(values_sql.set_values("chunk", ["text"], "id = ?"), (piece, key))
    elif whole[start : start + len(text)] == text:
        db.execute(values_sql.set_values("chunk", ["hash"], "id = ?"), (hash_text(text), key))
