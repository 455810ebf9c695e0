"""Docstrings and comments without their quotes, stars, slashes and common indentation."""

from __future__ import annotations

import ast
import re

_QUOTED = re.compile(r"(?is)([a-z]*)('''|\"\"\"|'|\")(.*)\2\Z")
_MARK = re.compile(r"\s*+(?:/\*+!?|\*+/|\*(?!/)|//+!?|#+!?|--+)?\s?")


def clean_string(literal: str) -> str:
    """What a Python string literal says, indented as `inspect.cleandoc` would."""
    found = _QUOTED.match(literal)
    if found is None:
        return ""
    prefix = found[1].casefold()
    if "b" in prefix or "f" in prefix or "t" in prefix:
        return ""
    simple = "r" in prefix or "\\" not in literal
    if simple and found[2] not in found[3]:
        return dedent(found[3])
    return dedent(_evaluated(literal))


def _evaluated(literal: str) -> str:
    # Concatenated literals stand on several lines only inside parentheses.
    try:
        value = ast.literal_eval(f"({literal})")
    except (SyntaxError, ValueError):
        return ""
    return value if isinstance(value, str) else ""


def dedent(text: str) -> str:
    if "\n" not in text:
        return text.strip()
    first, *rest = text.expandtabs().split("\n")
    margin = min((len(line) - len(line.lstrip()) for line in rest if line.strip()), default=0)
    return "\n".join([first.strip(), *(line[margin:].rstrip() for line in rest)]).strip("\n")


def clean_comment(texts: list[str]) -> str:
    """Comment blocks without their marks, one text."""
    lines = [_unmarked(line) for text in texts for line in text.split("\n")]
    return "\n".join(lines).strip()


def _unmarked(line: str) -> str:
    mark = _MARK.match(line)
    rest = line[mark.end() if mark else 0 :].rstrip()
    return rest[:-1].rstrip("*").rstrip() if rest.endswith("*/") else rest
