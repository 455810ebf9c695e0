"""Choose the words of a query to ask for, and score chunks by them: BM25, as the embedded engine has it.

The server's own score knows neither length nor saturation. It chooses who is looked at; this decides.
"""

from __future__ import annotations

from collections.abc import Sequence

from memsweep.store.falkor import cypher
from memsweep.store.falkor.matching import scores, weight_of
from memsweep.store.falkor.transaction import GraphHandle
from memsweep.store.falkor.wire import Query, Row
from memsweep.store.falkor.words import any_of, terms_of_word, words_to_find
from memsweep.store.file.words import MAX_WORDS, is_small, rarest, words_of_heading

_COUNTED = 4 * MAX_WORDS
_SMALL = 5000  # below this many chunks words are counted for every query


class WordRanking:
    """The words of one workspace, with how many chunks have each of them."""

    def __init__(self, graph: GraphHandle) -> None:
        self._graph = graph
        self._frequency: dict[str, int] = {}
        self._counted_at = 0
        self._usual = 1.0  # how long a chunk is

    @property
    def chunks(self) -> int:
        """Return how many there were when they were counted last."""
        return self._counted_at

    def asked(self, query: str) -> list[Query]:
        """Return the queries for choosing words: number of chunks, hidden ones, and counts of words not counted yet."""
        words = _askable(query)
        measured = cypher.MEASURE_CHUNKS if self._counted_at < _SMALL else cypher.COUNT_CHUNKS
        return [(measured, {}), (cypher.HIDDEN_TERMS, {}), _counting(self._uncounted(words))] if words else []

    def words_for(self, query: str, replies: Sequence[list[Row]]) -> dict[str, int]:
        """The words to ask for, each with the number of chunks that have it and count; of few chunks those as well that
        only others have, which somebody may ask for."""
        known = self._known(query, replies)
        if not known:
            return {}
        live = _live(replies)
        having = known if is_small(live) else {word: count for word, count in known.items() if count}
        return {word: having[word] for word in rarest(having, live, words_of_heading(query))}

    def having(self, query: str, replies: Sequence[list[Row]]) -> dict[str, int]:
        """Return how many chunks have each word of a query; words that none has are left out."""
        return {word: count for word, count in self._known(query, replies).items() if count}

    def _known(self, query: str, replies: Sequence[list[Row]]) -> dict[str, int]:
        """Return how many chunks that count have each word of a query that any chunk has."""
        words = _askable(query)
        if not words:
            return {}
        ((_, *lengths),), hidden, counts = replies
        total = _live(replies)
        if not 0.9 * self._counted_at <= total <= 1.1 * self._counted_at or total < _SMALL:
            if self._frequency and len(self._uncounted(words)) < len(words):
                counts = self._graph.ask_all(_counting(words))[0]
            self._frequency, self._counted_at = {}, total
            (length,) = lengths or self._graph.ask(cypher.MEASURE_CHUNKS)[0][1:]
            self._usual = max(1.0, (length - sum(each[2] or 0 for each in hidden)) / max(1, total))
        counted = dict(map(tuple, counts))
        # What nobody has is asked again next time: it may have been added by then.
        self._frequency |= {word: counted[said] for word in words if (said := any_of([word])) in counted}
        uncounted = _having([set(terms.split(" ")) for _, terms, _ in hidden], words)
        return {word: max(0, self._frequency[word] - uncounted[word]) for word in words if word in self._frequency}

    def _uncounted(self, words: Sequence[str]) -> list[str]:
        if self._counted_at < _SMALL:
            return list(words)
        return [word for word in words if word not in self._frequency]

    def scores(self, query: str, words: dict[str, int], texts: dict[int, str]) -> dict[int, float]:
        """Return how well each chunk answers these words of a query, by key; `texts` are their terms."""
        total = max(1, self._counted_at, *words.values())
        twice = words_of_heading(query)
        weights = {word: weight_of(total, having) * (1 + (word in twice)) for word, having in words.items()}
        return scores(texts, [(weight, terms_of_word(word)) for word, weight in weights.items()], self._usual)


def _live(replies: Sequence[list[Row]]) -> int:
    """Return how many chunks count."""
    ((total, *_),), hidden, _ = replies
    return int(total) - len(hidden)


def _askable(query: str) -> list[str]:
    words = [word for word in words_to_find(query) if terms_of_word(word)]
    return words if len(words) <= _COUNTED else words[: _COUNTED // 2] + words[-_COUNTED // 2 :]


def _having(texts: Sequence[set[str]], words: Sequence[str]) -> dict[str, int]:
    """Return how many of some texts, as sets of terms, have each word."""
    return {word: sum(terms.issuperset(terms_of_word(word)) for terms in texts) for word in words}


def _counting(words: Sequence[str]) -> Query:
    return cypher.COUNT_EACH, {"words": [any_of([word]) for word in words]}
