"""Decisions, rules and corrections in what a person says, by their wording. Pure; what is uncertain is left out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from memsweep.model.injected import without_injected

_FENCED = re.compile(r"^(```|~~~).*?(?:^\1|\Z)", re.M | re.S)
_QUOTED = re.compile(r"^[^\S\n]*+(?:>|\||\$ |#!|at |File \"|Traceback|\d+[:|]).*$", re.M)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_LEAST_WORDS, _LEAST_CHARS, _MOST_CHARS = 4, 16, 400

_KINDS = (
    (
        "remember",
        r"^(?:please )?(?:remember|keep in mind|for the record|note for later|memo)\b(?! (?:when|how|if|to)\b)",
    ),
    (
        "decision",
        r"\b(?:we|i)(?:'ve| have)?(?: just| finally| all)? (?:decided|agreed|settled on|opted|chose)\b",
        r"^(?:decision|decided)\s*:",
        r"\b(?:we|let)(?:'s|'re| are| will|'ll)?"
        r" (?:go(?:ing)? with|stick(?:ing)? with|switch(?:ing)? to|standardi[sz]e on)\b",
        r"^(?:ok(?:ay)?,? |so )?let'?s use .*"
        r"\b(?:instead|rather than|for (?:all|every|our|the whole)|everywhere)\b",
        r"\bwe (?:no longer|don't|do not) (?:use|support|deploy|ship|run)\b",
    ),
    (
        "rule",
        r"^(?:please |and |but |also |so )*(?:always|never)\b",
        r"\b(?:from now on|going forward)\b",
        r"\bin this (?:repo|repository|project|codebase),? (?:we|always|never|use)\b",
        r"\b(?:must|should) (?:always|never)\b",
    ),
    (
        "correction",
        r"^(?:no|nope|wrong|incorrect|actually|not quite)\b[,.:;!—-]+ *"
        r"(?:it|we|the|that|this|use|you|don't|do)\b",
        r"\b(?:should be|is|are|use) .{2,60}(?:, not |, instead of | instead of | rather than )",
        r"\bi (?:told|asked) you (?:to|not|that)\b",
    ),
    ("preference", r"\bi (?:strongly |really )?prefer\b"),
)
_PATTERNS = [(kind, re.compile(pattern, re.I)) for kind, *patterns in _KINDS for pattern in patterns]
_ASKING = re.compile(r"\?\s*$|^(?:can|could|would|should|what|why|how|when|where|who|which|is|are|does|do|did)\b", re.I)
_ABOUT_NOW = re.compile(
    r"\b(?:this (?:error|time|test|line|output)|right now|for now|just this once|the above|below)\b", re.I
)
_ORDER = ("remember", "decision", "rule", "correction", "preference")


class Found(NamedTuple):
    """A sentence that is worth a memory, and why."""

    kind: str
    text: str


def find_decisions(texts: Iterable[str], most: int) -> list[Found]:
    """The `most` clearest of them: what was asked to be remembered first, then as they were said."""
    found = dict.fromkeys(each for text in texts for each in _in_text(text))
    return sorted(found, key=lambda each: _ORDER.index(each.kind))[:most]


def _in_text(text: str) -> Iterator[Found]:
    prose = _QUOTED.sub("", _FENCED.sub("\n", without_injected(text)))
    for raw in _SENTENCE.split(prose):
        sentence = " ".join(raw.split()).strip("-*• ")
        if _LEAST_CHARS <= len(sentence) <= _MOST_CHARS and len(sentence.split()) >= _LEAST_WORDS:
            kind = _kind_of(sentence)
            if kind is not None:
                yield Found(kind, sentence)


def _kind_of(sentence: str) -> str | None:
    if _ASKING.search(sentence) or _ABOUT_NOW.search(sentence):
        return None
    return next((kind for kind, pattern in _PATTERNS if pattern.search(sentence)), None)
