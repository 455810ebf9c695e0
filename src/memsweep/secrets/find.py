"""Find the secrets in a text, and write a mark in place of each. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from memsweep.secrets.contexts import CONTEXTS
from memsweep.secrets.providers import PROVIDERS
from memsweep.secrets.readings import readings, small_letters
from memsweep.secrets.rule import Rule, Secret

RULES: tuple[Rule, ...] = PROVIDERS + CONTEXTS
"""The earlier one names what two rules find: a provider's key is more than `password = …`."""

_MOST_PASSES = 4
_SHORTEST_LINE = 8
"""`pw: ` and a password."""
_LONG_MATCH = 80
_LONG_WORD = re.compile(r"[A-Za-z0-9_.-]{18,}+", re.ASCII)
_FRONTS: dict[str, list[tuple[str, int]]] = {}
"""The rules of each prefix, by its first two letters."""
for _number, _rule in enumerate(RULES):
    for _prefix in _rule.keywords if _rule.where == "word" else ():
        _FRONTS.setdefault(_prefix[:2], []).append((_prefix, _number))


class _Keyword(NamedTuple):
    """A keyword, the rules to try where it stands, and the longer keywords that it is a part of."""

    text: str
    is_exact: bool
    rules: list[int]
    longer: list[_Keyword]


def _tree(*, has_long_word: bool) -> list[_Keyword]:
    """Build the tree of keywords. Without `pass`, nobody looks for `password`, `PASSWD` or `--passphrase`."""
    numbers: dict[str, list[int]] = {}
    for number, rule in enumerate(RULES):
        for keyword in rule.keywords if rule.where != "word" and rule.has_long_word == has_long_word else ():
            numbers.setdefault(keyword, []).append(number)
    top: list[_Keyword] = []
    placed: list[_Keyword] = []
    for text in sorted(numbers, key=lambda text: (len(text), text != small_letters(text))):
        made = _Keyword(text, text != small_letters(text), numbers[text], [])
        within = [each for each in placed if each.text in (text if each.is_exact else small_letters(text))]
        (within[-1].longer if within else top).append(made)
        placed.append(made)
    return top


_KEYWORDS, _BESIDE_LONG_WORDS = _tree(has_long_word=False), _tree(has_long_word=True)
_ASCII_KEYWORDS = [keyword for keyword in _KEYWORDS if keyword.text.isascii()]


def find(text: str) -> list[Secret]:
    """The secrets in a text, in order; none overlaps another."""
    if len(text) < _SHORTEST_LINE:
        return []
    folded = small_letters(text)
    found = list(_by_rules(text, folded))
    for reading in readings(text, folded):
        for secret, number in _by_rules(reading.text, small_letters(reading.text)):
            if span := reading.span(secret.start, secret.end):
                found.append((Secret(secret.kind, *span), number))
    return _joined(found) if found else []


def redacted(text: str, *, keep_lines: bool = False) -> tuple[str, tuple[str, ...]]:
    """The text with marks in place of its secrets, and the kinds of them. What is redacted already stays as it is.

    `keep_lines` leaves the line ends of a block, so that what follows stays on its line.
    """
    kinds: dict[str, None] = {}
    for _ in range(_MOST_PASSES):  # a mark can show what stood behind it; each pass leaves less to find
        secrets = find(text)
        if not secrets:
            break
        text = _marked(text, secrets, keep_lines)
        kinds |= dict.fromkeys(secret.kind for secret in secrets)
    return text, tuple(kinds)


def found_in(text: str) -> dict[str, str]:
    """The secrets of a text as they stand there, and their kinds; also those that only show behind a mark."""
    found: dict[str, str] = {}
    for _ in range(_MOST_PASSES):
        secrets = find(text)
        if not secrets:
            break
        found |= {text[secret.start : secret.end]: secret.kind for secret in secrets}
        text = _marked(text, secrets, keep_lines=False)
    return found


def mark(kind: str) -> str:
    return f"[secret: {kind}]"


def _by_rules(text: str, folded: str) -> Iterator[tuple[Secret, int]]:
    if words := list(_LONG_WORD.finditer(text)):
        yield from _words(text, words)
        yield from _at_keywords(_BESIDE_LONG_WORDS, text, folded)
    yield from _at_keywords(_ASCII_KEYWORDS if text.isascii() else _KEYWORDS, text, folded)


def _words(text: str, words: list[re.Match[str]]) -> Iterator[tuple[Secret, int]]:
    """Keys by their prefix: one pass over the long words, which few texts have."""
    for word in words:
        start = word.start()
        if text[start] in "-_.":  # emphasis, the dash of a list
            start = word.end() - len(word[0].lstrip("-_."))
        for prefix, number in _FRONTS.get(text[start : start + 2], ()):
            if text.startswith(prefix, start):
                yield from _secrets(number, RULES[number].pattern.match(text, start))


def _at_keywords(keywords: list[_Keyword], text: str, folded: str) -> Iterator[tuple[Secret, int]]:
    """Most texts have none of the keywords, and then no pattern is tried."""
    for keyword in keywords:
        within = text if keyword.is_exact else folded
        if keyword.text in within:
            for number in keyword.rules:
                yield from _tried(number, text, within, keyword.text)
            yield from _at_keywords(keyword.longer, text, folded)


def _tried(number: int, text: str, within: str, keyword: str) -> Iterator[tuple[Secret, int]]:
    rule = RULES[number]
    if rule.where == "anywhere":
        for each in rule.pattern.finditer(text):
            yield from _secrets(number, each)
        return
    position = within.find(keyword)
    while position >= 0:
        match = rule.pattern.match(text, position)
        yield from _secrets(number, match)
        # A long match is not looked into again: a text full of keywords would be read as often as there are any.
        is_long = match is not None and match.end() - position > _LONG_MATCH
        position = within.find(keyword, match.end() if match and is_long else position + 1)


def _secrets(number: int, match: re.Match[str] | None) -> Iterator[tuple[Secret, int]]:
    if match is None:
        return
    groups, rule = match.groupdict(), RULES[number]
    group: str | int = next((name for name in ("quoted", "value") if groups.get(name) is not None), 0)
    if rule.is_secret(match[group]):
        yield Secret(rule.kind, *match.span(group)), number


def _joined(found: list[tuple[Secret, int]]) -> list[Secret]:
    """Overlapping ones as one, named by the rule that comes first in the table."""
    found.sort(key=lambda each: (each[0].start, each[1]))
    joined: list[tuple[Secret, int]] = []
    for secret, number in found:
        if joined and secret.start < joined[-1][0].end:
            before, first = joined.pop()
            kind = before.kind if first <= number else secret.kind
            joined.append((Secret(kind, before.start, max(before.end, secret.end)), min(first, number)))
        else:
            joined.append((secret, number))
    return [secret for secret, _ in joined]


def _marked(text: str, secrets: list[Secret], keep_lines: bool) -> str:
    parts, position = [], 0
    for secret in secrets:
        lines = text.count("\n", secret.start, secret.end) if keep_lines else 0
        parts += [text[position : secret.start], mark(secret.kind), "\n" * lines]
        position = secret.end
    return "".join([*parts, text[position:]])
