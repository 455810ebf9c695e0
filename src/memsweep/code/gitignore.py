"""The patterns of one .gitignore, matched as git does; https://git-scm.com/docs/gitignore

Patterns and paths are text with one letter a byte, because git matches bytes. A path is asked about
from the top down, so that a pattern never has to match what lies below a folder it ignores.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from memsweep.model.wildcards import ANYTHING, FOLDERS, IN_NAME, expression

_CLASSES = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "blank": " \\t",
    "cntrl": "\\x00-\\x1f\\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": re.escape("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"),
    "space": "\\s",
    "upper": "A-Z",
    "xdigit": "0-9a-fA-F",
}
_NEVER = "(?!)"
_SPECIAL = re.compile(r"[*?\[\\]")
_TOKEN = re.compile(r"(?s)(?P<stars>\*+)|(?P<any>\?)|(?P<set>\[)|\\(?P<escaped>.)|(?P<plain>[^*?\[\\]+)|(?P<broken>.)")


@dataclass(frozen=True, slots=True)
class IgnoreRule:
    order: int
    negated: bool
    folders_only: bool
    by_name: bool
    """Without a slash in it a pattern is matched against the name alone."""
    literal: str
    """The whole pattern when nothing in it is special, else ""."""
    regex: re.Pattern[str] | None


class Patterns:
    """The patterns of one file about the entries of its folder and those below."""

    def __init__(self, lines: Iterable[str]) -> None:
        rules = [rule for order, line in enumerate(lines) if (rule := _rule(order, line)) is not None]
        self._globs = [rule for rule in reversed(rules) if rule.regex is not None]
        self._literals: dict[tuple[bool, str], list[IgnoreRule]] = defaultdict(list)
        for rule in reversed(rules):
            if rule.regex is None:
                self._literals[rule.by_name, rule.literal].append(rule)
        self.is_empty = not rules

    def verdict(self, path: str, *, is_folder: bool) -> bool | None:
        """Ignored, kept by a `!`, or None for not mentioned; the last pattern that matches decides."""
        name = path.rpartition("/")[2]
        last: IgnoreRule | None = None
        for key in ((True, name), (False, path)):
            for rule in self._literals.get(key, ()):
                if (is_folder or not rule.folders_only) and (last is None or rule.order > last.order):
                    last = rule
        for rule in self._globs:
            if last is not None and rule.order < last.order:
                break
            assert rule.regex is not None
            if (is_folder or not rule.folders_only) and rule.regex.fullmatch(name if rule.by_name else path):
                last = rule
                break
        return None if last is None else not last.negated


def _rule(order: int, line: str) -> IgnoreRule | None:
    pattern = _trimmed(line)
    if not pattern or pattern.startswith("#"):
        return None
    negated = pattern.startswith("!")
    pattern = pattern[negated:]
    folders_only = pattern.endswith("/")
    pattern = pattern[: -1 if folders_only else None]
    by_name = "/" not in pattern
    pattern = pattern.removeprefix("/")
    special = _SPECIAL.search(pattern)
    if special is None:
        return IgnoreRule(order, negated, folders_only, by_name, pattern, None)
    return IgnoreRule(
        order, negated, folders_only, by_name, "", re.compile(_regex(pattern, special.start(), by_name), re.S)
    )


def _trimmed(line: str) -> str:
    """Without the spaces at the end, but for one that is escaped."""
    bare = line.rstrip(" ")
    escapes = len(bare) - len(bare.rstrip("\\"))
    return bare + " " if escapes % 2 and bare != line else bare


def _regex(pattern: str, first_special: int, by_name: bool) -> str:
    parts: list[str] = []
    at = 0
    while at < len(pattern):
        token = _TOKEN.match(pattern, at)
        assert token is not None
        at = token.end()
        match token.lastgroup:
            case "stars":
                # Git compares the letters before the first special one by themselves, and takes what is
                # left for a pattern: `a**/b` has two stars "at the beginning".
                opens = token.start() in (0, first_special) or pattern[token.start() - 1] == "/"
                part, at = _stars(pattern, token, opens and not by_name)
                parts.append(part)
            case "any":
                parts.append("[^/]")
            case "set":
                part, at = _set(pattern, at)
                parts.append(part)
            case "broken":
                return _NEVER  # a lone backslash at the end
            case _:
                parts.append(re.escape(token["escaped"] or token["plain"]))
    return expression(parts)


def _stars(pattern: str, token: re.Match[str], opens: bool) -> tuple[str, int]:
    """One star stays in its folder; two between slashes do not."""
    end = token.end()
    if len(token["stars"]) == 1 or not opens or pattern[end : end + 1] not in ("", "/"):
        return IN_NAME, end
    return (FOLDERS, end + 1) if pattern[end : end + 1] else (ANYTHING, end)


def _set(pattern: str, at: int) -> tuple[str, int]:
    """The set that begins behind a bracket, and where it ends; one that is never closed matches nothing."""
    negated = pattern[at : at + 1] in ("!", "^")
    at += negated
    end = at  # a bracket right at the beginning is a letter of the set
    body = previous = ""
    while at == end or pattern[at : at + 1] != "]":
        part, previous, following = _member(pattern, at, previous)
        if part is None:
            return _NEVER, len(pattern)
        body += part
        at, end = following, -1
    if not body:
        return ("[^/]" if negated else _NEVER), at + 1
    return f"(?!/)[{'^' if negated else ''}{body}]", at + 1


def _member(pattern: str, at: int, previous: str) -> tuple[str | None, str, int]:
    """One letter, range or named class of a set; the letter that a range may begin with; what follows."""
    letter, following = pattern[at : at + 1], pattern[at + 1 : at + 2]
    if letter == "-" and previous and following not in ("", "]"):
        at += 1 + (following == "\\")
        last = pattern[at : at + 1]
        span = f"{re.escape(previous)}-{re.escape(last)}" if previous <= last else ""
        return (span if last else None), "", at + 1
    if letter == "[" and following == ":":
        end = pattern.find("]", at + 2)
        if end > at + 2 and pattern[end - 1] == ":":
            return _CLASSES.get(pattern[at + 2 : end - 1]), "", end + 1
        return ("\\[" if end >= 0 else None), "[", at + 1
    if letter == "\\":
        at, letter = at + 1, following
    return (re.escape(letter) if letter else None), letter, at + 1
