"""Values that a text states: which thing has which value, where that is certain enough to call it changed later.

A label is not a setting: "Decision: …", "User: …" and "File: …" name what follows. What has a value is a sentence
("the timeout is 30 seconds"), a line with a quantity ("port: 8080") or an assignment ("DB_HOST=db-7").
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

Subject = tuple[str, str, str]
"""What is said before the thing, its name, and what is said after the value, the unit among it."""


class Stated(NamedTuple):
    """A subject with its value; one that is told as past may be outdated, and makes nothing else so."""

    subject: Subject
    value: str
    past: bool = False


_AMOUNT = r"[$€£]?\d[\w.,:%/-]*+"
_DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?"
_MONTHS = "january|february|march|april|june|july|august|september|october|november|december"
_MONTH = rf"(?:(?:{_MONTHS})(?: \d{{1,2}})?|may \d{{1,2}})"
_SWITCH = r"(?:on|off|true|false|enabled|disabled|yes|no)"
_VALUE = re.compile(rf"(?:{_AMOUNT}|(?:{_DAY}|{_MONTH}|{_SWITCH})(?![\w-]))", re.I)
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_STATED = re.compile(
    r"\b((?:my|our|the) (?:[a-z][\w'-]* ){0,4}[a-z][\w'-]*) (is|are|was|were|has|have)"
    r"(?: now| been| recently| just| currently)*"
    r"( (?:changed|increased|decreased|moved|updated|set|improved|reduced|raised|lowered|extended) to)?"
    r"(?: about| around| over| only| at| on)? ",
    re.I,
)
_LINE = re.compile(r"^[^\S\n]*+(?:[-*]\s*+)?([A-Za-z_][\w .-]{0,40}?)[^\S\n]*+([:=])[^\S\n]*+(\S[^\n]{0,80})$", re.M)
_ASSIGNED = re.compile(r"[A-Za-z0-9][_.-][A-Za-z0-9]|[a-z][A-Z]")
"""A name of a program's, not of a person's."""
_FILLERS = re.compile(
    r"\b(?:now|currently|today|instead|so|ok|okay|and|also|but|then|update|fyi|note|please|remember|that|well"
    r"|by the way|as of \w+|since \w+|from now on|i think|i said)\b|[^\w\s%$€£°]",
    re.I,
)
_INSTEAD = re.compile(r",? (?:up from|down from|instead of|rather than|and not|not|no longer) .*", re.I | re.S)
"""What is no longer so."""
_MOST_CHARS = 300
"""A longer sentence says more than one value."""
_LABELS = frozenset(
    "decision note notes todo fixme user users file files name id title task tasks step steps issue issues ticket"
    " bug pr commit branch line lines page pages chapter section item items row column date time day author from"
    " to subject question answer q a result results status error errors warning info debug output input example"
    " case test tests run attempt number no part phase week month year key value type option idea goal summary"
    " update edit reason cause fix action next see ref link url path folder directory class function method module"
    " package host server client customer person contact owner reviewer assignee team project sprint milestone"
    " epic story episode round level message comment reply context topic tag tags label category group role state"
    " country city address location event meeting call order invoice account room table figure appendix slide job"
    " worker thread process pid request response session entry record log build revision hash sha index offset"
    " position rank score point points total count problem solution hint tip warnings feature change changes risk"
    " assumption requirement rule fact plan meaning remark remarks lesson blocker finding findings conclusion"
    " hypothesis experiment candidate choice".split()
)
"""Words that name an entry of a list, of which there may be many at the same time."""
_WHICH = frozenset("next current last first second third previous other another new old same following main".split())


def stated_values(text: str, *, settings: bool) -> Iterator[Stated]:
    """Every subject with its value, in lower case; lines of settings only where the text is more than a message."""
    for sentence in _SENTENCE.split(text):
        if len(sentence) <= _MOST_CHARS and (found := _in_sentence(sentence)):
            yield found
    if settings:
        for name, sign, value in _LINE.findall(text):
            if found := _in_line(name.strip(), sign, value.strip()):
                yield found


def _in_sentence(sentence: str) -> Stated | None:
    """A sentence that says what one thing is; with a second value in it, nobody knows which one it is about."""
    stated = _STATED.search(sentence)
    value = _VALUE.match(sentence, stated.end()) if stated else None
    if stated is None or value is None or _names_an_entry(stated[1].split()[1:]):
        return None
    before, after = sentence[: stated.start()], _INSTEAD.sub("", sentence[value.end() :])
    if _VALUE.search(after) or _STATED.search(after) or "?" in after:
        return None
    past = stated[2].lower() in ("was", "were") and not stated[3]
    return Stated((_plain(before), stated[1].lower(), _plain(after)), _plain_value(value[0]), past)


def _names_an_entry(words: list[str]) -> bool:
    """ "The step", "the next step"; not "the retry step", which is a thing of its own."""
    specific = [word for word in words if word.lower() not in _WHICH]
    return len(specific) == 1 and _is_label(specific[0])


def _in_line(name: str, sign: str, value: str) -> Stated | None:
    if " " not in name and (sign == "=" or _ASSIGNED.search(name)):
        if " " in value or _is_label(name):
            return None
        return Stated(("", name.lower(), ""), value.rstrip(".,;").lower())
    found = _VALUE.match(value)
    after = _INSTEAD.sub("", value[found.end() :]) if found else ""
    if found is None or _is_label(name.split()[-1]) or _VALUE.search(after):
        return None
    return Stated(("", name.lower(), _plain(after)), _plain_value(found[0]))


def _is_label(word: str) -> bool:
    return word.lower().rstrip(".") in _LABELS


def _plain(text: str) -> str:
    return " ".join(_FILLERS.sub(" ", text).lower().split())


def _plain_value(value: str) -> str:
    return value.lower().rstrip(".,:;/-")
