"""The little of the ONNX format that networks of ours need, written and read by hand. Pure.

The `onnx` package would do the same, and weighs more than the models. The numbers are the fields of
https://github.com/onnx/onnx/blob/main/onnx/onnx.proto, which never change their meaning.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

CONTRIB = "com.microsoft"  # the operators that onnxruntime adds
_VERSIONS = {"": 17, CONTRIB: 1}
_FORMAT = 8
ELEMENTS = {"float32": 1, "uint8": 2, "int8": 3, "int32": 6}
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


def constants_of(file: memoryview) -> dict[str, npt.NDArray[np.generic]]:
    """The constants of a network that somebody else wrote, by name, in their order; views of the file where it can be.

    Only whole files with a known checksum are read: nothing here expects a damaged one.
    """
    graph = next(value for field, value in _fields(file) if field == 7)
    assert isinstance(graph, memoryview)
    return dict(_constant(value) for field, value in _fields(graph) if field == 5 and isinstance(value, memoryview))


def _constant(tensor: memoryview) -> tuple[str, npt.NDArray[np.generic]]:
    """A single value stands in a list of its type (4: floats, 5: integers), many as bytes (9)."""
    import numpy as np

    shape: list[int] = []
    name, kind, values = "", 0, memoryview(b"")
    for field, value in _fields(tensor):
        match field, value:
            case (1, int()):
                shape.append(value)
            case (1, memoryview()):
                shape += _numbers(value)
            case (2, int()):
                kind = value
            case (8, memoryview()):
                name = bytes(value).decode()
            case (4 | 9, memoryview()):
                values = value
            case (5, memoryview()):
                values = memoryview(bytes(number % 256 for number in _numbers(value)))
            case (5, int()):
                values = memoryview(bytes([value % 256]))
    element = {number: element for element, number in ELEMENTS.items()}[kind]
    return name, np.frombuffer(values, element).reshape(shape)


def _fields(message: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    place = 0
    while place < len(message):
        key, place = _variable_at(message, place)
        match key & 7:
            case 0:
                value, place = _variable_at(message, place)
                yield key >> 3, value
            case 2:
                size, place = _variable_at(message, place)
                yield key >> 3, message[place : place + size]
                place += size
            case kind:
                size = {1: 8, 5: 4}[kind]
                yield key >> 3, message[place : place + size]
                place += size


def _numbers(packed: memoryview) -> Iterator[int]:
    place = 0
    while place < len(packed):
        value, place = _variable_at(packed, place)
        yield value


def _variable_at(data: memoryview, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[place]
        value |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if byte < 128:
            return value, place
