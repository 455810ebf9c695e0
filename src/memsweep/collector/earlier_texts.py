"""Chunks of an earlier text that come back: what they mention by now, and vectors of the model that is in use."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from memsweep.collector.chunk_moves import known, places_now, without_undone
from memsweep.model.graph_rows import EntityRecord, Move
from memsweep.model.merging import MERGED_MENTION, SPLIT_MENTION
from memsweep.model.revision import Piece, Place, model_before, pieces_before
from memsweep.model.text import counted
from memsweep.model.workspace import EmbeddingModel
from memsweep.store.refusals import other_model

if TYPE_CHECKING:
    from memsweep.store.changes import Changes

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
