"""The vectors of the bundled model's tokens, in its file: numbers of 16 bits, a row each."""

from __future__ import annotations

import json
import mmap
import struct
from pathlib import Path
from typing import NamedTuple


class ModelWeights(NamedTuple):
    """`raw` is a view of the mapped file."""

    raw: memoryview
    width: int

    @classmethod
    def mapped(cls, file: Path) -> ModelWeights:
        with file.open("rb") as opened:
            whole = memoryview(mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ))
        (header_size,) = struct.unpack_from("<Q", whole)
        header = json.loads(bytes(whole[8 : 8 + header_size]))
        tensor = next(entry for name, entry in header.items() if name != "__metadata__")
        first, end = (8 + header_size + offset for offset in tensor["data_offsets"])
        return cls(whole[first:end], tensor["shape"][1])

    def row(self, token: int) -> memoryview:
        return self.raw[2 * self.width * token : 2 * self.width * (token + 1)]

    def numbers(self, token: int) -> tuple[float, ...]:
        return struct.unpack_from(f"<{self.width}e", self.raw, 2 * self.width * token)
