"""Remember: draft → chunks → vectors and names → one transaction."""

from __future__ import annotations

import json
import os
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from memsweep.embed.protocol import Embedder, Tokeniser, check_model, quantise
from memsweep.errors import BadInput, MemsweepError
from memsweep.memory.agreement import Said, judged, may_be_judged, said
from memsweep.memory.names import find_names
from memsweep.model.checks import MOST_BYTES, few, label, only, share
from memsweep.model.decay import DEFAULT_EDGE_RATE
from memsweep.model.gate import Gate
from memsweep.model.memory import (
    CODE_SOURCE,
    Fact,
    MemoryDraft,
    NamedThing,
    NewFact,
    NewMemory,
    NewMention,
    Remembered,
    Remembering,
    Similar,
    arguments_of,
)
from memsweep.model.origin import UNKNOWN, Origin
from memsweep.model.revision import Piece
from memsweep.model.search import Filters, HeldBack
from memsweep.model.superseding import MOST_SUPERSEDED
from memsweep.model.text import check_text, content_hash, excerpt, name_key, refuse_lone_surrogate
from memsweep.model.times import parse_time, to_micros
from memsweep.store import adding

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from memsweep.store.protocol import Store

MAX_TAGS = 64
MAX_METADATA_BYTES = MOST_BYTES["metadata"]
MAX_METADATA_DEPTH = 64

_NUL_IN_JSON = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")


def make_draft(text: object, **said: Any) -> MemoryDraft:
    """Check what is said of a text; None says nothing, but of a flag."""
    known, checked = arguments_of(Remembering), dict[str, Any]()
    for name, value in said.items():
        if name not in known or not (check := known[name].check or _CHECKS.get(name)):
            raise TypeError(f"remember() got an unexpected keyword argument {name!r}")
        if value is not None or known[name].default is False:
            checked[name] = check(value, name)
    return MemoryDraft(text=checked_text(text), facts=checked.pop("relations", ()), **checked)


def through_gate(draft: MemoryDraft, gate: Gate) -> MemoryDraft:
    """The draft as it may be stored."""
    return replace(
        draft,
        text=gate.text(draft.text),
        tags=tuple(dict.fromkeys(gate.texts(draft.tags, "a tag"))),
        source=gate.text(draft.source, "source"),
        metadata=gate.json(draft.metadata, "metadata"),
        thread_id=gate.optional(draft.thread_id, "thread_id"),
        entities=None if draft.entities is None else tuple(gate.thing(thing) for thing in draft.entities),
        facts=tuple(
            replace(
                fact,
                subject=gate.thing(fact.subject),
                relation=gate.text(fact.relation, "a relation"),
                object=gate.thing(fact.object),
            )
            for fact in draft.facts
        ),
    )


def checked_text(value: object) -> str:
    return check_text(value, "text")


def _items(value: object, what: str) -> list[Any]:
    if value is None:
        return []
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise BadInput(f"{what} must be a list, not {type(value).__name__}.")
    return few(list(value), what)


def checked_tags(value: object) -> tuple[str, ...]:
    return tuple(few(list(dict.fromkeys(label(tag, "a tag") for tag in _items(value, "tags"))), "tags", MAX_TAGS))


def _ids(value: object, what: str) -> tuple[str, ...]:
    items = _items(value, what)
    if len(items) > MOST_SUPERSEDED:
        raise BadInput(f"{what} has {len(items)} ids; at most {MOST_SUPERSEDED} are accepted.")
    for each in items:
        if not isinstance(each, str):
            raise BadInput(f"{what} must be a list of memory ids, and {each!r:.80} is none.")
    return tuple(dict.fromkeys(items))


def _source(value: object) -> str:
    source = "" if value in (None, "") else label(value, "source")
    if source == CODE_SOURCE:
        raise BadInput(f"source {CODE_SOURCE!r} is kept for indexed code.", hint="Choose another source.")
    return source


