"""The law of text: what may be stored, how names are compared, how content is identified."""

from __future__ import annotations

import hashlib
import re
import unicodedata

from memsweep.errors import BadInput

MAX_TEXT_BYTES = 10 * 1024 * 1024
_SURROGATE = re.compile("[\ud800-\udfff]")
_CREDENTIALS = re.compile("//[^/@]*@")


def check_text(value: object, what: str, *, max_bytes: int = MAX_TEXT_BYTES) -> str:
    """Return text that can be stored and given back byte for byte, or say what is wrong with it."""
    if not isinstance(value, str):
        raise BadInput(f"{what} must be text, not {type(value).__name__}.")
    if not value.strip():
        raise BadInput(f"{what} is empty.", hint="Give at least one character that is not white space.")
    if "\0" in value:
        raise BadInput(f"{what} contains a NUL character at position {value.index(chr(0))}.", hint="Remove it.")
    if found := _SURROGATE.search(value):
        raise BadInput(
            f"{what} contains a lone surrogate ({found.group()!a}) at position {found.start()}.",
            hint="It is not valid Unicode; decode the text again or remove it.",
        )
    if (size := len(value.encode())) > max_bytes:
        raise BadInput(f"{what} has {size:,} bytes; at most {max_bytes:,} are accepted.", hint="Split it.")
    return value


def content_hash(text: str) -> bytes:
    """Identify content: 16 bytes, equal only for equal text."""
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


def name_key(name: str) -> str:
    """The form under which names are compared: Unicode-normalised, case-folded, single spaces."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def without_password(url: str) -> str:
    """An address as it may be shown."""
    return _CREDENTIALS.sub("//***@", url)
