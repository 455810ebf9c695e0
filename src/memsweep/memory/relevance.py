"""Judge how relevant a passage is to a query, from 0 to 1, by the evidence of these two alone. Pure.

The same passage has the same relevance to the same query in every workspace, whatever else is found, among those that a
reader has read and among those that none has. The weights are fitted on questions of our own
(`benchmarks/relevance.py`, `code_relevance.py`), for each embedding model, for what was read and for code apart. They
are scaled so that at 0.5 the evidence speaks for the passage as much as against it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

from memsweep.embed.protocol import Reader, Words
from memsweep.model.frozen import frozen
from memsweep.model.search import Kind, Passage, Ranked
from memsweep.store.words import matched

_WORD = re.compile(r"[^\W_]+")
_NAME_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_AS_GOOD_AS_ALL = 4, 0.5  # words of a question, and a share of the words of a longer one
_ENDS_OF_SENTENCES = frozenset(".!?:")


class Evidence(NamedTuple):
    """The evidence for a passage: its cosine; the shares of query words that it has and of names that it lacks; how
    much it has nothing like one of the words, and a rare one; what a model said that read both together; how many of
    the words it has, up to 4, which is as good as all.
    """

    similarity: float
    share: float
    lacking: float
    uncovered: float = 0.0
    reading: float | None = None
    words: float = 0.0


@frozen
class Calibration:
    """The weight of each kind of evidence, as logarithms of odds."""

    base: float
    similarity: float
    share: float
    """Of the square of the share: one word of several says next to nothing."""
    all_words: float
    lacking: float
    uncovered: float = 0.0
    reading: float = 0.0
    each_word: float = 0.0
    """Of a long question no piece of code has all words, and much code has one."""

    def odds(self, evidence: Evidence) -> float:
        """The logarithm of the odds that the passage is relevant."""
        return (
            self.base
            + self.similarity * evidence.similarity
            + self.share * evidence.share**2
            + self.all_words * (evidence.share == 1)
            + self.lacking * evidence.lacking
            + self.uncovered * evidence.uncovered
            + self.reading * (evidence.reading or 0.0)
            + self.each_word * evidence.words
        )


# By name of the embedding model: what a cosine means differs from model to model.
CALIBRATIONS = {
    "wordllama-l2-supercat-256": Calibration(2.91, 6.18, 0.84, 3.32, -1.21, -5.18),
    "all-MiniLM-L6-v2-int8": Calibration(-0.48, 10.03, 0.0, 5.08, -1.31, -2.78),
}
# The same for passages that a reader has read, whatever model embeds: a cosine adds nothing.
READ = Calibration(4.71, 0.0, 0.0, 0.0, -0.8, -4.6, 1.01)
# The same for pieces of code, which resemble everything a little and have few words of a question.
CODE_CALIBRATIONS = {
    "wordllama-l2-supercat-256": Calibration(-3.23, 5.49, 0.0, 0.0, 0.0, each_word=0.86),
    "all-MiniLM-L6-v2-int8": Calibration(-3.86, 9.17, 0.0, 0.65, 0.0, each_word=0.44),
}
CODE_BY_WORDS = Calibration(-1.71, 0.0, 0.0, 0.86, 0.0, each_word=0.84)
WORDS_ALONE = Calibration(-0.33, 0.0, 9.24, 1.46, -1.73)
"""For a model that was not measured."""


MOST_WORDS = 24
"""A longer query is a text more than a question, and nobody has measured what its words say."""


def is_measured(model: str, asked: Collection[str]) -> bool:
    return model in CALIBRATIONS and len(asked) <= MOST_WORDS


def calibration_for(model: str, *, read: bool = False, code: bool = False) -> Calibration:
    if code:
        return CODE_CALIBRATIONS.get(model, CODE_BY_WORDS)
    return READ if read else CALIBRATIONS.get(model, WORDS_ALONE)


def relevance_of(odds: float) -> float:
    return 1 / (1 + math.exp(-max(-50.0, odds)))


class Asked(NamedTuple):
    """The words of a query: which of them are names, and how rare each is, if that counts."""

    words: tuple[str, ...]
    names: frozenset[str]
    rarities: tuple[float, ...] = ()


def evidence_of(
    similarity: float,
    asked: Asked,
    found: Collection[str],
    nearest: Sequence[float] = (),
    reading: float | None = None,
) -> Evidence:
    """`found` are the words of the query that a passage has, `nearest` how close it comes to each."""
    share = len(found) / len(asked.words) if asked.words else 0.0
    lacking = len(asked.names.difference(found)) / len(asked.names) if asked.names else 0.0
    missing = zip(asked.words, asked.rarities, nearest, strict=False)
    uncovered = max((rarity * (1 - close) for word, rarity, close in missing if word not in found), default=0.0)
    return Evidence(similarity, share, lacking, uncovered, reading, _words_met(len(found), len(asked.words)))


def _words_met(found: int, asked: int) -> float:
    most, part = _AS_GOOD_AS_ALL
    return float(most) if found == asked > 0 else most * min(1.0, found / max(most, part * asked))


def names_in(query: str, asked: Collection[str]) -> frozenset[str]:
    """The words that look like names: capitals inside of a sentence, or digits."""
    spots = list(_WORD.finditer(query))
    if all(not spot.group()[0].islower() for spot in spots):
        return frozenset()  # a title, or a name alone, which says nothing about its words
    pairs = zip([0, *(spot.end() for spot in spots)], spots, strict=False)
    named = (spot for end, spot in pairs if _is_named(spot.group(), query[end : spot.start()], end))
    return frozenset(spot.group().lower() for spot in named).intersection(asked)


def _is_named(word: str, gap: str, before: int) -> bool:
    """`gap` is what stands between it and the word that ends at `before`; 0 if it is the first."""
    if any(letter.isdigit() for letter in word):
        return True
    gap = gap.rstrip()
    return word[0].isupper() and bool(before or gap) and gap[-1:] not in _ENDS_OF_SENTENCES


def words_to_match(passage: Passage) -> str:
    """Return the words of a passage in full text: its text, and for code the words in names of file and symbol."""
    if passage.code is None:
        return passage.text
    folders, _, file = passage.code.path.rpartition("/")
    names = (*folders.split("/"), file.partition(".")[0] or file, *(passage.code.symbol or "").split("."))
    parts = [_NAME_PARTS.findall(name) for name in names]
    return " ".join([passage.text, *(word for each in parts for word in (*each, "".join(each)))])


class RelevanceJudge(NamedTuple):
    """`model` embeds the texts, `meanings` knows single words, `reader` reads the best passages, if there is one."""

    model: str
    meanings: Words
    reader: Reader | None = None

    def odds(
        self,
        query: str,
        passages: Sequence[tuple[Passage, float]],
        readings: Sequence[float | None] = (),
    ) -> list[tuple[float, tuple[str, ...]]]:
        """For passages with their cosines: the logarithm of the odds, and the words of the query that they have."""
        if not passages:
            return []
        texts = [words_to_match(passage) for passage, _ in passages]
        words, *met = matched(query, [query, *texts])
        asked, nearest = Asked(words, names_in(query, words)), [[0.0]] * len(texts)
        prose = [place for place, (passage, _) in enumerate(passages) if passage.code is None]
        any_read = any(said is not None for said in readings)
        if prose and calibration_for(self.model, read=any_read).uncovered and len(words) <= MOST_WORDS:
            asked = asked._replace(rarities=tuple(self.meanings.rarities(words)))
            for place, close in zip(prose, self.meanings.nearest(words, [texts[at] for at in prose]), strict=True):
                nearest[place] = close
        judged = []
        for (passage, similarity), found, close, said in zip(
            passages, met, nearest, readings or [None] * len(texts), strict=True
        ):
            weights = calibration_for(self.model, read=said is not None, code=passage.code is not None)
            judged.append((weights.odds(evidence_of(similarity, asked, found, close, said)), found))
        return judged


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
    """The number to choose from: passages of memories that resemble the query at all, and files of code."""

    memories: int = 0
    files: int = 0


def precise(judged: Sequence[Judged], count: Count = Count(), *, calibrated: bool = True) -> list[Judged]:
    """Return the passages that answer, in their order; nothing if not even the best does.

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
    """Return the memories that answer. Where a model has read the best of them, it alone decides."""
    read = [each for each in judged if each.is_read]
    if read:
        return _answering(read, _READ_LEAST_ODDS, _SCORE_SHARE, OF_READ_MEMORIES.of(count), _READ_BEHIND)
    return _answering(judged, LEAST_ODDS, _SCORE_SHARE, OF_MEMORIES.of(count))


def _by_score(judged: Sequence[Judged]) -> list[Judged]:
    """Return those with a share of the best score; of code less is enough, where code is the best."""
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
