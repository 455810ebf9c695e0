"""Values as Cypher parameters, and compact replies as values. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

Row = list[Any]
Query = tuple[str, dict[str, Any]]
_NOWHERE = "\U0010fffe\U0010ffff"
# The server's indexes cut a text at this sign, and would find it by its parts only; so it is stored as another.
_CUT, _UNCUT = "\x01", "\U0010ffff\U0010fffe"
_UNCUT_BYTES = _UNCUT.encode()
_NULL, _STRING, _INTEGER, _BOOLEAN, _DOUBLE, _ARRAY, _MAP = 1, 2, 3, 4, 5, 6, 10


def with_values(query: str, values: Mapping[str, Any]) -> str:
    """The query behind its parameters: the server keeps one plan for one query, whatever the values."""
    if not values:
        return query
    return "CYPHER " + " ".join(f"{name}={literal(value)}" for name, value in values.items()) + "\n" + query


def literal(value: Any) -> str:
    """One value as Cypher writes it."""
    write = _WRITTEN.get(type(value))
    if write is None:
        write = next((write for kind, write in _WRITTEN.items() if isinstance(value, kind)), _list_literal)
    return write(value)


def _text(value: str) -> str:
    # Nothing that is stored has a NUL, and the server takes none: a value with one is found nowhere.
    plain = value.replace("\\", "\\\\").replace('"', '\\"').replace("\0", _NOWHERE)
    return f'"{plain.replace(_CUT, _UNCUT)}"'


def _number(value: float) -> str:
    if not math.isfinite(value):
        raise ValueError(f"{value} cannot be stored")
    return repr(value)


def _map(values: Mapping[str, Any]) -> str:
    return "{" + ",".join([f"`{key}`:{literal(item)}" for key, item in values.items()]) + "}"


def _list_literal(given: Iterable[Any]) -> str:
    """Long lists are keys: numbers, or digits as text, which need not be looked at one by one."""
    values = list(given)
    kinds = set(map(type, values))
    if kinds == {int}:
        return str(values)
    if kinds == {str} and all(map(str.isalnum, values)):
        return '["' + '","'.join(values) + '"]'
    return "[" + ",".join(map(literal, values)) + "]"


# An add writes a hundred values, a plan a million: most are told by their type.
_WRITTEN: dict[type, Callable[[Any], str]] = {
    type(None): lambda _: "null",
    bool: lambda value: "true" if value else "false",
    str: _text,
    int: str,
    float: _number,
    dict: _map,
    Mapping: _map,
    list: _list_literal,
}


def rows_of(reply: Any) -> list[Row]:
    """The rows of a compact reply; a query that returns nothing has none."""
    return _rows(reply[1]) if len(reply) == 3 else []


def rows_of_each(reply: Any) -> list[list[Row]]:
    """The rows of each of several reads that were asked as one query."""
    return [_rows(row for _, row in rows) for _, rows in reply[1][0]]


def _rows(rows: Iterable[Any]) -> list[Row]:
    # Nearly all of it is numbers and text: a survey has hundreds of thousands, and a call each would show.
    return [
        [
            value
            if kind == _INTEGER
            else value.decode()
            if kind == _STRING and _UNCUT_BYTES not in value
            else None
            if kind == _NULL
            else _value(kind, value)
            for kind, value in row
        ]
        for row in rows
    ]


def _value(kind: int, value: Any) -> Any:
    if kind == _INTEGER:
        return value
    if kind == _STRING:
        return value.decode().replace(_UNCUT, _CUT)
    if kind == _NULL:
        return None
    if kind == _BOOLEAN:
        return value == b"true"
    if kind == _DOUBLE:
        return float(value)
    if kind == _ARRAY:
        return _rows([value])[0]
    if kind == _MAP:
        return {name.decode(): _value(*item) for name, item in zip(value[::2], value[1::2], strict=True)}
    raise ValueError(f"a reply holds a value of kind {kind}, which no query of ours returns")
