"""The odds that passages are relevant to a query, from what the engine and the models know of both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from memsweep.embed.protocol import Reader, Words
from memsweep.memory.relevance import MOST_WORDS, Asked, calibration_for, evidence_of, names_in, words_to_match
from memsweep.model.search import Passage

if TYPE_CHECKING:
    from memsweep.store.protocol import Store


class Judge(NamedTuple):
    """`model` embeds the texts, `meanings` knows single words, `reader` reads the best passages, if there is one."""

    model: str
    meanings: Words
    reader: Reader | None = None

    def odds(
        self,
        store: Store,
        query: str,
        passages: Sequence[tuple[Passage, float]],
        readings: Sequence[float | None] = (),
    ) -> list[tuple[float, tuple[str, ...]]]:
        """For passages with their cosines: the logarithm of the odds, and the words of the query that they have."""
        if not passages:
            return []
        texts = [words_to_match(passage) for passage, _ in passages]
        words, *matched = store.matched_words(query, [query, *texts])
        asked, nearest = Asked(words, names_in(query, words)), [[0.0]] * len(texts)
        prose = [place for place, (passage, _) in enumerate(passages) if passage.code is None]
        any_read = any(said is not None for said in readings)
        if prose and calibration_for(self.model, read=any_read).uncovered and len(words) <= MOST_WORDS:
            asked = asked._replace(rarities=tuple(self.meanings.rarities(words)))
            for place, close in zip(prose, self.meanings.nearest(words, [texts[at] for at in prose]), strict=True):
                nearest[place] = close
        judged = []
        for (passage, similarity), found, close, said in zip(
            passages, matched, nearest, readings or [None] * len(texts), strict=True
        ):
            weights = calibration_for(self.model, read=said is not None, code=passage.code is not None)
            judged.append((weights.odds(evidence_of(similarity, asked, found, close, said)), found))
        return judged
