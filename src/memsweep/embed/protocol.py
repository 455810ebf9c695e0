"""What an embedder does, and how its vectors are kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from memsweep.model.memory import EmbeddingModel

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class Embedder(Protocol):
    """Texts in, one row of floats each out, in the same order."""

    @property
    def model(self) -> EmbeddingModel:
        """Name and dimension; asking may load the model or call the server once."""

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]: ...


class Tokeniser(Protocol):
    """Where each token of a text ends, in characters, ascending."""

    def token_ends(self, text: str) -> Sequence[int]: ...


def quantise(rows: npt.NDArray[np.float32]) -> list[bytes]:
    """One signed byte a dimension, each row scaled by its own largest value.

    Rows are compared by angle, which does not see the scale; that keeps a model with a few large
    dimensions as precise as one without.
    """
    import numpy as np

    peak = np.abs(rows).max(axis=1, keepdims=True, initial=0.0)
    peak[peak == 0] = 1.0
    return [row.tobytes() for row in np.rint(rows / peak * 127.0).astype(np.int8)]