def checked_metadata(value: object) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise BadInput(f"metadata must be an object, not {type(value).__name__}.")
    try:
        encoded = json.dumps(dict(value), allow_nan=False, ensure_ascii=False).encode()
        loaded: dict[str, Any] = json.loads(encoded)
    except UnicodeEncodeError:
        refuse_lone_surrogate(value, "metadata")
        raise
    except (TypeError, ValueError, RecursionError) as error:
        raise BadInput(f"metadata cannot be written as JSON ({error}).") from None
    if _NUL_IN_JSON.search(encoded):
        raise BadInput("metadata contains a NUL character.", hint="Remove it.")
    if len(encoded) > MAX_METADATA_BYTES:
        raise BadInput(f"metadata has {len(encoded):,} bytes; at most {MAX_METADATA_BYTES:,} are accepted.")
    if _is_deeper(loaded, MAX_METADATA_DEPTH):
        raise BadInput(f"metadata is nested more than {MAX_METADATA_DEPTH} levels deep.")
    return loaded


def _is_deeper(value: Any, levels: int) -> bool:
    here = [value]
    for _ in range(levels):
        here = [inner for item in here if isinstance(item, dict | list) for inner in _inside(item)]
    return any(isinstance(item, dict | list) for item in here)


def _inside(item: dict[str, Any] | list[Any]) -> Iterable[Any]:
    return item.values() if isinstance(item, dict) else item


def _thing(value: object, what: str = "an entity") -> NamedThing:
    if isinstance(value, NamedThing):
        value = {"name": value.name, "type": value.type}
    if isinstance(value, str):
        return NamedThing(label(value, f"{what}'s name"), "")
    if not isinstance(value, Mapping) or "name" not in value:
        raise BadInput(f"{what} must be a name or {{name, type}}, not {value!r:.80}.")
    only(value, ("name", "type"), what)
    kind = label(value["type"], f"{what}'s type") if value.get("type") else ""
    return NamedThing(label(value["name"], f"{what}'s name"), kind)


def _fact(value: object) -> Fact:
    if isinstance(value, Fact):
        return value
    if not isinstance(value, Mapping) or not {"from", "to", "relation"} <= value.keys():
        raise BadInput(f"a relation must be {{from, relation, to}}, not {value!r:.80}.")
    only(value, ("from", "from_type", "relation", "to", "to_type", "weight"), "a relation")
    weight = share(value["weight"], "a relation's weight") if "weight" in value else None
    ends = ({"name": value[end], "type": value.get(f"{end}_type")} for end in ("from", "to"))
    subject, target = (_thing(end, "a relation's end") for end in ends)
    return Fact(subject, label(value["relation"], "a relation's name"), target, weight)


TokenEnds = Callable[[str], Sequence[int]]

DEFAULT_SIZE = 512
DEFAULT_OVERLAP = 50

_FENCE = re.compile(r"[ \t]*(```+|~~~+)")
_LINES = re.compile(r"[^\n]*\n+|[^\n]+")
_WORDS = re.compile(r"\s*\S+\s*|\s+")
# Nothing is tried twice (the `+` behind a quantifier, the look behind): a megabyte of dots is cut as fast as prose.
_SENTENCE_ENDS = re.compile(r"(?<![.!?。！？])(?:[.!?]++[\"')\]]*+\s++|[。！？]++[\"')\]」』]*+\s*+)")
_SENTENCE_BEGINS = re.compile(rf"\n+|{_SENTENCE_ENDS.pattern}")
_WORD_BEGINS = re.compile(r"\s+")
_BREAK = re.compile("\n")


def _paragraphs(text: str) -> list[str]:
    """Paragraphs with the blank lines behind them; a fenced code block is one, whatever is in it."""
    starts: list[int] = []
    at = 0
    fence: str | None = None
    open_part = False
    for line in text.splitlines(keepends=True):
        mark = _FENCE.match(line)
        begins = mark is not None and fence is None
        if begins or not open_part:
            starts.append(at)
            open_part = True
        at += len(line)
        if begins and mark:
            fence = mark.group(1)
        elif fence is not None and line.strip() == fence:
            fence = None
        elif fence is None and not line.strip():
            open_part = False
    return _parts(text, starts)


def _sentences(text: str) -> list[str]:
    return _parts(text, [0, *(found.end() for found in _SENTENCE_ENDS.finditer(text))])


def _parts(text: str, starts: Sequence[int]) -> list[str]:
    return [text[start:end] for start, end in pairwise([*starts, len(text)]) if start < end]


