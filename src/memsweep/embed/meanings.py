"""Single words by the vectors of the bundled model: how rare a word is, and how close it comes to those of a text."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, chain, islice, repeat
from operator import add

from memsweep.embed.weights import ModelWeights
from memsweep.forking import new_lock
from memsweep.numeric import compared, numpy_for

_WORD = re.compile(r"[^\W_]+")
_MOST_WORDS = 16_384  # that are kept: 5 MB, twice as much if none is a token by itself
_MOST_TEXTS = 2048  # some 2 MB beside the texts
_VOCABULARY = 32_000


class Meanings:
    """Vectors of words; those of words and texts met lately are kept. Safe to use from several threads."""

    def __init__(self, tokens: Callable[[str], list[int]], weights: ModelWeights) -> None:
        self._tokens, self._weights = tokens, weights
        self._lock = new_lock()
        self._forget()

    def rarities(self, words: Sequence[str]) -> list[float]:
        """From 0 to 1, by where a word stands in the model's vocabulary: the most frequent come first."""
        return [math.log(max(self._tokens(word), default=0) + 10) / math.log(_VOCABULARY) for word in words]

    def nearest(self, words: Sequence[str], texts: Sequence[str]) -> list[list[float]]:
        """For each text and each of the words, the best cosine with a word of the text."""
        if not words or not texts:
            return [[] for _ in texts]
        with self._lock:
            if len(self._places) > _MOST_WORDS:
                self._forget()
            if len(self._texts) > _MOST_TEXTS:
                self._texts.clear()
            self._read(texts)
            asked, of_text = self._places_of(words), [self._texts[text] for text in texts]
            rows, lengths = self._rows, self._lengths
        every = list(chain.from_iterable(of_text))
        met = list(dict.fromkeys(every))
        spots = dict(zip(met, range(len(met)), strict=True))
        mine, theirs = (b"".join(map(rows.__getitem__, places)) for places in (asked, met))
        dots = compared(mine, theirs, self._weights.width, "dot", "float16")
        mine_long, theirs_long = [lengths[place] for place in asked], [lengths[place] for place in met]
        at = list(map(spots.__getitem__, every))
        return _best(dots, mine_long, theirs_long, at, list(map(len, of_text)))

    def _forget(self) -> None:
        self._places: dict[str, int] = {}
        self._texts: dict[str, list[int]] = {}
        self._rows: list[bytes | memoryview] = []
        self._lengths: list[float] = []

    def _read(self, texts: Sequence[str]) -> None:
        """Get to know the words of some texts, all new ones at once."""
        new = {text: list(set(_WORD.findall(text.lower()))) or [""] for text in texts if text not in self._texts}
        places = iter(self._places_of([word for words in new.values() for word in words]))
        self._texts |= {text: list(islice(places, len(words))) for text, words in new.items()}

    def _places_of(self, words: Sequence[str]) -> list[int]:
        if new := [word for word in dict.fromkeys(words) if word not in self._places]:
            self._learn(new)
        return list(map(self._places.__getitem__, words))

    def _learn(self, words: Sequence[str]) -> None:
        rows = [self._row(self._tokens(word)) for word in words]
        width = self._weights.width
        squares = compared(bytes(2 * width), b"".join(rows), width, "sqeuclidean", "float16")
        self._places |= {word: at for at, word in enumerate(words, len(self._rows))}
        self._rows += rows
        self._lengths += [math.sqrt(square) or math.inf for square in squares]

    def _row(self, tokens: Sequence[int]) -> bytes | memoryview:
        """Most words are a token, and have its row as it is."""
        if len(tokens) == 1:
            return self._weights.row(tokens[0])
        width = self._weights.width
        if (np := numpy_for(width * len(tokens))) is not None:
            halves = np.frombuffer(b"".join(map(self._weights.row, tokens)), np.float16)
            summed_halves: bytes = halves.reshape(-1, width).sum(axis=0, dtype=np.float64).astype(np.float16).tobytes()
            return summed_halves
        summed: Iterable[float] = repeat(0.0, width)
        for row in map(self._weights.numbers, tokens):
            summed = map(add, summed, row)
        return struct.pack(f"<{width}e", *summed)


def _best(
    dots: memoryview[float], mine: list[float], theirs: list[float], spots: list[int], sizes: list[int]
) -> list[list[float]]:
    """For each text and each of my words, the best cosine with those of theirs that the text has: one text behind the
    other, of these sizes."""
    ends = list(accumulate(sizes))
    np = numpy_for(len(dots))
    if np is not None:
        cosines = np.frombuffer(dots).reshape(len(mine), -1) / (np.array(mine)[:, None] * np.array(theirs))
        best: list[list[float]] = np.maximum.reduceat(cosines[:, spots], [0, *ends[:-1]], axis=1).T.tolist()
        return best
    rows = [dots[at : at + len(theirs)] for at in range(0, len(dots), len(theirs))]
    close = [
        [dot / (own * other) for dot, other in zip(row, theirs, strict=True)]
        for row, own in zip(rows, mine, strict=True)
    ]
    of_text = [spots[end - size : end] for end, size in zip(ends, sizes, strict=True)]
    return [[max(map(row.__getitem__, places)) for row in close] for places in of_text]
