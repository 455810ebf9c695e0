"""Memories that change in place: the acts that make them what they are, and what they were before a change.

A revision is one row for each change, held by its receipt.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from hashlib import blake2b
from typing import Annotated, Any, Literal, NamedTuple

from memsweep.model import columns as c
from memsweep.model import forms as f
from memsweep.model.columns import Again
from memsweep.model.frozen import frozen
from memsweep.model.graph_rows import Move
from memsweep.model.memory import MemoryDraft, StatedIn
from memsweep.model.memory_row import MEMORY as MEMORY_ROW
from memsweep.model.text import content_hash, name_key
from memsweep.model.times import to_micros
from memsweep.model.workspace import EmbeddingModel

MEMORY = "memory"
KEPT_VALUES = tuple(name for name, column in MEMORY_ROW.columns.items() if column.kept)
"""The values of a memory that a revision keeps."""


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

    receipt: Annotated[int, c.LINK.but(refers="receipt")]
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
    changed = [name for name in KEPT_VALUES if getattr(memory, name) != getattr(after, name)]
    return {
        "id": memory.id,
        **{name: getattr(memory, name) for name in KEPT_VALUES},
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


def values_of(memory: MemoryText) -> dict[str, Any]:
    """Return what a revision would keep of a memory, as it keeps it."""
    values = {name: getattr(memory, name) for name in KEPT_VALUES}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def with_values(memory: MemoryText, said: Mapping[str, Any]) -> MemoryText:
    """Return a memory with the values that a revision keeps, as they are kept."""
    kept = {name: said[name] for name in KEPT_VALUES if name in said}
    values: dict[str, Any] = {name: tuple(each) if isinstance(each, list) else each for name, each in kept.items()}
    return memory._replace(**values)


def whole_again(said: Mapping[str, Any], masked: Mapping[str, Any], whole: Mapping[str, Any]) -> dict[str, Any]:
    """Return values of a memory, of which those that a redaction left are what they were before it."""
    return {name: whole[name] if name in masked and value == masked[name] else value for name, value in said.items()}


def with_pieces_of(later: Mapping[str, Any], earlier: Mapping[str, Any]) -> dict[str, Any]:
    """Return a revision with the chunks that an earlier one keeps, which mention what its own mention."""
    there, were = pieces_before(later), pieces_before(earlier)
    if there is None or were is None:
        return dict(later)
    if len(there) == len(were):
        were = [
            was._replace(entities=now.entities, handed_in=now.handed_in, noted=now.noted)
            for was, now in zip(were, there, strict=True)
        ]
    return {**later, "pieces": [_kept(piece) for piece in were], "model": earlier["model"]}


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


# The acts of a memory, by which somebody said it, said it again or updated it: it is their sum. Pure.
#
# As long as one origin alone has had to do with a memory, its row says all. The second act writes the first one down as
# well. Taking some acts away and doing the others again gives the memory as it would be without them.


ActOnMemory = Literal["say", "update"]
ACTS_ON_MEMORIES: tuple[ActOnMemory, ...] = ("say", "update")

Place = tuple[int, int]
"""A chunk by its position in the memory, and an entity that it mentions."""


class MemoryAct(NamedTuple):
    """One act on a memory. `said` is JSON:

    | act    | said                                                                                           |
    | say    | text, tags, metadata, source, expires_at, mentions: all that was handed in with the text        |
    | update | of text, tags and metadata those that changed; and the source of the memory                    |

    `text` is the hash of it, in hex: the text is that of the memory, or of one of its revisions.
    """

    memory: Annotated[int, c.LINK.but(found_by="of", refers="memory")]
    act: Annotated[ActOnMemory, c.choice(*ACTS_ON_MEMORIES)]
    at: Annotated[int, c.MOMENT.but(remedy=f.drop)]
    origin: Annotated[int | None, c.MAYBE_LINK]
    said: Annotated[Mapping[str, Any], c.OBJECT.but(remedy=f.drop, default=None, in_words=True)]
    receipt: Annotated[int | None, c.MAYBE_LINK] = None
    """Of the update: undoing it takes the act back."""
    key: Annotated[int, c.KEY] = 0
    trash: Annotated[int | None, c.TRASH] = None
    """The receipt of what took it back."""

    @property
    def text(self) -> str | None:
        found: str | None = self.said.get("text")
        return found

    @property
    def source(self) -> str:
        return str(self.said.get("source", ""))

    @property
    def mentions(self) -> set[Place]:
        """Return the mentions that were passed beside the text, which does not name them."""
        return _places(self.said.get("mentions", ()))

    @property
    def named(self) -> set[Place]:
        """Return the mentions that its text names: they stay with the text."""
        return _places(self.said.get("named", ()))


def _places(said: Iterable[Sequence[int]]) -> set[Place]:
    return {(position, entity) for position, entity in said}


class Mentioned(NamedTuple):
    """The mentions of a memory: those that its text names, and those that were passed beside it."""

    named: frozenset[Place] = frozenset()
    beside: frozenset[Place] = frozenset()


class MemoryState(NamedTuple):
    """The parts of a memory that acts decide."""

    text: str
    by: tuple[int | None, ...]
    """The origins that say the text, the first one first."""
    values: Mapping[str, Any]
    """Those of columns that acts decide."""

    @property
    def origin(self) -> int | None:
        return self.by[0]


_DECIDED = {name: column for name, column in MEMORY_ROW.columns.items() if column.by_acts}


def as_json(value: Any) -> Any:
    """Return a value as an act or a revision has it."""
    match value:
        case tuple():
            return list(value)
        case Mapping():
            return dict(value)
        case datetime():
            return to_micros(value)
    return value


def _said(memory: MemoryText | MemoryDraft, text: str, mentioned: Mentioned) -> dict[str, Any]:
    """Return a statement of a memory as it is kept; without what is empty."""
    parts = {
        **{name: as_json(getattr(memory, name)) for name in _DECIDED},
        "mentions": [list(place) for place in sorted(mentioned.beside)],
        "named": [list(place) for place in sorted(mentioned.named)],
    }
    return {"text": text, **{name: value for name, value in parts.items() if value not in (None, "", [], {})}}


def said_again(known: Sequence[MemoryAct], first: MemoryAct, new: MemoryAct) -> list[MemoryAct]:
    """Return the acts to write down when a known text is said again: the new one, before it the `first` one.

    Nothing if whoever says it has said all of that before: nothing would be another without it, also once what is
    taken back is given back.
    """
    there = [act for act in known if act.trash is None] if known else [first]
    mine = [act for act in there if act.act == "say" and act.origin == new.origin and act.text == new.text]
    last = new._replace(key=1 + max(act.key for act in (first, *known)))
    given_back = [act._replace(trash=None) for act in known or [first]]
    if any(_covers(act, new) for act in mine) and all(
        state_of(acts) == state_of([*acts, last]) for acts in (there, given_back)
    ):
        return []
    return [new] if known else [first, new]


def _covers(known: MemoryAct, new: MemoryAct) -> bool:
    """Return whether somebody has said this much already."""
    return new.mentions <= known.mentions and all(
        column.again == "first" or name not in new.said or _has(known.said.get(name, column.nothing), new.said[name])
        for name, column in _DECIDED.items()
    )


def _has(had: Any, said: Any) -> bool:
    if isinstance(said, Mapping):
        return bool(said.items() <= had.items())
    return set(said) <= set(had) if isinstance(said, list) else bool(said == had)


def state_of(acts: Iterable[MemoryAct], without: Collection[int] = ()) -> MemoryState | None:
    """Return the state of a memory by its acts, except retracted ones and those in `without`; None if none is left."""
    state: MemoryState | None = None
    for act in sorted(acts, key=lambda act: act.key):
        if act.trash is None and act.key not in without:
            state = _step(state, act)
    return state


def _step(state: MemoryState | None, act: MemoryAct) -> MemoryState | None:
    said = act.said
    if state is None:
        return None if act.text is None else _made(act)
    if act.act == "say":
        by = (*state.by, act.origin) if state.text == act.text else (act.origin,)
        again = {
            name: AGAIN[column.again](state.values[name], said.get(name), act.at) for name, column in _DECIDED.items()
        }
        return MemoryState(act.text or state.text, tuple(dict.fromkeys(by)), again)
    after = {name: _value(said, name) for name, column in _DECIDED.items() if name in said and column.again != "first"}
    by = (act.origin,) if act.text else state.by
    return MemoryState(act.text or state.text, by, {**state.values, **after})


def both(was: Any, said: Any) -> Any:
    """Return two lists or two objects as one: each once, and of a name what was said last."""
    return {**was, **said} if isinstance(said, Mapping) else tuple(dict.fromkeys([*was, *said]))


AGAIN: Mapping[Again, Callable[[Any, Any, int], Any]] = {
    "first": lambda was, said, at: was,
    "last": lambda was, said, at: was if said is None else said,
    "union": lambda was, said, at: was if said is None else both(was, said),
    "larger": lambda was, said, at: was if said is None else max(was, said),
    "until": lambda was, said, at: _still_to_come(was, at) if said is None else said,
}
"""What becomes of a value that was there when another one, or none, is said at a moment."""


def _still_to_come(expires_at: int | None, at: int) -> int | None:
    """Return the date of expiry, or None if it has passed: the text holds again, without that date."""
    return None if expires_at is None or expires_at <= at else expires_at


def _made(act: MemoryAct) -> MemoryState:
    """A memory of which this is the first that is known. An update leaves nothing of what it was an update of."""
    return MemoryState(act.text or "", (act.origin,), {name: _value(act.said, name) for name in _DECIDED})


def _value(said: Mapping[str, Any], name: str) -> Any:
    value = said.get(name, _DECIDED[name].nothing)
    return tuple(value) if isinstance(value, list) else value


def remade(row: MemoryText, was: MemoryState | None, will: MemoryState) -> MemoryText:
    """A memory as it will be once its acts make something else of it than they did; its text is left to the caller.

    What differs between the two changes, and nothing else: a row may know of more than its acts do.
    """
    if was is None:
        was = will
    changes = {
        name: _remade(getattr(row, name), was.values[name], will.values[name], column.again)
        for name, column in _DECIDED.items()
    }
    return row._replace(**changes, origin=will.origin if row.origin == was.origin else row.origin)


def _remade(now: Any, was: Any, will: Any, again: Again) -> Any:
    if now == was:
        return will
    if again != "union":
        return now
    if isinstance(now, Mapping):
        own = {name: value for name, value in now.items() if name not in was}
        theirs = {name: value if was.get(name) != value else now.get(name, value) for name, value in will.items()}
        return {**own, **theirs}
    own_tags = [tag for tag in now if tag not in was or tag in will]
    return tuple(dict.fromkeys([*own_tags, *(tag for tag in will if tag not in was)]))


def entities_of(acts: Iterable[MemoryAct]) -> set[int]:
    return {entity for act in acts for _, entity in act.mentions | act.named}


def only_taken_back(acts: Iterable[MemoryAct], given_back: int) -> dict[int, int]:
    """Entities that nobody has handed in whose act is not taken back, once a receipt is undone; and what took it."""
    taken: dict[int, int] = {}
    others: set[int] = set()
    for act in acts:
        others |= {entity for _, entity in act.named}
        beside = {entity for _, entity in act.mentions}
        if act.trash is None or act.trash == given_back:
            others |= beside
        else:
            taken |= {entity: max(act.trash, taken.get(entity, 0)) for entity in beside}
    return {entity: receipt for entity, receipt in taken.items() if entity not in others}


def lost_mentions(acts: Sequence[MemoryAct], without: Collection[int], text: str) -> set[Place]:
    """Return the mentions in a text that only these acts passed."""
    mine: set[Place] = set()
    others: set[Place] = set()
    for act in acts:
        if act.act == "say" and act.text == text:
            others |= act.named
            if act.trash is None:
                (mine if act.key in without else others).update(act.mentions)
    return mine - others


def stated_in(memory: MemoryText, chunks: Sequence[int], pieces: int, origin: int | None) -> StatedIn:
    """Return a chunk for each new piece of a text that is said again: it may have been cut into fewer before."""
    spread = [*chunks, *[*chunks[-1:]] * (pieces - len(chunks))]
    return StatedIn(memory.key, spread, origin, None if origin == memory.origin else origin)


def first_said(memory: MemoryText, text: str, mentioned: Mentioned) -> MemoryAct:
    """Return the act that made a memory of which none was written down."""
    return MemoryAct(memory.key, "say", memory.created_at, memory.origin, _said(memory, text, mentioned))


def now_said(
    memory: int, draft: MemoryDraft, text: str, at: int, origin: int | None, mentions: Collection[Place]
) -> MemoryAct:
    return MemoryAct(memory, "say", at, origin, _said(draft, text, Mentioned(beside=frozenset(mentions))))


def mentioned_in(rows: Iterable[Sequence[Any]]) -> Mentioned:
    """From what a memory mentions as its own: position of the chunk and entity, its name, and the text of the chunk."""
    named, beside = set[Place](), set[Place]()
    for position, entity, name, text in rows:
        (named if name_key(name) in name_key(text) else beside).add((position, entity))
    return Mentioned(frozenset(named), frozenset(beside))
