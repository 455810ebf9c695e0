"""The weights of the reader: those that a package carries, and what it was taught about notes. Pure.

The package has ms-marco-MiniLM-L-12-v2 with its matrices in integers. What was learned
(`benchmarks/train_reader.py`) is a small sum on top: for each matrix the product of two narrow ones, in integers with a
scale for each of their columns and rows, and other values for what is no matrix.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Arrays = Mapping[str, npt.NDArray[Any]]
    Floats = npt.NDArray[np.float32]

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
