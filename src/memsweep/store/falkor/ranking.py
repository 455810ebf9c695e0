"""Which words of a query to ask for, and how well a chunk answers them: BM25, as the embedded engine has it.

The server's own score knows neither length nor saturation. It chooses who is looked at; this decides.
Postings decide what a query costs, so on a large workspace the rarest words come first, until their
chunks add up to about half of all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from memsweep.store.falkor import cypher
from memsweep.store.falkor.matching import score, weight_of
from memsweep.store.falkor.transaction import Graph
from memsweep.store.falkor.words import MAX_WORDS, any_of, terms_of_word, words_of

_SMALL = 5000  # below this many chunks every word is used
_POSTINGS_SHARE = 0.5


class Ranking:
    """The words of one workspace, with how many chunks have each of them."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._frequency: dict[str, int] = {}
        self._counted_at = 0

    def words_for(self, query: str) -> dict[str, int]:
        """The words to ask for, each with the number of chunks that have it."""
        words = [word for word in words_of(query) if terms_of_word(word)]
        if not words:
            return {}
        ((total,),) = self._graph.ask(cypher.COUNT_CHUNKS)
        if total > 1.1 * self._counted_at or total < 0.9 * self._counted_at or total < _SMALL:
            self._frequency, self._counted_at = {}, total
        self._count(words[: 4 * MAX_WORDS])
        ranked = sorted((word for word in words if self._frequency.get(word)), key=self._frequency.__getitem__)
        chosen: dict[str, int] = {}
        for word in ranked[:MAX_WORDS]:
            if chosen and total > _SMALL and sum(chosen.values()) + self._frequency[word] > _POSTINGS_SHARE * total:
                break
            chosen[word] = self._frequency[word]
        return chosen

    def _count(self, words: Sequence[str]) -> None:
        missing = [word for word in words if word not in self._frequency]
        if missing:
            counts = self._graph.ask_all(*((cypher.COUNT_MATCHES, {"words": any_of([word])}) for word in missing))
            # What nobody has is asked again next time: it may have been added by then.
            self._frequency |= {word: rows[0][0] for word, rows in zip(missing, counts, strict=True) if rows[0][0]}

    def scores(self, words: dict[str, int], texts: dict[int, str]) -> dict[int, float]:
        """How well each chunk answers, by key; `texts` are their terms."""
        terms = {key: text.split(" ") for key, text in texts.items()}
        usual = sum(map(len, terms.values())) / max(1, len(terms))
        total = max(self._counted_at, *words.values()) if words else 0
        weights = {word: weight_of(total, having) for word, having in words.items()}
        parts = {word: terms_of_word(word) for word in words}
        return {key: score(Counter(found), len(found) / usual, weights, parts) for key, found in terms.items()}
