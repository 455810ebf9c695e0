"""Find the values that do not fit in a row, and their replacements, by the table of columns. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memsweep.model.columns import Column
from memsweep.model.forms import DROP, BadText, Row, Together, hash_text
from memsweep.store.things.every import COLUMNS, REGISTRY_COLUMNS, TABLES
from memsweep.store.things.registry import META_VALUES

# What is made from another column, and is made again with it.
_MADE_FROM = {"memory": {"text": ("content_hash", hash_text)}, "chunk": {"text": ("hash", hash_text)}}


def misfits(table: str, row: Row) -> list[str]:
    """The columns of a row that do not hold what they may hold."""
    columns = _columns(table, row)
    found = [name for name, column in columns.items() if not column.fits(row[name])]
    if not found:
        found = [name for rule in _together(table) if not rule.fits(row) for name in rule.columns]
    return found


def mended(table: str, row: Row, wrong: list[str], key: int, now: int) -> dict[str, Any] | None:
    """Return the new values of a row in place of wrong ones; None if the row means nothing without."""
    columns = _columns(table, row)
    sound = {name: value for name, value in row.items() if name not in wrong} | {"rowid": key, "now": now}
    values: dict[str, Any] = {}
    for name in sorted(wrong, key=lambda name: name.endswith(("_key", "hash"))):  # those are made from others
        if columns[name].fits(row[name]):
            values[name] = None  # sound by itself, but not together with another
            continue
        values[name] = sound[name] = columns[name].remedy(row[name], sound)
        if values[name] is DROP or not columns[name].fits(values[name]):
            return None
    for name, (made, make) in _MADE_FROM.get(table, {}).items():
        if name in values:
            values[made] = make(values[name])
    for rule in _together(table):
        if set(rule.columns) & set(wrong):
            values |= dict.fromkeys(rule.columns) if not rule.fits({**row, **values}) else {}
    return values


def shown(value: Any) -> str:
    """A damaged value in a few letters."""
    if isinstance(value, BadText):
        return "text that is no UTF-8"
    return "nothing" if value is None else f"{value!r:.30}"


def _columns(table: str, row: Row) -> Mapping[str, Column]:
    if table != "meta":
        return COLUMNS.get(table) or REGISTRY_COLUMNS[table]
    return COLUMNS["meta"] | ({"value": META_VALUES[row["key"]]} if row["key"] in META_VALUES else {})


def _together(table: str) -> tuple[Together, ...]:
    return TABLES[table].together if table in TABLES else ()
