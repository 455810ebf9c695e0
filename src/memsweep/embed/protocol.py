"""The protocols of embedders and readers, and the form in which vectors are kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from memsweep.errors import ModelMismatch
from memsweep.model.workspace import EmbeddingModel
from memsweep.numeric import quantised

if TYPE_CHECKING:
    from memsweep.model.workspace import EmbeddingModel
    from memsweep.numeric import Rows


class Embedder(Protocol):
    """Texts in, one row of floats each out, in the same order."""

    @property
    def model(self) -> EmbeddingModel:
        """Name and dimension; asking may load the model or call the server once."""

    def embed(self, texts: Sequence[str]) -> Rows: ...


class Tokeniser(Protocol):
    """A cutter of texts into tokens; `token_ends` are in characters, ascending."""

    def token_ends(self, text: str) -> Sequence[int]: ...


class Words(Protocol):
    """A model of single words, whatever model embeds whole texts."""

    def rarities(self, words: Sequence[str]) -> list[float]:
        """Return how rare each word is in general, from 0 to 1."""

    def nearest(self, words: Sequence[str], texts: Sequence[str]) -> list[list[float]]:
        """For each text and each of the words, the best cosine with a word of the text."""


class Reader(Protocol):
    """Reads a query and a passage together."""

    def read(self, query: str, passages: Sequence[str]) -> list[float]:
        """Return how well each passage answers: the higher, the better."""


def quantise(rows: Rows) -> list[bytes]:
    """One signed byte a dimension, each row scaled by its own largest value.

    Rows are compared by angle, which does not see the scale; that keeps a model with a few large
    dimensions as precise as one without.
    """
    if isinstance(rows, list):
        return list(map(quantised, rows))
    import numpy as np

    peak = np.abs(rows).max(axis=1, keepdims=True, initial=0.0)
    peak[peak == 0] = 1.0
    return [row.tobytes() for row in np.rint(rows / peak * 127.0).astype(np.int8)]


def check_model(stored: EmbeddingModel | None, current: EmbeddingModel) -> None:
    """Refuse to mix the vectors of two models."""
    if stored is not None and stored != current:
        raise ModelMismatch(
            f"this workspace was embedded by {stored.name} ({stored.dimension} dimensions); the settings name"
            f" {current.name} ({current.dimension}).",
            hint="Recompute its embeddings with `memsweep workspace reembed`, or set the old model again.",
        )
