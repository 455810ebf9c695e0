"""Single words by the vectors of the bundled model: how rare a word is, and how close it comes to those of a text."""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from memsweep.embed.protocol import quantised

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]
    Places = npt.NDArray[np.intp]

_WORD = re.compile(r"[^\W_]+")
_MOST_WORDS = 16_384  # that are kept: 4 MB
_MOST_TEXTS = 2048  # some 2 MB beside the texts
_VOCABULARY = 32_000


class Meanings:
    """Vectors of words as bytes; those of words and texts met lately are kept. Safe to use from several threads."""

    def __init__(
        self, tokens: Callable[[str], list[int]], vectors: Callable[[Sequence[str]], Floats], dimension: int
    ) -> None:
        """`vectors` gives one row for each word."""
        self._tokens, self._vectors, self._dimension = tokens, vectors, dimension
        self._lock = threading.Lock()
        self._forget()

    def rarities(self, words: Sequence[str]) -> list[float]:
        """From 0 to 1, by where a word stands in the model's vocabulary: the most frequent come first."""
        return [math.log(max(self._tokens(word), default=0) + 10) / math.log(_VOCABULARY) for word in words]

    def nearest(self, words: Sequence[str], texts: Sequence[str]) -> list[list[float]]:
        """For each text and each of the words, the best cosine with a word of the text."""
        import numkong
        import numpy as np

        if not words or not texts:
            return [[] for _ in texts]
        with self._lock:
            if len(self._places) > _MOST_WORDS:
                self._forget()
            if len(self._texts) > _MOST_TEXTS:
                self._texts.clear()
            self._learn(words)
            self._read(texts)
            asked, of_text = self._places_of(words), [self._texts[text] for text in texts]
            every = np.concatenate(of_text)
            mine, theirs = self._rows[asked], self._rows[every]
            lengths = self._lengths[asked][:, None] * self._lengths[every]
        cosines = np.asarray(numkong.cdist(mine, theirs, metric="dot")) / lengths
        starts = np.cumsum([0, *map(len, of_text[:-1])])
        best: list[list[float]] = np.maximum.reduceat(cosines, starts, axis=1).T.tolist()
        return best

    def _forget(self) -> None:
        import numpy as np

        self._places: dict[str, int] = {}
        self._texts: dict[str, Places] = {}
        self._rows, self._lengths = np.zeros((0, self._dimension), np.int8), np.zeros(0, np.float32)

    def _read(self, texts: Sequence[str]) -> None:
        """Get to know the words of some texts, all that are new at once."""
        new = {text: list(set(_WORD.findall(text.lower()))) or [""] for text in texts if text not in self._texts}
        self._learn([word for words in new.values() for word in words])
        for text, words in new.items():
            self._texts[text] = self._places_of(words)

    def _places_of(self, words: Sequence[str]) -> Places:
        import numpy as np

        return np.array([self._places[word] for word in words], np.intp)

    def _learn(self, words: Sequence[str]) -> None:
        import numpy as np

        new = [word for word in dict.fromkeys(words) if word not in self._places]
        if not new:
            return
        known, needed = len(self._places), len(self._places) + len(new)
        if needed > len(self._rows):
            room = max(needed, 2 * known, 1024)
            self._rows, self._lengths = np.resize(self._rows, (room, self._dimension)), np.resize(self._lengths, room)
        rows = quantised(self._vectors(new))
        lengths = np.sqrt((rows.astype(np.float32) ** 2).sum(axis=1))
        self._rows[known:needed], self._lengths[known:needed] = rows, np.where(lengths, lengths, np.inf)
        self._places.update(zip(new, range(known, needed), strict=True))
