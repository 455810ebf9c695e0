"""Changes one member of a JSON file, or one table of a TOML file, and leaves every other byte as it is. Pure.

Comments and trailing commas of JSON are accepted, as editors accept them. What comes out is parsed again and compared
with what was meant; a file that cannot be changed safely is refused.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

_TOKEN = re.compile(
    r"(?P<space>\s+|//[^\n]*+|/\*(?:[^*]|\*(?!/))*+\*/)"
    r'|(?P<text>"(?:[^"\\\n]++|\\.)*+")|(?P<mark>[{}\[\]:,])|(?P<word>[^\s{}\[\]:,"/]++)'
)
_DEEPEST = 100


class CannotEdit(ValueError):
    """Why a file is left as it is."""


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Member:
    key: str
    start: int
    """Of the key."""
    value: int
    end: int


def parse_json(text: str) -> Any:
    """The value of a file with comments and trailing commas."""
    tokens = _tokens(text)
    closed = [token.text in ("}", "]") for token in tokens[1:]]
    plain = [token.text for token, ends in zip(tokens, [*closed, False], strict=False) if token.text != "," or not ends]
    try:
        return json.loads(" ".join(plain))
    except (ValueError, RecursionError):
        raise CannotEdit("it is not JSON") from None


def set_member(text: str, path: tuple[str, str], value: Mapping[str, Any]) -> str:
    """The text with `path[0].path[1]` set to a value."""
    if not text.strip():
        return json.dumps({path[0]: {path[1]: value}}, indent=2, ensure_ascii=False) + "\n"
    before = parse_json(text)
    if not isinstance(before, dict):
        raise CannotEdit("it is no JSON object")
    outer = before.get(path[0], {})
    if not isinstance(outer, dict):
        raise CannotEdit(f"its {path[0]!r} is no object")
    meant = {**before, path[0]: {**outer, path[1]: dict(value)}}
    unit, newline = _style(text)
    servers = _find(text, _first_object(text), path[0])
    if servers is None:
        after = _inserted(text, _first_object(text), path[0], {path[1]: value}, unit, newline, 1)
    elif (known := _find(text, servers.value, path[1])) is not None:
        after = text[: known.value] + _written(value, unit, newline, 2) + text[known.end :]
    else:
        after = _inserted(text, servers.value, path[1], value, unit, newline, 2)
    return _checked(after, meant)


def drop_member(text: str, path: tuple[str, str]) -> str:
    """The text without `path[0].path[1]`, as it is if there is none."""
    before = parse_json(text)
    outer = before.get(path[0]) if isinstance(before, dict) else None
    if not isinstance(outer, dict) or path[1] not in outer:
        return text
    servers = _find(text, _first_object(text), path[0])
    assert servers is not None
    members, close = _members(text, servers.value)
    at = next(number for number, member in enumerate(members) if member.key == path[1])
    start, end = _whole_line(text, members[at].start), members[at].end
    before_it = text[:start]
    if (comma := _comma_after(text, end, close)) is not None:
        end = comma + 1
    elif at:  # it was the last: the comma before it came with it, the comment beside that comma did not
        comma = _comma_after(text, members[at - 1].end, close)
        assert comma is not None
        before_it = text[:comma] + text[comma + 1 : start]
    meant = {**before, path[0]: {key: each for key, each in outer.items() if key != path[1]}}
    return _checked(before_it + text[end:], meant)


def _whole_line(text: str, start: int) -> int:
    """Return where the line break before a member is, if nothing but space is between; else where it begins."""
    line = len(text[:start].rstrip(" \t"))
    if text[:line].endswith("\n"):
        return line - (2 if text[:line].endswith("\r\n") else 1)
    return start


def _comma_after(text: str, end: int, close: int) -> int | None:
    """Return where the comma behind a value is; None if the object ends there."""
    rest = _tokens(text[end:close])
    return end + rest[0].start if rest and rest[0].text == "," else None


def _checked(after: str, meant: Any) -> str:
    if parse_json(after) != meant:
        raise CannotEdit("it has a form that cannot be changed safely")
    return after


def _inserted(text: str, at: int, key: str, value: Any, unit: str, newline: str, depth: int) -> str:
    """A new last member of the object that begins at a place."""
    members, close = _members(text, at)
    line = f"{newline}{unit * depth}{json.dumps(key)}: {_written(value, unit, newline, depth)}"
    if not members:
        comments = text[at + 1 : close].rstrip()
        return text[: at + 1] + comments + line + f"{newline}{unit * (depth - 1)}" + text[close:]
    end = members[-1].end
    known = _comma_after(text, end, close)
    comma, last = (",", "") if known is None else ("", ",")  # where the last member has a comma, ours gets one
    end = end if known is None else known + 1
    after = _end_of_line(text, end, close)
    return text[:end] + comma + text[end:after] + line + last + text[after:]


def _end_of_line(text: str, at: int, most: int) -> int:
    """Behind a comment that stands on the same line; the place itself if anything else does."""
    found = text.find("\n", at, most)
    stop = found - (text[found - 1] == "\r") if found > at else found
    if stop < at:
        return at
    try:
        return at if _tokens(text[at:stop]) else stop
    except CannotEdit:  # the beginning of a longer comment
        return at


def _written(value: Any, unit: str, newline: str, depth: int) -> str:
    lines = json.dumps(value, indent=unit or 2, ensure_ascii=False).split("\n")
    return f"{newline}{unit * depth}".join(lines)


def _style(text: str) -> tuple[str, str]:
    """Return the indentation of a level and the line ending of a text."""
    newline = "\r\n" if "\r\n" in text else "\n"
    members, _ = _members(text, _first_object(text))
    if not members:
        return "  ", newline
    line = text.rfind("\n", 0, members[0].start)
    indent = text[line + 1 : members[0].start] if line >= 0 else ""
    return (indent if indent and not indent.strip(" \t") else "  "), newline


def _find(text: str, at: int, key: str) -> _Member | None:
    found = [member for member in _members(text, at)[0] if member.key == key]
    if len(found) > 1:
        raise CannotEdit(f"it has {key!r} twice")
    return found[0] if found else None


def _first_object(text: str) -> int:
    return _tokens(text)[0].start


def _members(text: str, at: int) -> tuple[list[_Member], int]:
    """The members of the object that begins at a place, and where it ends."""
    tokens = [token for token in _tokens(text) if token.start >= at]
    members: list[_Member] = []
    place = 1
    while tokens[place].text != "}":
        if tokens[place].text == ",":
            place += 1
            continue
        key, value = tokens[place], place + 2
        end = _end_of(tokens, value)
        members.append(_Member(json.loads(key.text), key.start, tokens[value].start, tokens[end].end))
        place = end + 1
    return members, tokens[place].start


def _end_of(tokens: list[_Token], place: int) -> int:
    """The last token of the value that begins with a token."""
    depth = 0
    while True:
        depth += (tokens[place].text in ("{", "[")) - (tokens[place].text in ("}", "]"))
        if depth == 0:
            return place
        place += 1


@lru_cache(maxsize=4)  # a file is looked at several times, and may have megabytes
def _tokens(text: str) -> list[_Token]:
    found, at, depth = [], 0, 0
    match: Callable[[str, int], re.Match[str] | None] = _TOKEN.match
    while at < len(text):
        token = match(text, at)
        if token is None:
            raise CannotEdit("it is not JSON")
        kind = token.lastgroup or ""
        if kind != "space" and not (at == 0 and token.group() == "\ufeff"):
            found.append(_Token(kind, token.group(), token.start(), token.end()))
            depth += (token.group() in ("{", "[")) - (token.group() in ("}", "]"))
        if depth > _DEEPEST:
            raise CannotEdit("it is nested too deeply")
        at = token.end()
    return found


# Changes one table of a TOML file and leaves every other byte as it is.
# What comes out is parsed again and compared with what was meant; a file that cannot be changed safely is refused.

_HEADER = re.compile(r"^\s*\[")
_BARE = re.compile(r"[A-Za-z0-9_-]+")


def parse_toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise CannotEdit(f"it is not TOML ({str(error)[:100]})") from None


def set_table(text: str, path: tuple[str, str], value: Mapping[str, Any]) -> str:
    """The text with the table `path[0].path[1]` set to a value; texts and lists of texts, and tables of texts."""
    before = parse_toml(text)
    outer = before.get(path[0], {})
    if not isinstance(outer, dict):
        raise CannotEdit(f"its {path[0]!r} is no table")
    meant = {**before, path[0]: {**outer, path[1]: dict(value)}}
    rest = drop_table(text, path) if path[1] in outer else text
    newline = _newline(text)
    gap = "" if not rest.strip() else newline if rest.endswith(("\n\n", "\r\n\r\n")) else newline * 2
    gap = gap[: -len(newline)] if rest.endswith("\n") and gap else gap
    return _checked_toml(rest + gap + newline.join(_lines(path, value)) + newline, meant)


def drop_table(text: str, path: tuple[str, str]) -> str:
    """The text without the table, as it is if there is none; what follows its header up to the next one is its own."""
    before = parse_toml(text)
    outer = before.get(path[0])
    if not isinstance(outer, dict) or path[1] not in outer:
        return text
    kept, inside = [], False
    for line in text.splitlines(keepends=True):
        if _HEADER.match(line):
            inside = _names(line)[:2] == list(path)
        if not inside:
            kept.append(line)
    left = {key: each for key, each in outer.items() if key != path[1]}
    meant = {**before, path[0]: left} if left else {key: each for key, each in before.items() if key != path[0]}
    rest = "".join(kept)
    if inside:  # it stood at the end, behind a blank line
        rest = rest.rstrip("\r\n") + (_newline(text) if rest else "")
    return _checked_toml(rest, meant)


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _checked_toml(after: str, meant: Any) -> str:
    try:
        if parse_toml(after) == meant:
            return after
    except CannotEdit:
        pass
    raise CannotEdit("it has a form that cannot be changed safely")


def _names(header: str) -> list[str]:
    """The parts of `[a.b]`; what is quoted has no dot in it for us, and is then told from the rest by the check."""
    return [part.strip().strip("\"'") for part in header.strip().strip("[]").partition("]")[0].split(".")]


def _lines(path: tuple[str, str], value: Mapping[str, Any]) -> list[str]:
    plain = {key: each for key, each in value.items() if not isinstance(each, Mapping)}
    tables = {key: each for key, each in value.items() if isinstance(each, Mapping)}
    lines = [f"[{'.'.join(map(_key, path))}]", *(f"{_key(key)} = {_value(each)}" for key, each in plain.items())]
    for name, table in tables.items():
        lines += ["", f"[{'.'.join(map(_key, (*path, name)))}]"]
        lines += [f"{_key(key)} = {_value(each)}" for key, each in table.items()]
    return lines


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else json.dumps(name, ensure_ascii=False)


def _value(value: Any) -> str:
    """Return a value that JSON and TOML write alike: texts, whole numbers, truths and lists of them."""
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, str | bool | int):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    raise CannotEdit("its entry has values that only a person should move")
