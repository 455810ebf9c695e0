"""Chunks of an earlier text that come back: what they mention by now, and vectors of the model that is in use."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from memsweep.model.graph_rows import EntityRecord
from memsweep.model.memory_act import Place
from memsweep.model.revision import Piece, model_before, pieces_before
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
    ) -> None:
        pieces = {memory: pieces_before(before) or [] for memory, before in befores.items()}
        entities = Entities(tx, {key for each in pieces.values() for piece in each for key in piece.entities})
        self._vectors = renewed(befores.values(), tx.texts.model(), embed)
        self._pieces = {
            memory: [
                _without(piece.mentioning(entities.standing), position, lost.get(memory, ()))
                for position, piece in enumerate(each)
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


class Entities:
    """Which entities chunks that come back speak of: one that was merged is another now, one in the trash returns."""

    def __init__(self, tx: Changes, keys: Collection[int]) -> None:
        found = tx.entities.at(keys) if keys else {}
        merged = tx.moves.targets() if any(row.trash is not None for row in found.values()) else {}
        found = {key: _kept(tx, row, merged) for key, row in found.items()}
        trashed = [row for row in found.values() if row.trash is not None]
        live = tx.entities.live_named({row.full_name for row in trashed}) if trashed else {}
        newest = {row.full_name: row for row in sorted(trashed)}
        self._of = {key: live.get(row.full_name, newest.get(row.full_name, row)) for key, row in found.items()}
        self._of |= {key: row for key, row in found.items() if row.trash is None}
        self.returning = {row.key for row in self._of.values() if row.trash is not None}

    @property
    def standing(self) -> dict[int, int]:
        """What stands for each that is still there."""
        return {key: row.key for key, row in self._of.items()}

    def now(self, key: int) -> int:
        """The same of one; itself if there is none."""
        return self._of[key].key if key in self._of else key


def _kept(tx: Changes, row: EntityRecord, merged: Mapping[int, int]) -> EntityRecord:
    """What a merge kept in place of an entity."""
    while row.trash is not None and row.trash in merged:
        found = tx.entities.at([merged[row.trash]])
        if not found:
            return row
        (row,) = found.values()
    return row
