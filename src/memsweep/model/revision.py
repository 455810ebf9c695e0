"""Memories that change in place, and what they were before: one row for each change, held by its receipt."""

from __future__ import annotations

import base64
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from hashlib import blake2b
from typing import Annotated, Any, NamedTuple

from memsweep.model import columns as c
from memsweep.model import forms as f
from memsweep.model.frozen import frozen
from memsweep.model.graph_rows import Move
from memsweep.model.memory_row import MEMORY as MEMORY_ROW
from memsweep.model.text import content_hash
from memsweep.model.workspace import EmbeddingModel

MEMORY = "memory"
_VALUES = tuple(name for name, column in MEMORY_ROW.columns.items() if column.kept)


class Piece(NamedTuple):
    """A chunk with all that belongs to it. Without a place in its stream, it gets the next one of its thread."""

    id: str
    text: str
    start: int
    first_line: int
    last_line: int
    vector: bytes
    stream: int | None = None
    stream_position: int | None = None
    symbol: str = ""
    symbol_kind: str = ""
    words: str = ""
    entities: tuple[int, ...] = ()
    """Those it mentions, by their keys."""
    handed_in: tuple[tuple[int, int], ...] = ()
    """Those of them that somebody else has handed in, each with the origin of that."""
    key: int = 0
    """Of the chunk, where there is one."""
    noted: tuple[Move, ...] = ()
    """What merges, splits and retractions wrote down of its mentions; with the new entity of a split."""

    def mentioning(self, now: Mapping[int, int]) -> Piece:
        """The same where other entities stand for some, by their keys; what has none is no longer mentioned."""
        others = ((now[entity], origin) for entity, origin in self.handed_in if entity in now)
        own = {now[entity] for entity in self.entities if entity in now}
        return self._replace(entities=tuple(sorted(own)), handed_in=tuple(sorted(others)))

    @property
    def mentions(self) -> list[tuple[int, int | None]]:
        """The entities, each with whose mention it is, if not the memory's own."""
        others = dict(self.handed_in)
        return [(entity, others.get(entity)) for entity in self.entities]


def mentioned_by(
    rows: Iterable[tuple[int, int | None]],
) -> tuple[tuple[int, ...], tuple[tuple[int, int], ...]]:
    """Return the mentions of a chunk, as a piece has them: each entity, and whose mention it is."""
    found = sorted((entity, origin) for entity, origin in rows)
    return tuple(entity for entity, _ in found), tuple((key, origin) for key, origin in found if origin is not None)


class MemoryText(NamedTuple):
    """The parts of a memory that can change: in the trash, too, which has the number of its receipt."""

    key: int
    id: str
    text: str
    tags: tuple[str, ...]
    source: str
    metadata: Mapping[str, Any]
    updated_at: int
    version: int
    thread: int | None
    trash: int | None
    origin: int | None = None
    """Whose its text is, by key."""
    expires_at: int | None = None
    created_at: int = 0

    @property
    def content_hash(self) -> bytes:
        return content_hash(self.text)


class Revision(NamedTuple):
    """An item before it changed in place, held by the receipt of the change; `key` grows with time."""

    receipt: Annotated[int, c.LINK]
    kind: Annotated[str, c.WORD]
    item: Annotated[int, c.LINK]
    at: Annotated[int, c.MOMENT]
    before: Annotated[Mapping[str, Any], c.OBJECT.but(remedy=f.drop, default=None, in_words=True)]
    """Its values as JSON can have them."""
    key: Annotated[int, c.KEY] = 0


@frozen
class EarlierText:
    """A memory as it was until a moment, and the receipt that brings it back."""

    until: datetime
    receipt_id: str
    text: str
    tags: tuple[str, ...]
    metadata: Mapping[str, Any]


@frozen
class Updated:
    """The result of an update of a memory; without a receipt there was nothing to do."""

    memory_id: str
    version: int
    receipt_id: str | None
    chunks: int = 0
    withdrawn: tuple[str, ...] = ()
    """Facts that its text no longer states, and nothing else does."""
    redacted: tuple[str, ...] = ()
    """The kinds of secrets that were not stored."""
    warnings: tuple[str, ...] = ()


def before_of(
    memory: MemoryText,
    after: MemoryText,
    pieces: Sequence[Piece] | None,
    model: EmbeddingModel | None,
    states: Collection[int] = (),
) -> dict[str, Any]:
    """A memory as a revision keeps it: with its chunks, if they change, and with what it no longer states then."""
    changed = [name for name in _VALUES if getattr(memory, name) != getattr(after, name)]
    return {
        "id": memory.id,
        **{name: getattr(memory, name) for name in _VALUES},
        "updated_at": memory.updated_at,
        "origin": memory.origin,
        "changed": changed,
        "after": _digest(after, changed),
        "model": None if model is None else [model.name, model.dimension],
        "states": sorted(states),
        "pieces": None if pieces is None else [_kept(piece) for piece in pieces],
    }


def as_redaction(before: Mapping[str, Any]) -> dict[str, Any]:
    """A revision that holds secrets, until it is undone or purged."""
    return {**before, "redacted": True}


def is_redaction(before: Mapping[str, Any] | None) -> bool:
    return before is not None and bool(before.get("redacted"))


def as_retraction(before: Mapping[str, Any]) -> dict[str, Any]:
    """A revision of what somebody wrote who is taken back: it comes back with them, whatever others have done since."""
    return {**before, "retracted": True}


def is_retraction(before: Mapping[str, Any]) -> bool:
    return bool(before.get("retracted"))


def left_as(after: MemoryText, before: Mapping[str, Any]) -> dict[str, Any]:
    """A revision whose change has led to this form of the memory."""
    return {**before, "after": _digest(after, before["changed"])}


def is_as_left(now: MemoryText, before: Mapping[str, Any]) -> bool:
    """Return whether a memory still is as a change left it."""
    return bool(_digest(now, before["changed"]) == before["after"])


def text_before(now: MemoryText, before: Mapping[str, Any]) -> MemoryText:
    """A memory with the values that a change took from it, one version later."""
    values = {name: before[name] for name in before["changed"]}
    changed: dict[str, Any] = {name: tuple(each) if isinstance(each, list) else each for name, each in values.items()}
    if "text" in changed and not is_redaction(before):  # which leaves a text whose it is
        changed["origin"] = before.get("origin", now.origin)
    return now._replace(**changed, updated_at=before["updated_at"], version=now.version + 1)


def _digest(memory: MemoryText, names: Sequence[str]) -> str:
    said = json.dumps([getattr(memory, name) for name in names], sort_keys=True)
    return blake2b(said.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def pieces_before(before: Mapping[str, Any]) -> list[Piece] | None:
    """None if its chunks did not change."""
    return None if before["pieces"] is None else [_piece(kept) for kept in before["pieces"]]


def model_before(before: Mapping[str, Any]) -> EmbeddingModel | None:
    """The model of the vectors that a revision keeps."""
    return None if before["model"] is None else EmbeddingModel(*before["model"])


def _kept(piece: Piece) -> dict[str, Any]:
    return {**piece._asdict(), "vector": base64.b64encode(piece.vector).decode(), "entities": list(piece.entities)}


def _piece(kept: Mapping[str, Any]) -> Piece:
    others = tuple((entity, origin) for entity, origin in kept.get("handed_in", ()))
    noted = tuple(Move(*each) for each in kept.get("noted", ()))
    known = {**kept, "entities": tuple(kept["entities"]), "handed_in": others, "noted": noted}
    return Piece(**{**known, "vector": base64.b64decode(kept["vector"])})
