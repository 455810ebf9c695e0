"""Reading a text once: the words and identifiers it holds, and the cues that it states something."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import filterfalse
from math import exp, log
from typing import Final, NamedTuple

from memsweep.context.weights import Weights
from memsweep.model.segment import ContextSegment

Cue = str
"""One of the keys of `CUE_WORDS`, or `name` or `number`."""

_FENCE: Final = re.compile(r"```.*?(?:```|\Z)", re.S)
_WORD: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|\w[\w'’-]*")
_CANDIDATE: Final = re.compile(r"[\w./\\:@#$%-]{3,}")
# The capital comes first in the pattern, where the regex engine can skip to it.
_NAME: Final = re.compile(r"[A-Z](?<=[a-z,;] [A-Z])\w+")
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+|\n+")
_CODED: Final = re.compile(r"[\d_/\\@]|[a-z][A-Z]")
_ENDINGS: Final = ("ing", "ed", "es", "s")

STOP_WORDS: Final = frozenset(
    "a an the and or but if of to in on at for with from by as is are was were be been being it its it's this"
    " that these those i you he she we they me my your his her our their i'm i've i'd i'll you're you've he's"
    " she's we're we've they're do does did have has had not no yes so just really very too also can could"
    " would should will there here what when where how why who which then than about into out up down over"
    " all some any more most much many get got go going know think like one".split()
)

# Words by which people tell rather than chat. English; other languages live by words and identifiers alone.
CUE_WORDS: Final[dict[Cue, frozenset[str]]] = {
    "self": frozenset("i i'm i've i'd i'll my me mine myself we we're we've our us".split()),
    "time": frozenset(
        "yesterday today tonight tomorrow last next ago week weeks month months year years day days hour hours"
        " minute minutes weekend monday tuesday wednesday thursday friday saturday sunday january february march"
        " april may june july august september october november december recently since until deadline by"
        " summer winter spring autumn fall morning evening night".split()
    ),
    "choice": frozenset(
        "prefer prefers preferred preference always never must favorite favourite love enjoy enjoyed enjoying"
        " hate decide decided choose chose chosen want wanted plan plans planned planning goal dream hope hoping"
        " instead rather".split()
    ),
    "denial": frozenset("never not actually don't didn't doesn't can't won't isn't wasn't haven't".split()),
    # Regular ones end in -ed and need no list.
    "past": frozenset(
        "went was were had did got made took saw came bought found felt gave told met won lost left began ran"
        " wrote read thought brought taught caught kept built sent spent grew knew flew drew drove ate slept"
        " spoke became chose held heard decided preferred wanted planned enjoyed".split()
    ),
}
_CUES_OF: Final = {
    word: tuple(cue for cue, words in CUE_WORDS.items() if word in words)
    for word in frozenset[str]().union(*CUE_WORDS.values())
}
CUE_LIMIT: Final = 6
"""More of one cue than this says nothing more; without it, long pastes would outbid everything."""


class Reading(NamedTuple):
    """The contents of one text; words (as stems, no stop words) and identifiers are distinct."""

    words: tuple[str, ...]
    identifiers: tuple[str, ...]
    prose_identifiers: int
    cues: dict[Cue, int]
    question_share: float
    code_share: float
    ends_asking: bool
    is_call: bool


_Special = tuple[tuple[str, ...], tuple[str, ...], tuple[Cue, ...]]
"""The parts of a piece beside its first word: more words, identifiers, cues. There are many of them, and plain tuples
are the ones that Python's own collector need not visit."""


class _Pieces(dict[str, str]):
    """The first word between two spaces, "" for none; what is more than that is in `special`.

    Each is worked out once: conversations repeat themselves, and looking up is faster than any rule.
    """

    def __init__(self) -> None:
        self.special: dict[str, _Special] = {}

    def __missing__(self, text: str) -> str:
        words: list[str] = []
        cues: list[Cue] = []
        for word in _WORD.findall(text.lower().replace("’", "'")):
            cues += _cues(word)
            if word not in STOP_WORDS and (stemmed := _stem(word)) not in STOP_WORDS:
                words.append(stemmed)
        coded = _CANDIDATE.findall(text) if _CODED.search(text) else ()
        identifiers = tuple(filter(None, map(_identifier, coded)))
        if identifiers or cues or len(words) > 1:
            self.special[text] = tuple(words[1:]), identifiers, tuple(cues)
        self[text] = words[0] if words else ""
        return self[text]