# From coarse to fine. Every splitter gives back parts that, joined, are the text.
_SPLITTERS: tuple[Callable[[str], list[str]], ...] = (
    _paragraphs,
    _LINES.findall,
    _sentences,
    _WORDS.findall,
)


@dataclass(frozen=True, slots=True)
class TextSpan:
    """`text[start:end]`; what stands before the end of the piece before is repeated."""

    start: int
    end: int


def cut(text: str, token_ends: TokenEnds, size: int = DEFAULT_SIZE, overlap: int = DEFAULT_OVERLAP) -> list[TextSpan]:
    """Pieces that are the text if what they repeat is left out. `token_ends(text)` gives where each token ends."""
    # A token is at least one byte, save one for the beginning, so short text needs no counting.
    if len(text) < size and len(text.encode()) < size:
        return [TextSpan(0, len(text))]
    ends = token_ends(text)
    if len(ends) <= size:
        return [TextSpan(0, len(text))]
    room = max(1, size - overlap)
    bounds = [0]
    filled, limit = 0, size
    for start, tokens in _atoms(text, 0, ends, room, 0):
        if filled and filled + tokens > limit:
            bounds.append(start)
            filled, limit = 0, room
        filled += tokens
    bounds.append(len(text))
    return [TextSpan(_repeat_from(text, begin, ends, overlap) if begin else 0, end) for begin, end in pairwise(bounds)]


def line_spans(text: str, pieces: Sequence[TextSpan]) -> list[tuple[int, int]]:
    """First and last line (from 1) of each piece."""
    breaks = [found.start() for found in _BREAK.finditer(text)]
    return [
        (bisect_left(breaks, piece.start) + 1, bisect_left(breaks, max(piece.start, piece.end - 1)) + 1)
        for piece in pieces
    ]


def _atoms(text: str, start: int, ends: Sequence[int], limit: int, level: int) -> Iterator[tuple[int, int]]:
    """Yield the parts that are not cut, the coarsest within the limit: each one's start and number of tokens."""
    if level == len(_SPLITTERS):
        yield from _runs_of_tokens(start, start + len(text), ends, limit)
        return
    first = bisect_right(ends, start)
    for part in _SPLITTERS[level](text):
        end = start + len(part)
        last = bisect_right(ends, end, first)
        if last - first <= limit:
            yield start, last - first
        else:
            yield from _atoms(part, start, ends, limit, level + 1)
        start, first = end, last


def _runs_of_tokens(start: int, stop: int, ends: Sequence[int], limit: int) -> Iterator[tuple[int, int]]:
    """A word that is too long, cut between letters; one letter may be more tokens than the limit."""
    while start < stop:
        first, last = bisect_right(ends, start), bisect_right(ends, stop)
        if last - first <= limit:
            end = stop
        else:
            too_far = bisect_left(ends, ends[first + limit])
            end = ends[max(first, too_far - 1)]
        yield start, bisect_right(ends, end) - first
        start = end


def _repeat_from(text: str, fresh: int, ends: Sequence[int], overlap: int) -> int:
    """Return the start of the repeated tail of `text[:fresh]`: of a sentence or line in reach, else of a word."""
    last = bisect_right(ends, fresh)
    earliest = ends[last - overlap - 1] if last > overlap else 0
    for begins in (_SENTENCE_BEGINS, _WORD_BEGINS):
        if found := begins.search(text, earliest, fresh):
            return found.end() if found.end() < fresh else fresh
    return fresh if overlap <= 0 else earliest


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
    draft = _with_types(draft)
    beside = draft.entities or draft.facts or draft.supersedes
    if not beside and (existing := adding.touch(store, draft, now, origin)):
        return Remembered(existing, 0, 0, duplicate_of=existing)
    check_model(store.model(), embedder.model)
    chunks = chunks_of(embedder, tokeniser, draft.text, new_id, chunk_size)
    memory_id = new_id("mem")

    def add() -> Remembered:
        new = NewMemory(
            id=memory_id,
            draft=draft,
            content_hash=content_hash(draft.text),
            chunks=chunks,
            mentions=_mentions(draft, [chunk.text for chunk in chunks], new_id),
            facts=tuple(NewFact(new_id("rel"), fact) for fact in draft.facts),
            now=now,
            edge_rate=edge_rate,
            actor=actor,
            origin=origin,
        )
        return adding.add(store, new, embedder.model)

    if not find_similar or len(chunks) > 1:
        return add()
    with looking_for_similar(store, chunks[0], memory_id, draft.supersedes, now) as similar:
        done = add()
    return done if done.duplicate_of else replace(done, similar=similar())


