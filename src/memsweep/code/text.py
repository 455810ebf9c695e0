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
_FALLBACKS = ("cp1252", "latin-1")
_BINARY_STARTS = (b"%PDF-", b"\x89PNG", b"GIF8", b"PK\x03\x04", b"\x1f\x8b", b"\xff\xd8\xff")
_COMPRESSED_STARTS = (b"x\x01", b"x\x5e", b"x\x9c", b"x\xda", b"BZh", b"\xfd7zXZ", b"(\xb5/\xfd")
"""Of zlib (git objects), bzip2, xz and zstd: two of them could also begin a text, which these are not if not UTF-8."""
_CONTROLS = bytes({*range(32), 127} - set(b"\t\n\v\f\r\b\x1a\x1b"))
_BYTES_A_CONTROL = 200
"""Compressed data has a control character in every tenth byte."""


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
    if b"\0" in data[:SNIFFED_BYTES] or data.startswith(_BINARY_STARTS):
        return None
    text = _decoded(data, "utf-8")
    if text is not None:
        return Decoded(text, "utf-8")
    # Any bytes at all can be read as a single-byte encoding; only those without control characters were written so.
    if data.startswith(_COMPRESSED_STARTS) or _controls(data) * _BYTES_A_CONTROL > len(data):
        return None
    for encoding in _FALLBACKS:
        text = _decoded(data, encoding)
        if text is not None:
            return Decoded(text, encoding)
    return None


def _controls(data: bytes) -> int:
    return len(data) - len(data.translate(None, _CONTROLS))


def _decoded(data: bytes, encoding: str) -> str | None:
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        return None
    # One line end only: lines are counted alike everywhere, and a checkout that turns the line ends
    # of a file around does not change its chunks.
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
