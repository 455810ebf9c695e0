"""A transformer of the family of BERT as a network for onnxruntime, its matrices in small integers. Pure.

Weights have seven bits and a scale for each row. Eight would overflow the sums of processors that have no instruction
for these products, and the same text would have another vector there; the seventh bit costs nothing in recall@10.
What a matrix is multiplied with is rounded to eight bits as it comes, by one scale for all tokens of a run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from memsweep.embed.onnx_file import CONTRIB, network, node, port, tensor

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Weights = Mapping[str, npt.NDArray[np.float32]]

DIMENSION = 384
_HEADS = 12
_EPSILON = 1e-12
_MOST = 63  # of a weight in seven bits
TOKENS = "tokens"
OUTPUT = "hidden"


def transformer_network(weights: Weights, layers: int) -> bytes:
    """From the sum of word, position and type of each token to its vector after the last layer; one text a run."""
    writer = _Writer(weights)
    state = writer.normalise("embeddings.LayerNorm", TOKENS)
    for number in range(layers):
        state = writer.layer(f"encoder.layer.{number}", state)
    writer.nodes.append(node("Identity", [state], OUTPUT))
    shape = (1, "length", DIMENSION)
    return network(writer.nodes, writer.constants, [port(TOKENS, "float32", shape)], [port(OUTPUT, "float32", shape)])


class _Writer:
    """Collects operations and constants; every step gives the name of its result."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self.nodes: list[bytes] = []
        self.constants: list[bytes] = []

    def layer(self, name: str, state: str) -> str:
        parts = [self._multiply(f"{name}.attention.self.{part}", state) for part in ("query", "key", "value")]
        seen = self._add(f"{name}.attention", "MultiHeadAttention", parts, num_heads=_HEADS)
        mixed = self._multiply(f"{name}.attention.output.dense", seen)
        state = self.normalise(f"{name}.attention.output.LayerNorm", mixed, state)
        wide = self._multiply(f"{name}.intermediate.dense", state)
        bent = self._add(f"{name}.gelu", "Gelu", [wide])
        return self.normalise(f"{name}.output.LayerNorm", self._multiply(f"{name}.output.dense", bent), state)

    def normalise(self, name: str, *states: str) -> str:
        """Normalise a state, or the sum of two."""
        scale = [self._constant(f"{name}.{part}", self._weights[f"{name}.{part}"]) for part in ("weight", "bias")]
        if len(states) == 2:
            return self._add(name, "SkipLayerNormalization", [*states, *scale], epsilon=_EPSILON)
        self.nodes.append(node("LayerNormalization", [*states, *scale], name, axis=-1, epsilon=_EPSILON))
        return name

    def _multiply(self, name: str, state: str) -> str:
        import numpy as np

        weights = self._weights[f"{name}.weight"]
        scales = np.abs(weights).max(axis=1) / np.float32(_MOST)
        rounded = np.rint(weights / scales[:, None]).astype(np.int8)
        given = [
            self._constant(f"{name}.weight", np.ascontiguousarray(rounded.T)),
            self._constant(f"{name}.scale", scales),
            self._constant(f"{name}.zero", np.zeros(len(scales), np.int8)),
            self._constant(f"{name}.bias", self._weights[f"{name}.bias"]),
        ]
        return self._add(name, "DynamicQuantizeMatMul", [state, *given])

    def _add(self, name: str, operator: str, inputs: list[str], **attributes: float) -> str:
        self.nodes.append(node(operator, inputs, name, CONTRIB, **attributes))
        return name

    def _constant(self, name: str, values: npt.NDArray[np.generic]) -> str:
        self.constants.append(tensor(name, values))
        return name
