"""A rule: one kind of secret, the words without which it is not looked for, and its pattern."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal, NamedTuple

from memsweep.secrets.examples import is_no_placeholder

Where = Literal["word", "keyword", "anywhere"]


class Rule(NamedTuple):
    """A tuple, so that the house test finds the pattern and times it.

    The secret is the group `value`, or `quoted`, or else the whole match. A keyword with capitals is looked for as it
    is, one in small letters in any case.
    """

    kind: str
    keywords: tuple[str, ...]
    pattern: re.Pattern[str]
    is_secret: Callable[[str], bool]
    where: Where = "keyword"
    """Where a match begins: with a long word that has the keyword at its front, with the keyword, or anywhere."""
    has_long_word: bool = False
    """A secret of this kind has one: a text without long words need not be looked through for it."""


class Secret(NamedTuple):
    """A secret in a text: its kind and its span."""

    kind: str
    start: int
    end: int


def key(
    kind: str, keywords: str, pattern: str, where: Where = "word", is_secret: Callable[[str], bool] = is_no_placeholder
) -> Rule:
    """A key that is known by its own form; it is a word of its own."""
    whole = rf"(?<![A-Za-z0-9])(?<![A-Za-z0-9][_.-])(?:{pattern})(?![A-Za-z0-9])"
    return Rule(kind, tuple(keywords.split()), re.compile(whole, re.ASCII), is_secret, where, has_long_word=True)


def context(
    kind: str,
    keywords: tuple[str, ...],
    pattern: str,
    is_secret: Callable[[str], bool],
    where: Where = "keyword",
    *,
    has_long_word: bool = False,
) -> Rule:
    """A secret that is known by what stands before it."""
    return Rule(kind, keywords, re.compile(pattern), is_secret, where, has_long_word)
