"""Models whose files a package of the registry carries: found without importing it, checked, run by onnxruntime.

Who carries the files is not who made them, so only files with a known SHA-256 are used. Nothing here can touch the
network.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

from memsweep.errors import BadSetting, EmbedderError, install_extra
from memsweep.forking import after_fork
from memsweep.model.frozen import frozen

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
