"""The acts of a memory, by which somebody said it, said it again or updated it: it is their sum. Pure.

As long as one origin alone has had to do with a memory, its row says all. The second act writes the first one down as
well. Taking some acts away and doing the others again gives the memory as it would be without them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Annotated, Any, NamedTuple

from memsweep.model import columns as c
from memsweep.model import forms as f
from memsweep.model.columns import Again
from memsweep.model.memory import MemoryDraft, StatedIn
from memsweep.model.revision import MemoryText
from memsweep.model.text import name_key
from memsweep.model.times import micros_or_none
from memsweep.model.vocabulary import ACTS_ON_MEMORIES, ActOnMemory

Place = tuple[int, int]
"""A chunk by its position in the memory, and an entity that it mentions."""


class MemoryAct(NamedTuple):
    """One act on a memory. `said` is JSON:

    | act    | said                                                                                           |
    | say    | text, tags, metadata, source, expires_at, mentions: all that was handed in with the text        |
    | update | of text, tags and metadata those that changed; and the source of the memory                    |

    `text` is the hash of it, in hex: the text is that of the memory, or of one of its revisions.
    """

    memory: Annotated[int, c.LINK.but(found_by="of")]
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
    tags: tuple[str, ...]
    metadata: Mapping[str, Any]
    source: str
    expires_at: int | None

    @property
    def origin(self) -> int | None:
        return self.by[0]


def said_of(
    text: str,
    tags: Sequence[str],
    metadata: Mapping[str, Any],
    source: str,
    expires_at: int | None,
    mentioned: Mentioned,
) -> dict[str, Any]:
    """Return a statement of a memory as it is kept; without what is empty."""
    parts = {
        "tags": list(tags),
        "metadata": dict(metadata),
        "source": source,
        "mentions": [list(place) for place in sorted(mentioned.beside)],
        "named": [list(place) for place in sorted(mentioned.named)],
    }
    said = {"text": text, **{name: value for name, value in parts.items() if value}}
    return said if expires_at is None else {**said, "expires_at": expires_at}


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
    had, has = known.said, new.said
    return (
        set(has.get("tags", ())) <= set(had.get("tags", ()))
        and has.get("metadata", {}).items() <= had.get("metadata", {}).items()
        and has.get("expires_at") in (None, had.get("expires_at"))
        and new.mentions <= known.mentions
    )


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
        return state._replace(
            text=act.text or state.text,
            by=tuple(dict.fromkeys(by)),
            tags=both(state.tags, said.get("tags", ())),
            metadata=both(state.metadata, said.get("metadata", {})),
            expires_at=AGAIN["until"](state.expires_at, said.get("expires_at"), act.at),
        )
    return state._replace(
        text=act.text or state.text,
        by=(act.origin,) if act.text else state.by,
        tags=tuple(said.get("tags", state.tags)),
        metadata=said.get("metadata", state.metadata),
    )


def both(was: Any, said: Any) -> Any:
    """Return two lists or two objects as one: each once, and of a name what was said last."""
    return {**was, **said} if isinstance(said, Mapping) else tuple(dict.fromkeys([*was, *said]))


AGAIN: Mapping[Again, Callable[[Any, Any, int], Any]] = {
    "first": lambda was, said, at: was,
    "last": lambda was, said, at: said,
    "union": lambda was, said, at: both(was, said),
    "larger": lambda was, said, at: max(was, said),
    "until": lambda was, said, at: _still_to_come(was, at) if said is None else said,
}
"""What becomes of a value that was there when another one is said at a moment."""


def _still_to_come(expires_at: int | None, at: int) -> int | None:
    """Return the date of expiry, or None if it has passed: the text holds again, without that date."""
    return None if expires_at is None or expires_at <= at else expires_at


def _made(act: MemoryAct) -> MemoryState:
    """A memory of which this is the first that is known. An update leaves nothing of what it was an update of."""
    said = act.said
    tags, metadata = tuple(said.get("tags", ())), said.get("metadata", {})
    return MemoryState(act.text or "", (act.origin,), tags, metadata, act.source, said.get("expires_at"))


def remade(row: MemoryText, was: MemoryState | None, will: MemoryState) -> MemoryText:
    """A memory as it will be once its acts make something else of it than they did; its text is left to the caller.

    What differs between the two changes, and nothing else: a row may know of more than its acts do.
    """
    if was is None:
        was = will
    metadata = {name: value for name, value in row.metadata.items() if name not in was.metadata}
    metadata |= {name: row.metadata.get(name, value) for name, value in will.metadata.items()}
    metadata |= {name: value for name, value in will.metadata.items() if was.metadata.get(name) != value}
    tags = [tag for tag in row.tags if tag not in was.tags or tag in will.tags]
    tags += [tag for tag in will.tags if tag not in was.tags]
    return row._replace(
        tags=will.tags if row.tags == was.tags else tuple(dict.fromkeys(tags)),
        metadata=will.metadata if row.metadata == was.metadata else metadata,
        source=will.source if row.source == was.source else row.source,
        expires_at=will.expires_at if row.expires_at == was.expires_at else row.expires_at,
        origin=will.origin if row.origin == was.origin else row.origin,
    )


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


class ExistingMemory(NamedTuple):
    """A live memory whose text is said again, as it was before."""

    key: int
    id: str
    tags: Sequence[str]
    metadata: Mapping[str, Any]
    source: str
    expires_at: int | None
    created_at: int
    origin: int | None

    def stating(self, chunks: Sequence[int], pieces: int, origin: int | None) -> StatedIn:
        """A chunk for each new piece: it may have been cut into fewer when it was stored."""
        spread = [*chunks, *[*chunks[-1:]] * (pieces - len(chunks))]
        return StatedIn(self.key, spread, origin, None if origin == self.origin else origin)

    def said_first(self, text: str, mentioned: Mentioned) -> MemoryAct:
        said = said_of(text, self.tags, self.metadata, self.source, self.expires_at, mentioned)
        return MemoryAct(self.key, "say", self.created_at, self.origin, said)

    def said_again(
        self, draft: MemoryDraft, text: str, at: int, origin: int | None, mentions: Collection[Place]
    ) -> MemoryAct:
        expires = micros_or_none(draft.expires_at)
        mentioned = Mentioned(beside=frozenset(mentions))
        said = said_of(text, draft.tags, draft.metadata, draft.source, expires, mentioned)
        return MemoryAct(self.key, "say", at, origin, said)


def mentioned_in(rows: Iterable[Sequence[Any]]) -> Mentioned:
    """From what a memory mentions as its own: position of the chunk and entity, its name, and the text of the chunk."""
    named, beside = set[Place](), set[Place]()
    for position, entity, name, text in rows:
        (named if name_key(name) in name_key(text) else beside).add((position, entity))
    return Mentioned(frozenset(named), frozenset(beside))