def pieces(tokeniser: Tokeniser, text: str, new_id: NewId, chunk_size: ChunkSize) -> list[Piece]:
    """A text as it is cut when it is remembered."""
    spans = cut(text, tokeniser.token_ends, chunk_size.size, chunk_size.overlap)
    return [
        Piece(new_id("chk"), text[span.start : span.end], span.start, first, last, vector=b"")
        for span, (first, last) in zip(spans, line_spans(text, spans), strict=True)
    ]


def chunks_of(
    embedder: Embedder, tokeniser: Tokeniser, text: str, new_id: NewId, chunk_size: ChunkSize
) -> tuple[Piece, ...]:
    """The same pieces with their vectors."""
    made = pieces(tokeniser, text, new_id, chunk_size)
    vectors = quantise(embedder.embed([piece.text for piece in made]))
    return tuple(piece._replace(vector=vector) for piece, vector in zip(made, vectors, strict=True))


def _with_types(draft: MemoryDraft) -> MemoryDraft:
    """Return the draft with types filled in: a name without one takes that of the same name beside it."""
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
    """Return the entities that the caller named, where the text has them; found by rule only if none were named."""
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
    store: Store, chunk: Piece, own: str, besides: Collection[str], now: datetime
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


def similar_to(store: Store, chunk: Piece, own: str, besides: Collection[str], now: datetime) -> tuple[Similar, ...]:
    """Memories that a text seems to repeat or to contradict, the nearest first; never code, nor those in `besides`,
    nor what has expired.

    The memory `own`, which the text becomes, may be there already.
    """
    from memsweep.store import views  # late: most of what is remembered is only written

    depth = _DEPTH + 1 + len(besides)  # whether or not these can be found, the same others are
    filters = Filters(held_back=HeldBack(expired_by=to_micros(now)))
    near = [each for each in store.candidates("", chunk.vector, filters, depth) if each.similarity >= _NEAR]
    near.sort(key=lambda each: -each.similarity)
    passages, new = views.passages(store.rows, [each.key for each in near]), Said(chunk.text)
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


class MemoryUpdate(NamedTuple):
    """The changes of an update; None leaves what is there."""

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
) -> NewMemory:
    """A text cut and embedded, and the names in it: of entities that it spoke of before, and found by rule."""
    chunks = chunks_of(embedder, tokeniser, text, new_id, chunk_size)
    texts = [chunk.text for chunk in chunks]
    return NewMemory(
        id="",
        draft=MemoryDraft(text),
        content_hash=content_hash(text),
        chunks=chunks,
        mentions=(*_still_named(known, texts, new_id), *_found(texts, new_id)),
        facts=(),
        now=now,
        origin=origin,
    )


def _still_named(known: Sequence[NamedThing], texts: Sequence[str], new_id: NewId) -> list[NewMention]:
    """Without evidence, a name that is no entity stays none."""
    folded = [name_key(text) for text in texts]
    places = [(thing, tuple(n for n, text in enumerate(folded) if name_key(thing.name) in text)) for thing in known]
    return [NewMention(new_id("ent"), thing, at, False) for thing, at in places if at]


def _found(texts: Sequence[str], new_id: NewId) -> list[NewMention]:
    found = find_names(texts)
    return [NewMention(new_id("ent"), NamedThing(name.name), name.texts, False, name.evidence) for name in found]


_CHECKS: Mapping[str, Callable[[Any, str], Any]] = {
    "tags": lambda value, _: checked_tags(value),
    "source": lambda value, _: _source(value),
    "metadata": lambda value, _: checked_metadata(value),
    "thread_id": lambda value, what: None if value == "" else label(value, what),
    "entities": lambda value, what: tuple(_thing(each) for each in _items(value, what)),
    "relations": lambda value, what: tuple(_fact(each) for each in _items(value, what)),
    "expires_at": lambda value, what: None if value == "" else parse_time(value, what),
    "supersedes": lambda value, what: _ids(value, what),
}
"""How what callers say of a text is checked, where the declaration does not say it."""
