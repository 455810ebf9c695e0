"""Which passages of a ranking are an answer: the precise mode of search. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from memsweep.model.search import Ranked
from memsweep.remember.relevance import relevance_of

CONSIDERED = 50
"""How many of the best are judged: a precise answer has no more."""
LEAST_ODDS = -0.4
"""Below, a passage is no answer; as a relevance 0.4."""
_LEAST_OF_CODE = -1.0  # the names that a question is about may stand in other pieces of the file
_BEHIND_THE_BEST = 0.6  # in odds; what is further behind answers something else
_BEHIND_THE_OTHER_KIND = 2.0  # the same for the best of the code beside that of the memories, and the other way round
_BEYOND_DOUBT = 4.0  # what has these odds, as where every word is met, answers whatever else there is
_SCORE_SHARE = 0.33  # of the best score, for what its neighbours speak for
_CODE_SHARE = 0.2  # the same for code, where one looks for places more than for an answer


class Judged(NamedTuple):
    """A passage of a ranking with the logarithm of the odds that it is relevant."""

    ranked: Ranked
    odds: float
    is_code: bool = False

    @property
    def relevance(self) -> float:
        return relevance_of(self.odds)


def precise(judged: Sequence[Judged], *, calibrated: bool = True) -> list[Judged]:
    """Those that answer, in their order; nothing if not even the best does.

    Memories and code are judged apart, so that neither crowds out the other. Where nobody has measured what the odds of
    an embedding model mean, scores alone decide.
    """
    if not calibrated:
        least_score = _SCORE_SHARE * _best_score(judged)
        return [each for each in judged if each.ranked.score >= least_score]
    least = _best_odds(judged) - _BEHIND_THE_OTHER_KIND
    code = [each for each in judged if each.is_code]
    memories = [each for each in judged if not each.is_code]
    kept = {*_answering(memories, max(least, LEAST_ODDS)), *_answering(code, max(least, _LEAST_OF_CODE))}
    return [each for each in judged if each in kept]


def _answering(judged: Sequence[Judged], least: float) -> list[Judged]:
    """A turn of a conversation may answer by what stands beside it, and a piece of code by the rest of its file:
    once something answers, their scores count, too."""
    best, best_score = _best_odds(judged), _best_score(judged)
    if best < least:
        return []
    enough = min(_BEYOND_DOUBT, max(least, best - _BEHIND_THE_BEST))
    return [each for each in judged if each.odds >= enough or _stands_out(each, best_score)]


def _stands_out(judged: Judged, best_score: float) -> bool:
    if judged.is_code:
        return judged.ranked.score >= _CODE_SHARE * best_score
    return judged.ranked.neighbours > 0 and judged.ranked.score >= _SCORE_SHARE * best_score


def _best_odds(judged: Sequence[Judged]) -> float:
    return max((each.odds for each in judged), default=-math.inf)


def _best_score(judged: Sequence[Judged]) -> float:
    return max((each.ranked.score for each in judged), default=0.0)
