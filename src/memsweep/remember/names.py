"""Find names by rule: capitalised words that are also capitalised in the middle of a sentence. Pure.

A word at the start of a sentence is capitalised anyway and proves nothing, so only sightings in the
middle count as evidence. Whether there is enough of it is decided over the whole workspace.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memsweep.model.text import name_key

MAX_NAMES = 200
_MAX_WORDS = 4
_MAX_LENGTH = 200  # as of names that are given; what is longer is no name but data

_FENCED = re.compile(r"^[ \t]*(```+|~~~+).*?(?:^[ \t]*\1[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_WORD = re.compile(r"[^\W_]+(?:['’.&-][^\W_]+)*")
# The same where all is ASCII, and only those that begin with a capital: more than twice as fast.
_ASCII_CAPITALISED = re.compile(r"(?<![A-Za-z0-9])(?<![A-Za-z0-9]['.&-])[A-Z][A-Za-z0-9]*(?:['.&-][A-Za-z0-9]+)*")
_GAP_IN_NAME = re.compile(r"[ \t]+")
_SENTENCE_ENDS = frozenset('.!?:;…\n][>|*#•—–"“”(')
_BETWEEN_SENTENCES = frozenset("'‘_-")
_LOOK_BACK = 12
_NEVER = frozenset(
    (
        "i i'm i've i'd i'll ok okay am pm mr mrs ms dr monday tuesday wednesday thursday friday saturday sunday "
        "january february march april may june july august september october november december the a an and but or "
        "so if then when what why how who where yes no hey hi hello thanks thank wow oh well yeah this that these "
        "those it he she they we you my your "
    ).split()
)


@dataclass(frozen=True, slots=True)
class Name:
    """A name, how often it was seen in the middle of a sentence, and in which of the texts it stands."""

    name: str
    evidence: int
    texts: tuple[int, ...]


def find_names(texts: Sequence[str]) -> list[Name]:
    """Names in the order of their evidence, then of their first sighting."""
    shown: dict[str, str] = {}
    evidence: Counter[str] = Counter()
    places: dict[str, dict[int, None]] = {}
    for index, text in enumerate(texts):
        for name, proof in _sightings(_FENCED.sub("\n", text)):
            key = name_key(name)
            shown.setdefault(key, name)
            evidence[key] += proof
            places.setdefault(key, {})[index] = None
    names = [Name(name, evidence[key], tuple(places[key])) for key, name in shown.items()]
    return sorted(names, key=lambda name: -name.evidence)[:MAX_NAMES]


def _sightings(text: str) -> list[tuple[str, bool]]:
    found: list[tuple[str, bool]] = []
    run: list[re.Match[str]] = []
    for word in _capitalised(text):
        if run and (len(run) == _MAX_WORDS or not _GAP_IN_NAME.fullmatch(text, run[-1].end(), word.start())):
            found += _names_in(text, run)
            run = []
        run.append(word)
    return found + _names_in(text, run)


def _capitalised(text: str) -> Iterator[re.Match[str]]:
    if text.isascii():
        return _ASCII_CAPITALISED.finditer(text)
    return (word for word in _WORD.finditer(text) if word.group()[0].isupper())


def _names_in(text: str, run: list[re.Match[str]]) -> list[tuple[str, bool]]:
    opens = bool(run) and _opens_sentence(text, run[0].start())
    if opens and len(run) > 1:
        # "Hey Mel" and "Ada Lovelace wrote" look alike: the rest is surely a name, the whole may be one.
        rest = _named(text, run[1:], proof=True)
        return rest + ([] if run[0].group().lower() in _NEVER else _named(text, run, proof=False))
    return _named(text, run, proof=not opens)


def _named(text: str, run: list[re.Match[str]], *, proof: bool) -> list[tuple[str, bool]]:
    while run and run[0].group().lower() in _NEVER:
        run = run[1:]
    while run and run[-1].group().lower() in _NEVER:
        run = run[:-1]
    if not run:
        return []
    name = text[run[0].start() : run[-1].end()].removesuffix("'s").removesuffix("’s")
    return [(name, proof)] if 1 < len(name) <= _MAX_LENGTH else []


def _opens_sentence(text: str, start: int) -> bool:
    """Whether nothing but marks and spaces is between it and the end of a sentence, or the beginning of the text."""
    for letter in reversed(text[max(0, start - _LOOK_BACK) : start]):
        if letter in _SENTENCE_ENDS:
            return True
        if letter not in _BETWEEN_SENTENCES and not letter.isspace():
            return False
    return start <= _LOOK_BACK
