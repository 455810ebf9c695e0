"""Remember: draft → chunks → vectors and names → one transaction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from memsweep.embed.protocol import Embedder, Tokeniser, quantise
from memsweep.memory.chunking import DEFAULT_OVERLAP, DEFAULT_SIZE, cut, line_spans
from memsweep.memory.names import find_names
from memsweep.memory.same_model import check_model
from memsweep.model.decay import DEFAULT_EDGE_RATE
from memsweep.model.memory import (
    MemoryDraft,
    NamedThing,
    NewChunk,
    NewFact,
    NewMemory,
    NewMention,
    NewPiece,
    Remembered,
)
from memsweep.model.origin import UNKNOWN, Origin
from memsweep.model.text import content_hash, name_key

if TYPE_CHECKING:
    from memsweep.store.protocol import Store
import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

from memsweep.errors import MemsweepError
from memsweep.memory.agreement import Said, judged, may_be_judged, said
from memsweep.model.memory import Similar
from memsweep.model.search import Filters, HeldBack
from memsweep.model.text import excerpt
from memsweep.model.times import to_micros

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from memsweep.store.protocol import Store

NewId = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class ChunkSize:
    """In tokens."""

    size: int = DEFAULT_SIZE
    overlap: int = DEFAULT_OVERLAP


def remember(
    store: Store,
    embedder: Embedder,
    tokeniser: Tokeniser,
    draft: MemoryDraft,
    *,
    now: datetime,
    new_id: NewId,
    chunk_size: ChunkSize = ChunkSize(),
    edge_rate: float = DEFAULT_EDGE_RATE,
    actor: str = "",
    origin: Origin = UNKNOWN,
    find_similar: bool = False,
) -> Remembered:
    """Store a memory, or touch the one that says the same. Nothing is written before everything is ready.

    `find_similar`: also say what it seems to repeat or to contradict, if it is short enough for one chunk.
    """
    identity, draft = content_hash(draft.text), _with_types(draft)
    beside = draft.entities or draft.facts or draft.supersedes
    if not beside and (existing := store.touch_existing(draft, identity, now, origin)):
        return Remembered(existing, 0, 0, duplicate_of=existing)
    check_model(store.model(), embedder.model)
    chunks = chunks_of(embedder, tokeniser, draft.text, new_id, chunk_size)
    memory_id = new_id("mem")

    def add() -> Remembered:
        new = NewMemory(
            id=memory_id,
            draft=draft,
            content_hash=identity,
            chunks=chunks,
            mentions=_mentions(draft, [chunk.text for chunk in chunks], new_id),
            facts=tuple(NewFact(new_id("rel"), fact) for fact in draft.facts),
            now=now,
            edge_rate=edge_rate,
            actor=actor,
            origin=origin,
        )
        return store.add(new, embedder.model)

    if not find_similar or len(chunks) > 1:
        return add()
    with looking_for_similar(store, chunks[0], memory_id, draft.supersedes, now) as similar:
        done = add()
    return done if done.duplicate_of else replace(done, similar=similar())


def pieces(tokeniser: Tokeniser, text: str, new_id: NewId, chunk_size: ChunkSize) -> list[NewPiece]:
    """A text as it is cut when it is remembered."""
    spans = cut(text, tokeniser.token_ends, chunk_size.size, chunk_size.overlap)
    return [
        NewPiece(new_id("chk"), text[span.start : span.end], span.start, first, last)
        for span, (first, last) in zip(spans, line_spans(text, spans), strict=True)
    ]


def chunks_of(
    embedder: Embedder, tokeniser: Tokeniser, text: str, new_id: NewId, chunk_size: ChunkSize
) -> tuple[NewChunk, ...]:
    """The same pieces with their vectors."""
    made = pieces(tokeniser, text, new_id, chunk_size)
    vectors = quantise(embedder.embed([piece.text for piece in made]))
    return tuple(
        NewChunk(piece.id, piece.text, piece.start, piece.first_line, piece.last_line, vector)
        for piece, vector in zip(made, vectors, strict=True)
    )


def _with_types(draft: MemoryDraft) -> MemoryDraft:
    """What is named without a type is what is named with one beside it."""
    ends = [end for fact in draft.facts for end in (fact.subject, fact.object)]
    types: dict[str, str] = {}
    for thing in (*(draft.entities or ()), *ends):
        if thing.type:
            types.setdefault(name_key(thing.name), thing.type)

    def typed(thing: NamedThing) -> NamedThing:
        return thing if thing.type else NamedThing(thing.name, types.get(name_key(thing.name), ""))

    facts = (replace(fact, subject=typed(fact.subject), object=typed(fact.object)) for fact in draft.facts)
    named = None if draft.entities is None else tuple(map(typed, draft.entities))
    return replace(draft, entities=named, facts=tuple(facts)) if types else draft


def _mentions(draft: MemoryDraft, texts: Sequence[str], new_id: NewId) -> tuple[NewMention, ...]:
    """What the caller named, where the text speaks of it; by rule only where the caller named nothing."""
    named = dict.fromkeys(draft.entities or ())
    ends = dict.fromkeys(thing for fact in draft.facts for thing in (fact.subject, fact.object) if thing not in named)
    folded = [name_key(text) for text in texts] if named or ends else []
    mentions = [NewMention(new_id("ent"), thing, _where(thing, folded) or (0,), True) for thing in named]
    mentions += [NewMention(new_id("ent"), thing, _where(thing, folded) or (0,), True) for thing in ends]
    mentions.sort(key=lambda mention: not mention.thing.type)  # what has no type may be one of those that have
    if draft.entities is None:
        found = find_names(texts)
        mentions += [NewMention(new_id("ent"), NamedThing(n.name), n.texts, False, n.evidence) for n in found]
    return tuple(mentions)


def _where(thing: NamedThing, folded: Sequence[str]) -> tuple[int, ...]:
    key = name_key(thing.name)
    return tuple(index for index, text in enumerate(folded) if key in text)


_NEAR = 0.25  # short statements that differ in a name may have no more in common by meaning
_DEPTH = 6
_SHOWN_CHARACTERS = 120


Finding = Callable[[], tuple[Similar, ...]]


@contextmanager
def looking_for_similar(
    store: Store, chunk: NewChunk, own: str, besides: Collection[str], now: datetime
) -> Iterator[Finding]:
    """Look while the caller writes the memory `own`: most of a write is waiting for the disk.

    What was written stands, so a look that fails then is a look that finds nothing.
    """
    if not may_be_judged(chunk.text):
        yield tuple
        return
    try:
        look = _threads(os.getpid()).submit(similar_to, store, chunk, own, besides, now)
    except RuntimeError:  # the interpreter is ending, and starts no more threads
        known = similar_to(store, chunk, own, besides, now)
        yield lambda: known
        return

    def found() -> tuple[Similar, ...]:
        return () if isinstance(look.exception(), MemsweepError) else look.result()

    try:
        yield found
    finally:
        look.exception()  # wait: nobody may close the store before


def similar_to(store: Store, chunk: NewChunk, own: str, besides: Collection[str], now: datetime) -> tuple[Similar, ...]:
    """Memories that a text seems to repeat or to contradict, the nearest first; never code, nor those in `besides`,
    nor what has expired.

    The memory `own`, which the text becomes, may be there already.
    """
    depth = _DEPTH + 1 + len(besides)  # whether or not these can be found, the same others are
    filters = Filters(held_back=HeldBack(expired_by=to_micros(now)))
    near = [each for each in store.candidates("", chunk.vector, filters, depth) if each.similarity >= _NEAR]
    near.sort(key=lambda each: -each.similarity)
    passages, new = store.passages([each.key for each in near]), Said(chunk.text)
    read = [passages[each.key] for each in near if each.key in passages]
    others = [passage for passage in read if passage.memory_id != own and passage.memory_id not in besides]
    found: dict[str, Similar] = {}
    for note in others[:_DEPTH]:
        if note.code is not None or (old := said(note.text)) is None or (judgement := judged(new, old)) is None:
            continue
        shown = Similar(note.memory_id, excerpt(note.text, _SHOWN_CHARACTERS), judgement.kind, judgement.differs)
        found.setdefault(note.memory_id, shown)
    return tuple(found.values())


@cache
def _threads(process: int) -> ThreadPoolExecutor:
    """A forked child has none of its parent's."""
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(8, "similar")
