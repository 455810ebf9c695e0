"""The law of what a text states: both names and the verb in one sentence, and no word that denies it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from memsweep.model.text import name_key

_END_OF_SENTENCE = re.compile(r"(?<=[.!?…])\s+|\n+|;\s+|(?<=[。！？])")
_DENIALS = frozenset(
    "not never no neither nor cannot without hardly don't doesn't didn't isn't aren't wasn't weren't won't can't "
    "couldn't shouldn't wouldn't stopped".split()
)
_BETWEEN_PARTS = re.compile(r"[\W_]+")
_BETWEEN_WORDS = re.compile(r"\W+")
_ENDING = re.compile(r"(ing|ed|es|s|e)$")


def sentences(text: str) -> list[str]:
    return [part for part in _END_OF_SENTENCE.split(text) if part]


def negated(sentence: str) -> bool:
    words = (word.strip(".,:;!?\"'()") for word in sentence.casefold().replace("’", "'").split())
    return not _DENIALS.isdisjoint(words)


def stated(text: str, facts: Sequence[tuple[str, str, str]]) -> Iterator[int]:
    """Yield the numbers of the facts (subject, relation, object) that a text states."""
    said = [name_key(sentence) for sentence in sentences(text) if not negated(sentence)]
    for number, (subject, relation, target) in enumerate(facts):
        ends = name_key(subject), name_key(target)
        stems = [_stem(word) for word in _BETWEEN_PARTS.split(name_key(relation)) if word]
        if any(_says(sentence, ends, stems) for sentence in said):
            yield number


Names = Sequence[str]
"""Of one entity, its own first."""


def withdrawn(before: str, after: str, facts: Sequence[tuple[Names, str, Names]]) -> set[int]:
    """Facts that one form of a text states, or names the ends of, and a later form of it does not; by their number.

    What was told beside a text, and was never in it, does not depend on its words.
    """
    was, now = name_key(before), name_key(after)
    unnamed = {
        number
        for number, (subject, _, target) in enumerate(facts)
        if any(_named(was, end) and not _named(now, end) for end in (subject, target))
    }
    told, tells = (
        stated(text, [(_called(key, subject), relation, _called(key, target)) for subject, relation, target in facts])
        for text, key in ((before, was), (after, now))
    )
    return unnamed | set(told) - set(tells)


def _named(text: str, names: Names) -> Names:
    return [name for name in names if name_key(name) in text]


def _called(text: str, names: Names) -> str:
    return (_named(text, names) or names)[0]


def _says(sentence: str, ends: tuple[str, str], stems: Sequence[str]) -> bool:
    if not all(end in sentence for end in ends):
        return False
    words = _BETWEEN_WORDS.split(sentence)
    return all(any(word.startswith(stem) for word in words) for stem in stems)


def _stem(word: str) -> str:
    """Return the common stem of `works`, `working` and `worked`; good enough for a nudge of a twentieth."""
    return _ENDING.sub("", word) if len(word) > 4 else word
