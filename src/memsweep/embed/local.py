"""The bundled static model: word vectors from the wordllama package, read without importing it.

Importing wordllama costs half a second of CPU and sets up logging and an HTTP client; its two data
files are all that is needed. Nothing here can touch the network.
"""

from __future__ import annotations

import importlib.util
import json
import mmap
import struct
import threading
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memsweep.embed.meanings import Meanings
from memsweep.embed.pieces import Pieces
from memsweep.embed.words import WordTokens
from memsweep.errors import EmbedderError
from memsweep.model.workspace import EmbeddingModel

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_TOKENIZER = Path("tokenizers", "l2_supercat_tokenizer_config.json")
_WEIGHTS = Path("weights", "l2_supercat_256.safetensors")
_BATCH = 64  # what the tokeniser makes of a text while it works is many times its size
_FEW = 32  # more texts than this are worth a batch, and 32 MB for weights that need no conversion
_WINDOW = 1 << 16  # characters that are tokenised together; a token cut at its edge is counted twice


class LocalEmbedder:
    """Mean of word vectors, 256 dimensions, thousands of texts a second."""

    model = EmbeddingModel("wordllama-l2-supercat-256", 256)

    def __init__(self) -> None:
        self._loading = threading.Lock()

    def load(self) -> None:
        """Get ready for many texts."""
        _ = self._tokenizer

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        import numpy as np

        rows = np.zeros((len(texts), self.model.dimension), np.float32)
        for row, vectors in enumerate(self._word_vectors(texts)):
            if len(vectors):
                np.add.reduce(vectors, axis=0, out=rows[row])
                rows[row] /= len(vectors)
        return rows

    def _word_vectors(self, texts: Sequence[str]) -> Iterator[npt.NDArray[np.float32]]:
        import numpy as np

        if len(texts) <= _FEW:
            for text in texts:
                yield _to_float32(self._weights.take(np.array(self._words.of(text), np.intp), axis=0))
            return
        for start in range(0, len(texts), _BATCH):
            batch = list(texts[start : start + _BATCH])
            for encoding in self._tokenizer.encode_batch_fast(batch, add_special_tokens=False):
                yield self._fast_weights.take(np.array(encoding.ids, np.intp), axis=0)

    def token_ends(self, text: str) -> list[int]:
        """Where each token of the text ends, in characters."""
        windows = [text[start : start + _WINDOW] for start in range(0, len(text), _WINDOW)]
        return [
            start * _WINDOW + end
            for start, encoding in enumerate(self._tokenizer.encode_batch(windows, add_special_tokens=False))
            for _, end in encoding.offsets
        ]

    def rarities(self, words: Sequence[str]) -> list[float]:
        return self._meanings.rarities(words)

    def nearest(self, words: Sequence[str], texts: Sequence[str]) -> list[list[float]]:
        return self._meanings.nearest(words, texts)

    @cached_property
    def _meanings(self) -> Meanings:
        return Meanings(self._words.of, self._sums, self.model.dimension)

    def _sums(self, words: Sequence[str]) -> npt.NDArray[np.float32]:
        """For each word, the sum of the vectors of its tokens."""
        import numpy as np

        tokens = list(map(self._words.of, words))
        sums, told = np.zeros((len(words), self.model.dimension), np.float32), [bool(each) for each in tokens]
        if any(told):
            vectors = _to_float32(self._weights.take(np.array([*chain.from_iterable(tokens)], np.intp), axis=0))
            starts = np.cumsum([0, *(len(each) for each in tokens if each)])[:-1]
            sums[told] = np.add.reduceat(vectors, starts, axis=0)
        return sums

    @cached_property
    def _folder(self) -> Path:
        spec = importlib.util.find_spec("wordllama")
        if spec is None or not spec.submodule_search_locations:
            raise EmbedderError(
                "the bundled embedding model is missing.", hint="Install it with: pip install wordllama"
            )
        return Path(spec.submodule_search_locations[0])

    @cached_property
    def _tokenizer(self) -> Any:
        from tokenizers import Tokenizer

        with self._loading:
            tokenizer = Tokenizer.from_file(str(self._folder / _TOKENIZER))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        if hasattr(tokenizer.model, "_resize_cache"):
            # To this model a whole text is one word: it would keep every short text, up to 120 MB, to no use.
            tokenizer.model._resize_cache(0)
        return tokenizer

    @cached_property
    def _words(self) -> WordTokens:
        is_loaded = "_tokenizer" in self.__dict__
        return WordTokens(lambda: self._tokenizer, None if is_loaded else Pieces(self._folder / _TOKENIZER))

    @cached_property
    def _fast_weights(self) -> npt.NDArray[np.float32]:
        import numpy as np

        return self._weights.astype(np.float32)

    @cached_property
    def _weights(self) -> npt.NDArray[np.float16]:
        import numpy as np

        with (self._folder / _WEIGHTS).open("rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        (header_size,) = struct.unpack_from("<Q", mapped)
        header = json.loads(mapped[8 : 8 + header_size])
        tensor = next(entry for name, entry in header.items() if name != "__metadata__")
        rows, columns = tensor["shape"]
        first = 8 + header_size + tensor["data_offsets"][0]
        return np.frombuffer(mapped, np.float16, rows * columns, first).reshape(rows, columns)


def _to_float32(halves: npt.NDArray[np.float16]) -> npt.NDArray[np.float32]:
    """Every finite half is exact in 32 bits: its bits with a wider exponent, less the difference of their biases.

    What numpy does to convert them takes three times as long.
    """
    import numpy as np

    bits = halves.view(np.int16).astype(np.int32)
    bits <<= 13
    bits &= -0x70000001  # the copies of the sign, all but the first
    wide = bits.view(np.float32)
    wide *= np.float32(2.0**112)
    return wide
