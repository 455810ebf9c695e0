"""Update: what an update hands in, checked, and a new text made ready to be written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from memsweep.embed.protocol import Embedder, Tokeniser
from memsweep.errors import BadInput
from memsweep.memory.draft import checked_metadata, checked_tags, checked_text
from memsweep.memory.names import find_names
from memsweep.memory.remember import ChunkSize, NewId, chunks_of
from memsweep.model.gate import Gate
from memsweep.model.memory import MemoryDraft, NamedThing, NewMemory, NewMention
from memsweep.model.origin import UNKNOWN, Origin
from memsweep.model.revision import Piece
from memsweep.model.text import content_hash, name_key


class MemoryUpdate(NamedTuple):
    """What an update changes; None leaves what is there."""

    text: str | None
    tags: tuple[str, ...] | None
    metadata: Mapping[str, Any] | None


def checked(text: object, tags: object, metadata: object, gate: Gate) -> MemoryUpdate:
    """Refuse what cannot be stored; an update that names nothing is a mistake."""
    if text is None and tags is None and metadata is None:
        raise BadInput("nothing to update.", hint="Give a text, tags or metadata.")
    handed = MemoryUpdate(
        None if text is None else checked_text(text),
        None if tags is None else checked_tags(tags),
        None if metadata is None else checked_metadata(metadata),
    )
    return MemoryUpdate(
        gate.optional(handed.text, "text"),
        None if handed.tags is None else tuple(dict.fromkeys(gate.texts(handed.tags, "a tag"))),
        None if handed.metadata is None else gate.json(handed.metadata, "metadata"),
    )


def pieces_and_names(
    embedder: Embedder,
    tokeniser: Tokeniser,
    text: str,
    known: Sequence[NamedThing],
    *,
    now: datetime,
    new_id: NewId,
    chunk_size: ChunkSize,
    origin: Origin = UNKNOWN,
) -> tuple[tuple[Piece, ...], NewMemory]:
    """A text cut and embedded, and the names in it: of entities that it spoke of before, and found by rule."""
    chunks = chunks_of(embedder, tokeniser, text, new_id, chunk_size)
    pieces = tuple(
        Piece(chunk.id, chunk.text, chunk.start, chunk.first_line, chunk.last_line, chunk.vector) for chunk in chunks
    )
    texts = [chunk.text for chunk in chunks]
    named = NewMemory(
        id="",
        draft=MemoryDraft(text),
        content_hash=content_hash(text),
        chunks=chunks,
        mentions=(*_still_named(known, texts, new_id), *_found(texts, new_id)),
        facts=(),
        now=now,
        origin=origin,
    )
    return pieces, named


def _still_named(known: Sequence[NamedThing], texts: Sequence[str], new_id: NewId) -> list[NewMention]:
    """Without evidence, a name that is no entity stays none."""
    folded = [name_key(text) for text in texts]
    places = [(thing, tuple(n for n, text in enumerate(folded) if name_key(thing.name) in text)) for thing in known]
    return [NewMention(new_id("ent"), thing, at, False) for thing, at in places if at]


def _found(texts: Sequence[str], new_id: NewId) -> list[NewMention]:
    found = find_names(texts)
    return [NewMention(new_id("ent"), NamedThing(name.name), name.texts, False, name.evidence) for name in found]
