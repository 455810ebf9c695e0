"""Count the tokens of a text: by the caller's counter, or an estimate that says it is one."""

from __future__ import annotations

from collections.abc import Callable

CountTokens = Callable[[str], int]

ESTIMATE = "length/4"
"""The name of the fallback, for answers that must say how they counted."""


def estimate_tokens(text: str) -> int:
    """A quarter of the length, rounded up: too high on prose, far too low on logs."""
    return -(-len(text) // 4)


def counter_name(count: CountTokens) -> str:
    """Return the way in which tokens were counted, in the words of an answer."""
    return ESTIMATE if count is estimate_tokens else getattr(count, "__name__", "given")
