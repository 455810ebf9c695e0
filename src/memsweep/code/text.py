"""From bytes to text: which encoding, and whether it is text at all."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

SNIFFED_BYTES = 8192
_MARKS: tuple[tuple[bytes, str], ...] = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_FALLBACKS = ("utf-8", "cp1252", "latin-1")


@dataclass(frozen=True, slots=True)
class Decoded:
    """Text with `\\n` for every line end, and the encoding that gave it."""

    text: str
    encoding: str

    @property
    def line_count(self) -> int:
        """Lines as an editor counts them: a line end at the very end begins no line."""
        return len(self.text.split("\n")) - (self.text == "" or self.text.endswith("\n"))


def decode(data: bytes) -> Decoded | None:
    """UTF-8, or what a byte order mark says, or a single-byte encoding; None for a binary file."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            text = _decoded(data, encoding)
            return None if text is None else Decoded(text, encoding)
    if b"\0" in data[:SNIFFED_BYTES]:
        return None
    for encoding in _FALLBACKS:
        text = _decoded(data, encoding)
        if text is not None:
            return Decoded(text, encoding)
    return None


def _decoded(data: bytes, encoding: str) -> str | None:
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        return None
    # One line end only: lines are counted alike everywhere, and a checkout that turns the line ends
    # of a file around does not change its chunks.
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
