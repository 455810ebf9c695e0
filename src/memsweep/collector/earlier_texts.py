"""Earlier texts that come back: notes on their chunks, what they mention by now, and the forms that memories get."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from memsweep.model.graph_rows import UNMENTIONED, EntityRecord, Move
from memsweep.model.merging import MERGED_MENTION, SPLIT_MENTION
from memsweep.model.plan import CHANGED_SINCE, Selection
from memsweep.model.revision import (
    MEMORY,
    MemoryAct,
    MemoryState,
    MemoryText,
    Piece,
    Place,
    Revision,
    as_retraction,
    before_of,
    is_redaction,
    model_before,
    pieces_before,
    remade,
)
from memsweep.model.text import content_hash, counted
from memsweep.model.times import to_micros
from memsweep.model.workspace import EmbeddingModel
from memsweep.store.refusals import other_model

if TYPE_CHECKING:
    from memsweep.model.plan import Operation
    from memsweep.store.changes import Changes
    from memsweep.store.memory_acts import MentionAt


# Keep the notes of merges, splits and retractions on a chunk's mentions with its text.
#
# A memory that is written anew gets new chunks. A redaction and its undo give it one for each that it had, so what was
# moved in the old ones is taken back in the new. An earlier text waits in a revision with what was written down of it.
# Reads first, writes last.


OfMemory = TypeVar("OfMemory", "MemoryAct", "MentionAt")
_MENTIONS = (MERGED_MENTION, SPLIT_MENTION, UNMENTIONED)


def noted(tx: Changes, pieces: Mapping[int, Sequence[Piece]]) -> dict[int, list[Piece]]:
    """The pieces of some memories with what is written down of their mentions."""
    splits = tx.moves.splits() if pieces else {}
    acts = tx.acts.of_memories(pieces.keys()) if pieces else []
    noting = {*tx.moves.targets(), *splits, *(act.trash for act in acts if act.trash is not None)} if pieces else set()
    chunks = {piece.key for each in pieces.values() for piece in each}
    of: dict[int, list[Move]] = defaultdict(list)
    for move in tx.moves.of(noting, _MENTIONS, about=chunks) if noting and chunks else []:
        of[move.a].append(move._replace(b=splits[move.receipt].new) if move.kind == SPLIT_MENTION else move)
    return {key: [piece._replace(noted=tuple(of[piece.key])) for piece in each] for key, each in pieces.items()}


def follow(tx: Changes, pieces: Iterable[Piece], chunks: Iterable[int]) -> None:
    """Make the notes on pieces be about these chunks."""
    moves = [
        move._replace(a=chunk, b=None if move.kind == SPLIT_MENTION else move.b)
        for piece, chunk in zip(pieces, chunks, strict=False)
        for move in piece.noted
    ]
    tx.moves.set([move for move in moves if move.place])
    tx.moves.add([move for move in moves if not move.place])


def known(move: Move) -> tuple[int, str, int, int | None]:
    """By what a move is told from others, wherever it is stored: places change when a file is copied or compacted."""
    return move.receipt, move.kind, move.a, None if move.kind == SPLIT_MENTION else move.b


def places_now(
    tx: Changes, pieces: Iterable[Piece], receipts: Collection[int]
) -> dict[tuple[int, str, int, int | None], int]:
    """Return the places of what these receipts noted of pieces, where it still is about the same chunks."""
    chunks = {move.a for piece in pieces for move in piece.noted}
    found = tx.moves.of(receipts, _MENTIONS, about=chunks) if receipts and chunks else []
    return {known(move): move.place for move in found}


def without_undone(piece: Piece, undone: Collection[int], gone: Collection[int]) -> Piece:
    """A piece that comes back, without what receipts moved in it that were undone meanwhile, the last one first.

    What those did that are `gone` is final.
    """
    there, owners, kept = set(piece.entities), dict(piece.handed_in), list[Move]()
    for move in sorted(piece.noted, reverse=True, key=lambda move: (move.receipt, move.place)):
        if move.receipt in gone:
            continue
        if move.receipt not in undone:
            kept.append(move)
            continue
        was, owner, now = _before(move)
        there.discard(-1 if now is None else now)
        if was is not None:
            there.add(was)
            owners |= {} if owner is None else {was: owner}
    handed_in = tuple(sorted((entity, owner) for entity, owner in owners.items() if entity in there))
    return piece._replace(entities=tuple(sorted(there)), handed_in=handed_in, noted=tuple(reversed(kept)))


def _before(move: Move) -> tuple[int | None, int | None, int | None]:
    """Return the mention before a move, its origin, and the mention that is there only since the move."""
    if move.kind == SPLIT_MENTION:
        return move.c, None, move.b
    if move.kind == UNMENTIONED:
        return move.b, move.c, None
    return move.b, move.said[0] if move.said else None, move.c


Embed = Callable[[Sequence[str]], tuple[EmbeddingModel, list[bytes]]]
"""Vectors of texts, and the model that they are of."""


def no_model(texts: Sequence[str]) -> tuple[EmbeddingModel, list[bytes]]:
    """For a collector that was handed none."""
    raise NotImplementedError(f"no embedder was handed in for {counted(len(texts), 'text')}")


def renewed(befores: Iterable[Mapping[str, Any]], model: EmbeddingModel | None, embed: Embed) -> dict[str, bytes]:
    """Vectors of what was embedded by another model than the one in use now, by their texts."""
    old = [before for before in befores if model_before(before) != model]
    texts = list(dict.fromkeys(piece.text for before in old for piece in pieces_before(before) or ()))
    if not texts:
        return {}
    used, vectors = embed(texts)
    if model is not None and used != model:
        raise other_model(model, used)
    return dict(zip(texts, vectors, strict=True))


class EarlierTexts:
    """Pieces that revisions hold, by memory, as they come back: without what is `lost` of what they mention."""

    def __init__(
        self,
        tx: Changes,
        befores: Mapping[int, Mapping[str, Any]],
        embed: Embed,
        lost: Mapping[int, Collection[Place]],
        now: Mapping[int, Sequence[Piece]],
    ) -> None:
        pieces = {memory: pieces_before(before) or [] for memory, before in befores.items()}
        entities = ComingBack(tx, pieces, now)
        self._vectors = renewed(befores.values(), tx.texts.model() if befores else None, embed)
        self._pieces = {
            memory: [
                _without(piece, position, lost.get(memory, ()))
                for position, piece in enumerate(entities.mentioning(memory, each))
            ]
            for memory, each in pieces.items()
        }
        self.returning = entities.returning & {
            key for each in self._pieces.values() for piece in each for key in piece.entities
        }

    def pieces(self, memory: int) -> list[Piece]:
        return [piece._replace(vector=self._vectors.get(piece.text, piece.vector)) for piece in self._pieces[memory]]


def _without(piece: Piece, position: int, lost: Collection[Place]) -> Piece:
    return piece.mentioning({key: key for key in piece.entities if (position, key) not in lost})


class StandingEntities:
    """The entities of chunks that come back: a merged one is another now, one in the trash returns."""

    def __init__(self, tx: Changes, keys: Collection[int]) -> None:
        found = tx.entities.at(keys) if keys else {}
        merged = tx.moves.targets() if any(row.trash is not None for row in found.values()) else {}
        self._steps: dict[int, list[Move]] = {key: [] for key in found}
        found = {key: _kept(tx, row, merged, self._steps[key]) for key, row in found.items()}
        trashed = [row for row in found.values() if row.trash is not None]
        live = tx.entities.live_named({row.full_name for row in trashed}) if trashed else {}
        newest = {row.full_name: row for row in sorted(trashed)}
        self._of = {key: live.get(row.full_name, newest.get(row.full_name, row)) for key, row in found.items()}
        self._of |= {key: row for key, row in found.items() if row.trash is None}
        self.returning = {row.key for row in self._of.values() if row.trash is not None}

    @property
    def standing(self) -> dict[int, int]:
        """Return the present entity of each that is still there."""
        return {key: row.key for key, row in self._of.items()}

    def now(self, key: int) -> int:
        """The same of one; itself if there is none."""
        return self._of[key].key if key in self._of else key


class ComingBack(StandingEntities):
    """The same for pieces that come back out of revisions, with what merges have to know of them."""

    def __init__(self, tx: Changes, pieces: Mapping[int, Sequence[Piece]], now: Mapping[int, Sequence[Piece]]) -> None:
        """By memory, with what they have `now`: a split that has moved a mention in a memory is about all its texts."""
        self._splits = {
            memory: {move.c: move for piece in each for move in piece.noted if move.kind == SPLIT_MENTION and move.c}
            for memory, each in now.items()
        }
        listed = [piece for each in pieces.values() for piece in each]
        receipts = {move.receipt for piece in listed for move in piece.noted}
        rows = tx.receipts.at(receipts) if receipts else {}
        self._undone = {key for key, row in rows.items() if row.undone_at is not None}
        self._gone = {key for key in receipts if key not in rows or rows[key].purged_at is not None}
        self._places = places_now(tx, listed, receipts - self._undone - self._gone)
        super().__init__(tx, {key for piece in listed for key in self._as_it_was(piece).entities})

    def mentioning(self, memory: int, pieces: Iterable[Piece]) -> list[Piece]:
        splits = self._splits.get(memory, {})
        return [self._split(self._moved(self._as_it_was(piece)), splits) for piece in pieces]

    def _as_it_was(self, piece: Piece) -> Piece:
        was = without_undone(piece, self._undone, self._gone)
        return was._replace(noted=tuple(move._replace(place=self._places.get(known(move), 0)) for move in was.noted))

    def _split(self, piece: Piece, splits: Mapping[int, Move]) -> Piece:
        moves = [splits[key] for key in piece.entities if key in splits]
        parts = {move.c or 0: move.b or 0 for move in moves}
        noted = (*piece.noted, *(move._replace(place=0) for move in moves))
        return piece.mentioning({key: parts.get(key, key) for key in piece.entities})._replace(noted=noted)

    def _moved(self, piece: Piece) -> Piece:
        there, owners, moves = set(piece.entities), dict(piece.handed_in), list(piece.noted)
        for key in piece.entities:
            owner = owners.get(key)
            for step in self._steps.get(key, ()):
                is_new = step.c not in there
                moves.append(step._replace(c=step.c if is_new else None, said=None if owner is None else [owner]))
                there.add(step.c or 0)
        return piece.mentioning(self.standing)._replace(noted=tuple(moves))


def _kept(tx: Changes, row: EntityRecord, merged: Mapping[int, int], steps: list[Move]) -> EntityRecord:
    """Return the entity that merges kept in place of one; add to `steps` the merges of a mention of it."""
    while row.trash is not None and row.trash in merged:
        found = tx.entities.at([merged[row.trash]])
        if not found:
            return row
        (kept,) = found.values()
        steps.append(Move(row.trash, MERGED_MENTION, 0, row.key, kept.key))
        row = kept
    return row


def said_in_place_of(tx: Changes, memory: MemoryText, besides: Collection[int]) -> str | None:
    """The id of a live memory that says what this one would say. One that was superseded is beside it, not in its way.

    A text that was superseded may be said again, and is a new memory.
    """
    other = tx.texts.duplicate_of(memory, besides)
    return None if other is None or tx.acts.ever_superseded({memory.key}) else other


def earlier_texts(revisions: list[Revision]) -> dict[tuple[int, str], Mapping[str, Any]]:
    """The texts that memories had, by memory and hash, with all that belongs to them."""
    kept = (each for each in revisions if not is_redaction(each.before) and each.before["pieces"] is not None)
    return {(each.item, content_hash(each.before["text"]).hex()): each.before for each in kept}


def by_memory(rows: Iterable[OfMemory]) -> dict[int, list[OfMemory]]:
    """Return acts, or mentions, by the memory that they are of."""
    found: dict[int, list[OfMemory]] = defaultdict(list)
    for row in rows:
        found[row.memory].append(row)
    return found


def renamed(journal: list[MemoryAct], entities: StandingEntities) -> list[MemoryAct]:
    """Acts that mention what a merge has kept in place of what they mentioned."""

    def now(places: Collection[Place]) -> list[Place]:
        return [(position, entities.now(entity)) for position, entity in places]

    return [act._replace(said={**act.said, "mentions": now(act.mentions), "named": now(act.named)}) for act in journal]


# Memories in other forms than they have: what has to be known to write them, and the texts that they had before.
#
# Reads and decides first, writes last.


Lost = Mapping[int, Collection[Place]]
"""What a memory, in another form, mentions no more."""


class Form(NamedTuple):
    """A memory as it is and as it will be; with what its chunks will be, if its text is another then."""

    now: MemoryText
    after: MemoryText
    earlier: Mapping[str, Any] | None = None
    returns: bool = False
    """It is in the trash of a receipt that goes on holding what it was, and leaves it."""

    @property
    def is_other(self) -> bool:
        return self.after != self.now


class Forms:
    """Decided one by one."""

    def __init__(
        self, tx: Changes, memories: Iterable[int], doing: Operation, going: Collection[int] = frozenset()
    ) -> None:
        self._tx, self._at, self._going = tx, to_micros(doing.now), going
        keys = set(memories)
        self.rows = tx.texts.at(keys) if keys else {}
        self.journal = by_memory(tx.acts.of_memories(keys) if keys else [])
        self._texts = earlier_texts(tx.revisions.of_items(MEMORY, keys) if keys else [])
        self._model = tx.texts.model() if keys else None
        self.made: list[Form] = []

    def make(self, row: MemoryText, was: MemoryState | None, will: MemoryState | None, *, returns: bool = False) -> str:
        """Give a memory another form; why that cannot be, or nothing."""
        if will is None:
            return CHANGED_SINCE
        after, earlier = remade(row, was, will), None
        lives = row.trash is None or returns
        if will.text != row.content_hash.hex():
            earlier = self._texts.get((row.key, will.text))
            if earlier is None:
                return "its earlier text was purged"
            after = after._replace(text=earlier["text"])
            if lives and (other := said_in_place_of(self._tx, after, self._going)) is not None:
                return f"the same text was added again as {other}"
        if lives and (earlier or returns) and (gone := self._tx.tombstones.why_gone({row.key: after.text})):
            return gone[row.key]
        if after != row:
            after = after._replace(updated_at=self._at, version=row.version + 1)
        self.made.append(Form(row, after, earlier, returns))
        return ""

    def read(self, embed: Embed, lost: Lost) -> None:
        """The last that has to be known before anything is written."""
        self._lost = lost
        changed = [form for form in self.made if form.earlier is not None]
        befores = {form.now.key: form.earlier for form in changed if form.earlier is not None}
        self._old = noted(self._tx, self._tx.texts.pieces([form.now.key for form in changed])) if changed else {}
        self._earlier = EarlierTexts(self._tx, befores, embed, lost, self._old)

    def write(self, receipt: int) -> None:
        """Under a receipt, which keeps the texts that were there until now, if nothing else does."""
        self._write([form for form in self.made if not form.returns], receipt)

    def bring_back(self) -> None:
        """Out of the trash of the receipts that hold them, which keep the texts that were there until now."""
        returning = [form for form in self.made if form.returns]
        for form in returning:
            assert form.now.trash is not None, "what comes back is in the trash"
            if chunks := self._write([form], form.now.trash):
                self._tx.trash.restore(Selection({form.now.key}, set(chunks)))

    def _write(self, forms: Sequence[Form], receipt: int) -> list[int]:
        """The keys of new chunks."""
        self._tx.revisions.add(self._revisions(forms, receipt))
        self._tx.trash.restore(Selection(entities=self._earlier.returning if forms else set()))
        chunks: list[int] = []
        for form in forms:
            if form.is_other:
                pieces = None if form.earlier is None else self._earlier.pieces(form.now.key)
                written = self._tx.texts.write(form.after, pieces)
                follow(self._tx, pieces or (), written)
                chunks += written
        return chunks

    def _revisions(self, forms: Iterable[Form], receipt: int) -> Iterator[Revision]:
        for form in forms:
            if form.earlier is not None and (form.now.key, form.now.content_hash.hex()) not in self._texts:
                kept = before_of(form.now, form.after, self._old[form.now.key], self._model)
                yield Revision(receipt, MEMORY, form.now.key, self._at, as_retraction(kept))
