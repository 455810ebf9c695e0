"""A transformer of the family of BERT as a network for onnxruntime, its matrices in small integers.

Weights have seven bits and a scale for each row. Eight would overflow the sums of processors that have no instruction
for these products, and the same text would have another vector there; the seventh bit costs nothing in recall@10.
What a matrix is multiplied with is rounded to eight bits as it comes, by one scale for all tokens of a run.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from memsweep.errors import BadSetting, EmbedderError, install_extra
from memsweep.forking import after_fork
from memsweep.model.frozen import frozen

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


# The little of the ONNX format that networks of ours need, written and read by hand.
# The `onnx` package would do the same, and weighs more than the models. The numbers are the fields of
# https://github.com/onnx/onnx/blob/main/onnx/onnx.proto, which never change their meaning.

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


# Models whose files a package of the registry carries: found without importing it, checked, run by onnxruntime.
# Who carries the files is not who made them, so only files with a known SHA-256 are used. Nothing here can touch the
# network.

Item = TypeVar("Item")
Result = TypeVar("Result")


@frozen
class PackagedModel:
    """The files of a model. `carriers`: packages that have them, and in which of their folders; `chosen_by`: the
    setting and its value, `extra`: what installs the first of the packages."""

    carriers: Mapping[str, Path]
    chosen_by: str
    extra: str

    def folder(self) -> Path:
        """Return the folder of the files."""
        if importlib.util.find_spec("onnxruntime") is None:
            raise self._missing("onnxruntime")
        for package, folder in self.carriers.items():
            spec = importlib.util.find_spec(package)
            if spec is not None and spec.submodule_search_locations:
                return Path(spec.submodule_search_locations[0]) / folder
        raise self._missing(next(iter(self.carriers)).replace("_", "-"))

    def checked(self, folder: Path, name: str, checksum: str) -> Path:
        """The file, if it is the one that is known."""
        path = folder / name
        hint = f"Install it again, with --reinstall (pip: --force-reinstall). {install_extra(self.extra)}"
        try:
            with path.open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise EmbedderError(f"{path} cannot be read ({error.strerror}).", hint=hint) from None
        if found != checksum:
            raise EmbedderError(f"{path} is damaged, or of another model.", hint=hint)
        return path

    def _missing(self, package: str) -> BadSetting:
        return BadSetting(
            f"{self.chosen_by} needs the package {package!r}, which is not installed.",
            hint=install_extra(self.extra),
        )


class Workers:
    """Threads that each run a network on one item at a time; `threads` 0: one per core."""

    def __init__(self, threads: int) -> None:
        self._threads = threads or os.cpu_count() or 1
        after_fork(self)

    def leave_to_parent(self, *, torn: bool) -> None:
        self.__dict__.pop("_pool", None)  # whose threads are not in a forked child

    def map(self, run: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
        return map(run, items) if len(items) == 1 or self._threads == 1 else self._pool.map(run, items)

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self._threads, thread_name_prefix="model")


def tokenizer_from(path: Path) -> Any:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def session_of(network: bytes | str) -> Any:
    """Runs a network, given as bytes or by the name of its file, on one thread."""
    import onnxruntime

    onnxruntime.disable_telemetry_events()  # builds for Windows have them
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.enable_mem_pattern = False  # it would remember a plan for every length of text
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(network, options, providers=["CPUExecutionProvider"])


def windows(ids: Sequence[int], most: int) -> list[Sequence[int]]:
    """As few windows as possible, of nearly the same length and `most` tokens at most."""
    count = max(1, -(-len(ids) // most))
    edges = [len(ids) * number // count for number in range(count + 1)]
    return [ids[start:end] for start, end in pairwise(edges)]
