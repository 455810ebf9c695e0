"""Changes one table of a TOML file and leaves every other byte as it is. Pure.

What comes out is parsed again and compared with what was meant; a file that cannot be changed safely is refused.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from typing import Any

from memsweep.clients.jsonc import CannotEdit

_HEADER = re.compile(r"^\s*\[")
_BARE = re.compile(r"[A-Za-z0-9_-]+")


def parse(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise CannotEdit(f"it is not TOML ({str(error)[:100]})") from None


def set_table(text: str, path: tuple[str, str], value: Mapping[str, Any]) -> str:
    """The text with the table `path[0].path[1]` set to a value; texts and lists of texts, and tables of texts."""
    before = parse(text)
    outer = before.get(path[0], {})
    if not isinstance(outer, dict):
        raise CannotEdit(f"its {path[0]!r} is no table")
    meant = {**before, path[0]: {**outer, path[1]: dict(value)}}
    rest = drop_table(text, path) if path[1] in outer else text
    newline = _newline(text)
    gap = "" if not rest.strip() else newline if rest.endswith(("\n\n", "\r\n\r\n")) else newline * 2
    gap = gap[: -len(newline)] if rest.endswith("\n") and gap else gap
    return _checked(rest + gap + newline.join(_lines(path, value)) + newline, meant)


def drop_table(text: str, path: tuple[str, str]) -> str:
    """The text without the table, as it is if there is none; what follows its header up to the next one is its own."""
    before = parse(text)
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
    return _checked(rest, meant)


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _checked(after: str, meant: Any) -> str:
    try:
        if parse(after) == meant:
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
