"""Words by which a full text finds every text that says the same as one, or nearly so. Pure.

A full text has words of its own: it takes a sign that it does not know for a letter, and knows no two spellings of one.
So only those words count that it is sure to have wherever they stand in a text that says the same.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import cache
from typing import NamedTuple

from memsweep.model.likeness import Comparable, WordToken

_LONGEST_WORD = 40  # in letters; what is longer may have been cut
_MOST_TOGETHER = 4  # words that are asked for at once; more make a question no sharper
_NO_TOKEN = WordToken("", "", False)
# Letters that are written in no other way but as capitals: Cyrillic, Hebrew, Arabic.
_SPACED = re.compile(r"[\u0430-\u0438\u043a-\u044f\u0454\u0456]+|[\u05d0-\u05ea]+|[\u0627-\u063a\u0641-\u064a]+")
_UNSPACED = re.compile(r"[\u3041-\u3094\u30a1-\u30fa\u4e00-\u9fa5]+")  # the Japanese syllabaries, Han
_VARIANTS = (range(0x3041, 0x30FB), range(0xF900, 0xFB00), range(0x2F800, 0x2FA20))  # where letters are others, too


class DistinctiveWords(NamedTuple):
    """Words by which an index finds all texts that say the same as one, or nearly so."""

    needed: tuple[str, ...]
    """Each of these is in all of them."""
    others: tuple[str, ...]
    most_missing: int
    """And no more than so many of both are missing in one."""


class WordGroups(NamedTuple):
    """A query for texts with all `needed` words, and all of one of the `groups` if there are any."""

    needed: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...]


def distinctive_words(text: Comparable) -> DistinctiveWords:
    """The words of a text that say which others may say the same.

    Two texts that share `NEAR` of their runs lack no more than a ninth of those of either, and each word but the last
    two begins a run of its own. What states a fact stands beside the same facts in both, whatever is between them.
    """
    order = [token for token in text.tokens if token.is_fact] if text.runs else list(text.tokens)
    apart = (
        token.key
        for before, token, after in zip((_NO_TOKEN, *order), order, (*order[1:], _NO_TOKEN), strict=False)
        if not _joins_next(before.key) and not _joins_both(after.key)
    )
    needed = dict.fromkeys(filter(None, map(_sought, apart)))
    if not text.runs:
        return DistinctiveWords(tuple(needed), (), 0)
    others = dict.fromkeys(word for key in dict.fromkeys(text.words) if (word := _sought(key)) and word not in needed)
    joined = sum(_joins_next(key) + _joins_both(key) for key in text.facts)
    return DistinctiveWords(tuple(needed), tuple(others), len(text.runs) // 9 + 2 + joined)


def fewest(distinctive: DistinctiveWords, counts: Mapping[str, int]) -> list[str] | None:
    """The words that the fewest texts have, where every text that says the same has one; None if there are none."""
    ordered = _rarest_first((*distinctive.needed, *distinctive.others), counts)
    ways = [_rarest_first(distinctive.needed, counts)[:1]] if distinctive.needed else []
    if len(ordered) > distinctive.most_missing:
        ways.append(ordered[: distinctive.most_missing + 1])
    return min(ways, key=lambda words: sum(counts.get(word, 0) for word in words), default=None)


def word_groups(distinctive: DistinctiveWords, counts: Mapping[str, int]) -> WordGroups:
    """Return the groups of words to look for where each word alone is common.

    Of so many groups of words, one more than words may be missing, every such text has all words of one.
    """
    needed = _rarest_first(distinctive.needed, counts)[:_MOST_TOGETHER]
    others, count = _rarest_first(distinctive.others, counts), distinctive.most_missing + 1
    groups = [tuple(others[at::count][:_MOST_TOGETHER]) for at in range(count)] if len(others) >= count else []
    return WordGroups(tuple(needed), tuple(groups))


def _rarest_first(words: Iterable[str], counts: Mapping[str, int]) -> list[str]:
    return sorted(words, key=lambda word: (counts.get(word, 0), word))


def _joins_next(key: str) -> bool:
    """Return whether a full text may join the next word to this: behind 5.5, or a sign it does not know."""
    return (key[:1].isdecimal() and not key.isalnum()) or _joins_both(key)


def _joins_both(key: str) -> bool:
    """The same of the word before it."""
    return not key.isascii() and not key[0].isalnum()


def _sought(key: str) -> str:
    """Return the part that full texts find wherever this word stands, however written; empty if none is sure."""
    if key.isascii():
        return key if key.isalnum() and len(key) <= _LONGEST_WORD else ""
    if _SPACED.fullmatch(key):
        return key if len(key) <= _LONGEST_WORD else ""
    parts = (part for run in _UNSPACED.findall(key) for part in _without_variants(run))
    return max(parts, key=len, default="")[:_LONGEST_WORD]  # of letters without spaces every part is found


def _without_variants(run: str) -> list[str]:
    return "".join(" " if letter in _with_variants() else letter for letter in run).split()


@cache
def _with_variants() -> frozenset[str]:
    """Letters for which another one may be written, or two."""
    letters = [chr(code) for block in _VARIANTS for code in block]
    composed = {form for letter in letters if (form := unicodedata.normalize("NFC", letter)) != letter}
    return frozenset(composed | {letter for letter in letters if not unicodedata.is_normalized("NFD", letter)})