class TextReader:
    """Reads texts, piece by piece, through a memory of pieces."""

    def __init__(self) -> None:
        self._pieces = _Pieces()

    def words(self, text: str) -> Iterator[str]:
        """The stem of every word but stop words, repeats included."""
        pieces, special = self._pieces, self._pieces.special
        for piece in text.split():
            if word := pieces[piece]:
                yield word
            if piece in special:
                yield from special[piece][0]

    def read(self, text: str) -> Reading:
        words, identifiers, cues = self._gather(text)
        prose, prose_identifiers = text, len(identifiers)
        if "```" in text:
            prose = _FENCE.sub(" ", text)
            _, found, cues = self._gather(prose)
            prose_identifiers = len(found)
        if names := _NAME.findall(prose):
            cues["name"] = len(set(names))
        stripped = text.rstrip()
        return Reading(
            words=tuple(words),
            identifiers=tuple(identifiers),
            prose_identifiers=prose_identifiers,
            cues=cues,
            question_share=_question_share(prose) if "?" in prose else 0.0,
            code_share=1 - len(prose) / max(1, len(text)),
            ends_asking="?" in text[-120:],
            is_call=stripped.endswith("}") and "{" in stripped,
        )

    def _gather(self, text: str) -> tuple[dict[str, None], dict[str, None], dict[Cue, int]]:
        """Distinct words, distinct identifiers, counted cues; most pieces are one plain word and never loop here."""
        pieces = text.split()
        words = dict.fromkeys(map(self._pieces.__getitem__, pieces))
        words.pop("", None)
        identifiers: dict[str, None] = {}
        cues: dict[Cue, int] = {}
        special = self._pieces.special
        for piece in filter(special.__contains__, pieces):
            more, named, hints = special[piece]
            for word in more:
                words[word] = None
            for identifier in named:
                identifiers[identifier] = None
            for cue in hints:
                cues[cue] = cues.get(cue, 0) + 1
        return words, identifiers, cues


def _question_share(prose: str) -> float:
    sentences = [part for part in _SENTENCE.split(prose) if part.strip()]
    return sum(1 for part in sentences if "?" in part[-3:]) / max(1, len(sentences))


def _stem(word: str) -> str:
    """A word in lower case without its commonest endings."""
    word = word.removesuffix("'s")
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[: -len(ending)]
    return word


def _cues(word: str) -> tuple[Cue, ...]:
    if word[0].isdigit():
        return ("number",)
    return _CUES_OF.get(word) or (("past",) if word.endswith("ed") and len(word) > 4 else ())


def _identifier(raw: str) -> str:
    """The identifier, path or value in a run of characters, or nothing."""
    bare = raw.strip(".,:;#-\"'")
    return bare if len(bare) >= 3 and _CODED.search(bare) else ""


_Row = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], float, float]
"""A segment as it was read: its words, those it was first to say, its identifiers; what identifiers and cues are
worth whoever else has them; what a unit of all this counts for (who says it and how, over what it costs). A plain
tuple, because Python's own collector need not visit those."""


class Lexicon:
    """The words so far, by whom first and how often; a segment is added once, at its own cost."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self._reader = TextReader()
        self._segments_with: Counter[str] = Counter()
        self._segments_naming: Counter[str] = Counter()
        self._rows: dict[str, _Row] = {}
        self._last_asked = False

    def add(self, segment: ContextSegment) -> None:
        """Read a segment, in session order; one that is known already is not read again."""
        if segment.segment_id in self._rows:
            return
        reading = self._reader.read(segment.text)
        first = tuple(filterfalse(self._segments_with.__contains__, reading.words))
        stated = self._stated(reading) + self._weights.declared.get(segment.type, 0.0)
        per_token = self._per_token(segment, reading)
        self._rows[segment.segment_id] = (reading.words, first, reading.identifiers, stated, per_token)
        self._last_asked = reading.ends_asking
        self._segments_with.update(reading.words)
        self._segments_naming.update(reading.identifiers)

    def information(self, segment: ContextSegment) -> float:
        """Information per token in [0, 1]: words by rarity, more so if it was the first, identifiers, cues."""
        self.add(segment)
        weights = self._weights
        words, first, identifiers, said, per_token = self._rows[segment.segment_id]
        said += weights.words * self._rarity(words) + weights.novelty * self._rarity(first)
        for identifier in identifiers:
            said += weights.reuse * min(weights.reuse_limit, self._segments_naming[identifier] - 1)
        density = said * per_token
        return density / (density + weights.half_information)

    def _stated(self, reading: Reading) -> float:
        weights = self._weights
        stated = weights.identifiers * len(reading.identifiers) + weights.prose_identifiers * reading.prose_identifiers
        for cue, count in reading.cues.items():
            stated += weights.cues[cue] * min(CUE_LIMIT, count)
        return stated

    def _per_token(self, segment: ContextSegment, reading: Reading) -> float:
        weights = self._weights
        speaker = "call" if segment.role == "assistant" and reading.is_call else segment.role or "user"
        bend = (
            weights.question_damping * reading.question_share
            + weights.answer_boost * self._last_asked
            + weights.code_damping * reading.code_share
            + weights.opening * _opening(segment.tokens, len(self._rows), weights)
        )
        return float(
            weights.speaker[speaker] * exp(bend) / (segment.tokens + weights.token_offset) ** weights.token_power
        )

    def _rarity(self, words: tuple[str, ...]) -> float:
        """The sum of the words' inverse document frequencies."""
        return len(words) * log(len(self._rows) + 1) - sum(map(log, map(self._segments_with.__getitem__, words)))


def _opening(tokens: int, place: int, weights: Weights) -> float:
    """Return how far a segment is one of the long ones at the start of the session, in [0, 1]."""
    return tokens / (tokens + weights.opening_tokens) / (1 + place / weights.opening_places)
