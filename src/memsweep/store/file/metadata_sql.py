"""Indexes of the values at some paths in the metadata of live memories, which a setting asks for.

An index of an expression is used where a statement has the same text, so the path stands in it: it comes from the
settings, which allow letters, digits, `_`, `-` and dots, and it is the name of the index.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_NAMED = re.compile(r"memory_metadata ([A-Za-z0-9_.-]+)")
NAMES = "select name from sqlite_schema where type = 'index' and tbl_name = 'memory'"


def value_at(path: Iterable[str]) -> str:
    """Return the expression that is indexed; in damaged metadata there is nothing."""
    place = "".join(f'."{part}"' for part in path)
    return f"case when json_valid(metadata) then json_extract(metadata, '${place}') end"


def definition(name: str) -> str | None:
    """Return the definition of an index by its name; None for the name of another one."""
    if (named := _NAMED.fullmatch(name)) is None:
        return None
    return f'CREATE INDEX "{name}" on memory ({value_at(named[1].split("."))}) where trash is null'


def name_of(path: str) -> str:
    return f"memory_metadata {path}"
