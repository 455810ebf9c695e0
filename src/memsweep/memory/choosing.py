"""Which passages of a ranking are an answer: the precise mode of search. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from memsweep.memory.relevance import relevance_of
from memsweep.model.search import Kind, Ranked

CONSIDERED = 30
"""How many of the best are judged: a precise answer has no more."""
LEAST_ODDS = -0.2
"""Below, a passage is no answer; as a relevance 0.45."""
_CODE_AHEAD = 1.0  # in odds, beside others: notes resemble a question about code more than code one about notes
_BEHIND_THE_BEST = 0.8  # in odds; what is further behind answers something else
_BEHIND_THE_OTHERS = 1.5  # the same for the best of the code: much code always has something that resembles a query
_READ_LEAST_ODDS = -0.5  # as `LEAST_ODDS`, for what a model has read, beside something that surely answers
_READ_BEHIND = 3.0  # as `_BEHIND_THE_BEST`
_SURE = 2.0  # odds of something that is an answer, however much more it has
_BEYOND_DOUBT = 4.0  # what has these odds, as where every word is met, answers whatever else there is
_SCORE_SHARE = 0.33  # of the best score, for what its neighbours speak for
_CODE_SHARE = 0.2  # the same for code, where one looks for places more than for an answer
_CODE_SHARE_BESIDE = 0.6  # the same where something else answers better


class Judged(NamedTuple):
    """A passage of a ranking with the logarithm of the odds that it is relevant."""

    ranked: Ranked
    odds: float
    kind: Kind = "memory"
    is_read: bool = False

    @property
    def relevance(self) -> float:
        return relevance_of(self.odds)

    @property
    def beside_others(self) -> float:
        """The odds as they are compared with those of other kinds."""
        return self.odds + (_CODE_AHEAD if self.kind == "code" else 0.0)


class Least(NamedTuple):
    """The odds that the best of some must have. The more there are, the more one resembles a query by chance."""

    of_few: float
    few: int
    of_many: float
    many: int

    def of(self, count: int) -> float:
        share = math.log(min(max(count, self.few), self.many) / self.few) / math.log(self.many / self.few)
        return self.of_few + share * (self.of_many - self.of_few)


OF_MEMORIES = Least(LEAST_ODDS, 20, 0.5, 60)
OF_READ_MEMORIES = Least(1.0, 20, 1.25, 60)
OF_FILES = Least(-2.3, 10, -0.5, 60)


class Count(NamedTuple):
    """How many there were to choose from: passages of memories that resemble the query at all, and files of code."""

    memories: int = 0
    files: int = 0


def precise(judged: Sequence[Judged], count: Count = Count(), *, calibrated: bool = True) -> list[Judged]:
    """Those that answer, in their order; nothing if not even the best does.

    Each kind is judged apart, so that none crowds out another. Where nobody has measured what the odds of
    an embedding model mean, scores alone decide, but for what a reader has read.
    """
    by_kind: dict[Kind, list[Judged]] = {}
    for each in judged:
        by_kind.setdefault(each.kind, []).append(each)
    if not calibrated:
        read = [each for each in judged if each.is_read]
        rest = [each for each in judged if each.kind != "memory"] if read else judged
        return _in_order(judged, [*_memories(read, count.memories), *_by_score(rest)])
    code = by_kind.pop("code", [])
    kept = _memories(by_kind.pop("memory", []), count.memories)
    kept += [each for own in by_kind.values() for each in _answering(own, LEAST_ODDS, _SCORE_SHARE)]
    others = _best_odds(kept)
    share = _CODE_SHARE if _best_odds(code) + _CODE_AHEAD >= others else _CODE_SHARE_BESIDE
    least = max(OF_FILES.of(count.files), min(_SURE, others) - _BEHIND_THE_OTHERS - _CODE_AHEAD)
    return _in_order(judged, [*kept, *_answering(code, least, share)])


def _in_order(judged: Sequence[Judged], kept: Sequence[Judged]) -> list[Judged]:
    keys = {each.ranked.key for each in kept}
    return [each for each in judged if each.ranked.key in keys]


def _memories(judged: Sequence[Judged], count: int) -> list[Judged]:
    """Where a model has read the best of them, it tells answers from what resembles one, and nothing else answers."""
    read = [each for each in judged if each.is_read]
    if read:
        return _answering(read, _READ_LEAST_ODDS, _SCORE_SHARE, OF_READ_MEMORIES.of(count), _READ_BEHIND)
    return _answering(judged, LEAST_ODDS, _SCORE_SHARE, OF_MEMORIES.of(count))


def _by_score(judged: Sequence[Judged]) -> list[Judged]:
    """Those with a share of the best score; of code less is enough, where code is the best."""
    best = _best_score(judged)
    is_code = any(each.kind == "code" and each.ranked.score == best for each in judged)
    least = {"code": best * (_CODE_SHARE if is_code else _SCORE_SHARE)}
    return [each for each in judged if each.ranked.score >= least.get(each.kind, _SCORE_SHARE * best)]


def _answering(
    judged: Sequence[Judged],
    least: float,
    share: float,
    least_of_the_best: float = -math.inf,
    behind: float = _BEHIND_THE_BEST,
) -> list[Judged]:
    """A turn of a conversation may answer by what stands beside it, and a piece of code by the rest of its file:
    once something answers, a share of the best score is enough for them."""
    best, best_score = _best_odds(judged), _best_score(judged)
    if best < max(least, least_of_the_best):
        return []
    enough = min(_BEYOND_DOUBT, max(least, best - behind))
    return [
        each
        for each in judged
        if each.odds >= enough
        or ((each.kind == "code" or each.ranked.neighbours > 0) and each.ranked.score >= share * best_score)
    ]


def _best_odds(judged: Sequence[Judged]) -> float:
    return max((each.odds for each in judged), default=-math.inf)


def _best_score(judged: Sequence[Judged]) -> float:
    return max((each.ranked.score for each in judged), default=0.0)
