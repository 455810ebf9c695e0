"""Rows that hold somebody's words beside memories: statements. Pure text; values are always bound."""

from __future__ import annotations

from memsweep.model.records import FIELDS


def _select(kind: str) -> str:
    fields = FIELDS[kind]
    uid = "uid" if fields.has_id else f"'{kind} ' || id"
    version = "version" if fields.versioned else "0"
    trash = "trash" if fields.trashable else "null"
    return f"select id, {uid}, {version}, {trash}, {', '.join(fields.all)} from {kind}"


def _write(kind: str) -> str:
    fields = FIELDS[kind]
    sets = [*(f"{name} = ?" for name in fields.all), *(["version = version + 1"] if fields.versioned else [])]
    return f"update {kind} set {', '.join(sets)} where id = ?"


PAGE = {kind: f"{_select(kind)} where id > :after order by id limit :limit" for kind in FIELDS}
AT = {kind: f"{_select(kind)} where id in (select value from json_each(:keys))" for kind in FIELDS}
WRITE = {kind: _write(kind) for kind in FIELDS}
NAMES_SEEN = "select name from name_seen order by name_key"
FORGET_NAME = "delete from name_seen where name = ?"
