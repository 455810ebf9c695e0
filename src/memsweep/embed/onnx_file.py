"""The little of the ONNX format that a network of ours needs, written by hand. Pure.

The `onnx` package would write the same bytes, and weighs more than the model. The numbers are the fields of
https://github.com/onnx/onnx/blob/main/onnx/onnx.proto, which never change their meaning.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

CONTRIB = "com.microsoft"  # the operators that onnxruntime adds
_VERSIONS = {"": 17, CONTRIB: 1}
_FORMAT = 8
ELEMENTS = {"float32": 1, "int8": 3, "int32": 6}
_FLOAT_VALUE, _INTEGER_VALUE = 1, 2


def tensor(name: str, values: npt.NDArray[np.generic]) -> bytes:
    """A constant of the network."""
    shape = b"".join(_number(1, size) for size in values.shape)
    return shape + _number(2, ELEMENTS[values.dtype.name]) + _bytes(8, name) + _bytes(9, values.tobytes())


def node(operator: str, inputs: Sequence[str], output: str, domain: str = "", **attributes: float) -> bytes:
    """One operation; an input that is left out is an empty name."""
    named = b"".join(_bytes(1, name) for name in inputs) + _bytes(2, output) + _bytes(3, output)
    given = b"".join(_bytes(5, _attribute(name, value)) for name, value in attributes.items())
    return named + _bytes(4, operator) + given + _bytes(7, domain)


def port(name: str, element: str, shape: Sequence[int | str]) -> bytes:
    """An input or output of the network; a size that differs from run to run has a name instead of a number."""
    sizes = b"".join(_bytes(1, _bytes(2, size) if isinstance(size, str) else _number(1, size)) for size in shape)
    return _bytes(1, name) + _bytes(2, _bytes(1, _number(1, ELEMENTS[element]) + _bytes(2, sizes)))


def network(
    nodes: Iterable[bytes], constants: Iterable[bytes], inputs: Iterable[bytes], outputs: Iterable[bytes]
) -> bytes:
    """The whole file."""
    fields = ((1, nodes), (5, constants), (11, inputs), (12, outputs))
    graph = b"".join(_bytes(field, part) for field, parts in fields for part in parts) + _bytes(2, "graph")
    versions = b"".join(_bytes(8, _bytes(1, domain) + _number(2, version)) for domain, version in _VERSIONS.items())
    return _number(1, _FORMAT) + _bytes(7, graph) + versions


def _attribute(name: str, value: float) -> bytes:
    if isinstance(value, int):
        return _bytes(1, name) + _number(3, value) + _number(20, _INTEGER_VALUE)
    return _bytes(1, name) + _variable(2 << 3 | 5) + struct.pack("<f", value) + _number(20, _FLOAT_VALUE)


def _number(field: int, value: int) -> bytes:
    return _variable(field << 3) + _variable(value % (1 << 64))


def _bytes(field: int, value: bytes | str) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return _variable(field << 3 | 2) + _variable(len(data)) + data


def _variable(value: int) -> bytes:
    """A number in as many bytes as it needs, seven bits in each."""
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)
