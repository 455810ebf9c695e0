"""Identifiers: the rule for names that people choose, the shape of those we make, and the kinds of what has them."""

from __future__ import annotations

import re
from typing import Literal

from memsweep.errors import BadInput

ItemKind = Literal["memory", "chunk", "entity", "relation", "segment", "record"]
"""A record is what the workspace keeps of itself: an event, a plan, a receipt, what something was before."""

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base 32: nothing that reads like something else
_PAIRS = tuple(first + second for first in _ALPHABET for second in _ALPHABET)

DEFAULT_WORKSPACE = "default"
PERSONAL_WORKSPACE = "personal"
DEFAULT_PROJECT = "default"
"""Of context windows."""
WORKSPACE_RECEIPT = "wsrcpt"


def check_name(value: str, what: str = "workspace id") -> str:
    """Return a workspace or project id unchanged, or refuse it."""
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise BadInput(
            f"{what} {_shown(value)} is not valid:",
            hint="use 1 to 63 of a-z, 0-9, '-' and '_', beginning with a letter or a digit.",
        )
    return value


def make_id(prefix: str, entropy: bytes) -> str:
    """An id such as `mem_0f3k9qz1v7xw`, from 8 random bytes that the caller hands in."""
    number = int.from_bytes(entropy, "big")
    pairs = [_PAIRS[(number >> shift) & 1023] for shift in range(50, -1, -10)]
    return f"{prefix}_{''.join(pairs)}"


def is_own_id(value: str, prefix: str) -> bool:
    """Return whether an id is of the shape that we make."""
    head, _, tail = value.partition("_")
    return head == prefix and len(tail) == 12 and all(letter in _ALPHABET for letter in tail)


def findable(value: object) -> str:
    """An id as it can be looked up: all that we make are ASCII, so nothing is known by anything else."""
    return value if isinstance(value, str) and value.isascii() else ""


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
