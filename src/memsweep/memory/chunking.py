"""Cut text into pieces of at most so many tokens, at the best places there are. Pure.

A piece prefers to end between paragraphs or after a fenced code block, then between lines or sentences,
then between words, and only cuts a word that is itself too long. Each piece after the first repeats up
to `overlap` tokens of the one before it, so that no sentence is found only by half.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

TokenEnds = Callable[[str], Sequence[int]]

DEFAULT_SIZE = 512
DEFAULT_OVERLAP = 50

_FENCE = re.compile(r"[ \t]*(```+|~~~+)")
_LINES = re.compile(r"[^\n]*\n+|[^\n]+")
_WORDS = re.compile(r"\s*\S+\s*|\s+")
# Nothing is tried twice (the `+` behind a quantifier, the look behind): a megabyte of dots is cut as fast as prose.
_SENTENCE_ENDS = re.compile(r"(?<![.!?。！？])(?:[.!?]++[\"')\]]*+\s++|[。！？]++[\"')\]」』]*+\s*+)")
_SENTENCE_BEGINS = re.compile(rf"\n+|{_SENTENCE_ENDS.pattern}")
_WORD_BEGINS = re.compile(r"\s+")
_BREAK = re.compile("\n")


def _paragraphs(text: str) -> list[str]:
    """Paragraphs with the blank lines behind them; a fenced code block is one, whatever is in it."""
    starts: list[int] = []
    at = 0
    fence: str | None = None
    open_part = False
    for line in text.splitlines(keepends=True):
        mark = _FENCE.match(line)
        begins = mark is not None and fence is None
        if begins or not open_part:
            starts.append(at)
            open_part = True
        at += len(line)
        if begins and mark:
            fence = mark.group(1)
        elif fence is not None and line.strip() == fence:
            fence = None
        elif fence is None and not line.strip():
            open_part = False
    return _parts(text, starts)


def _sentences(text: str) -> list[str]:
    return _parts(text, [0, *(found.end() for found in _SENTENCE_ENDS.finditer(text))])


def _parts(text: str, starts: Sequence[int]) -> list[str]:
    return [text[start:end] for start, end in pairwise([*starts, len(text)]) if start < end]


# From coarse to fine. Every splitter gives back parts that, joined, are the text.
_SPLITTERS: tuple[Callable[[str], list[str]], ...] = (
    _paragraphs,
    _LINES.findall,
    _sentences,
    _WORDS.findall,
)


@dataclass(frozen=True, slots=True)
class Piece:
    """`text[start:end]`; what stands before the end of the piece before is repeated."""

    start: int
    end: int


def cut(text: str, token_ends: TokenEnds, size: int = DEFAULT_SIZE, overlap: int = DEFAULT_OVERLAP) -> list[Piece]:
    """Pieces that are the text if what they repeat is left out. `token_ends(text)` gives where each token ends."""
    # A token is at least one byte, save one for the beginning, so short text needs no counting.
    if len(text) < size and len(text.encode()) < size:
        return [Piece(0, len(text))]
    ends = token_ends(text)
    if len(ends) <= size:
        return [Piece(0, len(text))]
    room = max(1, size - overlap)
    bounds = [0]
    filled, limit = 0, size
    for start, tokens in _atoms(text, 0, ends, room, 0):
        if filled and filled + tokens > limit:
            bounds.append(start)
            filled, limit = 0, room
        filled += tokens
    bounds.append(len(text))
    return [Piece(_repeat_from(text, begin, ends, overlap) if begin else 0, end) for begin, end in pairwise(bounds)]


def line_spans(text: str, pieces: Sequence[Piece]) -> list[tuple[int, int]]:
    """First and last line (from 1) of each piece."""
    breaks = [found.start() for found in _BREAK.finditer(text)]
    return [
        (bisect_left(breaks, piece.start) + 1, bisect_left(breaks, max(piece.start, piece.end - 1)) + 1)
        for piece in pieces
    ]


def _atoms(text: str, start: int, ends: Sequence[int], limit: int, level: int) -> Iterator[tuple[int, int]]:
    """Where each part begins that is not cut, the coarsest that fit into the limit, and how many tokens it has."""
    if level == len(_SPLITTERS):
        yield from _runs_of_tokens(start, start + len(text), ends, limit)
        return
    first = bisect_right(ends, start)
    for part in _SPLITTERS[level](text):
        end = start + len(part)
        last = bisect_right(ends, end, first)
        if last - first <= limit:
            yield start, last - first
        else:
            yield from _atoms(part, start, ends, limit, level + 1)
        start, first = end, last


def _runs_of_tokens(start: int, stop: int, ends: Sequence[int], limit: int) -> Iterator[tuple[int, int]]:
    """A word that is too long, cut between letters; one letter may be more tokens than the limit."""
    while start < stop:
        first, last = bisect_right(ends, start), bisect_right(ends, stop)
        if last - first <= limit:
            end = stop
        else:
            too_far = bisect_left(ends, ends[first + limit])
            end = ends[max(first, too_far - 1)]
        yield start, bisect_right(ends, end) - first
        start = end


def _repeat_from(text: str, fresh: int, ends: Sequence[int], overlap: int) -> int:
    """Where the repeated tail of `text[:fresh]` begins: at a sentence or line if one begins in reach, else a word."""
    last = bisect_right(ends, fresh)
    earliest = ends[last - overlap - 1] if last > overlap else 0
    for begins in (_SENTENCE_BEGINS, _WORD_BEGINS):
        if found := begins.search(text, earliest, fresh):
            return found.end() if found.end() < fresh else fresh
    return fresh if overlap <= 0 else earliest
