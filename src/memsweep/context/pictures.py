"""Estimate the cost of pictures and documents in a message: by their size, as far as it can be read.

A picture costs width × height / 750 tokens and 1,600 at most (larger ones are scaled down before a model sees them);
85 where `detail` is low. If the width and the height cannot be read, 250 bytes count as a token; one that is only
linked to counts as 1,600. A document of text costs its text, any other 2,000 tokens a page.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Any

PICTURES = ("image", "image_url", "input_image")
DOCUMENTS = ("document", "file", "input_file")
_PIXELS_A_TOKEN = 750
_BYTES_A_TOKEN = 250
_MOST_TOKENS = 1600
_LOW_DETAIL_TOKENS = 85
_PAGE_TOKENS = 2000
_HEAD_CHARS = 1 << 20
"""So much of the data is looked at for the size of a picture: a JPEG has its size behind its thumbnails."""
_PAGE = re.compile(rb"/Type\s*/Page\b")
_NOT_BASE64 = re.compile(r"[^A-Za-z0-9+/]")
_URL_KEYS = ("url", "image_url", "file_data", "file_url")
_DATA_KEYS = ("data", "base64", "file_data")


def media_tokens(block: Mapping[str, Any]) -> int:
    """The tokens of a picture or of a document that is not text."""
    sources = [block, *(block[key] for key in ("source", "image_url", "file") if isinstance(block.get(key), Mapping))]
    if block.get("type") in DOCUMENTS:
        return _PAGE_TOKENS * max(1, len(_PAGE.findall(_decoded(_data(sources)))))
    if any(source.get("detail") == "low" for source in sources):
        return _LOW_DETAIL_TOKENS
    data = _data(sources)
    if not data:
        return _MOST_TOKENS
    size = picture_size(_decoded(data[:_HEAD_CHARS]))
    tokens = -(-size[0] * size[1] // _PIXELS_A_TOKEN) if size else len(data) * 3 // 4 // _BYTES_A_TOKEN
    return min(_MOST_TOKENS, max(1, tokens))


def document_text(block: Mapping[str, Any]) -> str | None:
    """The text of a document that was handed in as text."""
    source = block.get("source")
    if isinstance(source, Mapping) and source.get("type") == "text" and isinstance(source.get("data"), str):
        return str(source["data"])
    return None


def picture_size(head: bytes) -> tuple[int, int] | None:
    """Width and height of a PNG, GIF, WebP or JPEG, from its first bytes."""
    if head.startswith(b"\x89PNG\r\n\x1a\n") and len(head) >= 24:
        return int.from_bytes(head[16:20]), int.from_bytes(head[20:24])
    if head[:6] in (b"GIF87a", b"GIF89a") and len(head) >= 10:
        return int.from_bytes(head[6:8], "little"), int.from_bytes(head[8:10], "little")
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP" and len(head) >= 30:
        return _webp_size(head)
    return _jpeg_size(head) if head.startswith(b"\xff\xd8") else None


def _webp_size(head: bytes) -> tuple[int, int] | None:
    match head[12:16]:
        case b"VP8X":
            return 1 + int.from_bytes(head[24:27], "little"), 1 + int.from_bytes(head[27:30], "little")
        case b"VP8L":
            bits = int.from_bytes(head[21:25], "little")
            return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
        case b"VP8 ":
            return int.from_bytes(head[26:28], "little") & 0x3FFF, int.from_bytes(head[28:30], "little") & 0x3FFF
    return None


def _jpeg_size(head: bytes) -> tuple[int, int] | None:
    """Marker by marker to the frame header, which has the size."""
    at = 2
    while at + 9 <= len(head) and head[at] == 0xFF:
        marker = head[at + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            return int.from_bytes(head[at + 7 : at + 9]), int.from_bytes(head[at + 5 : at + 7])
        at += 2 + max(2, int.from_bytes(head[at + 2 : at + 4]))
    return None


def _data(sources: list[Mapping[str, Any]]) -> str:
    """The base64 of a block, wherever its provider puts it."""
    for source in sources:
        for key in _URL_KEYS:
            if isinstance(value := source.get(key), str) and value.startswith("data:"):
                return value.partition(",")[2]
        for key in _DATA_KEYS:
            if isinstance(value := source.get(key), str):
                return value
    return ""


def _decoded(data: str) -> bytes:
    clean = _NOT_BASE64.sub("", data)
    if len(clean) % 4 == 1:  # half a byte, which nothing can be made of
        clean = clean[:-1]
    return base64.b64decode(clean + "=" * (-len(clean) % 4))
