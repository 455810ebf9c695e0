"""What somebody can do who wants a restore to do harm: change a backup, and seal it again."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw

from tests.support import store_files

_STRUCTURE = """
    select type, name, tbl_name, sql from sqlite_schema
    where name not like 'sqlite\\_%' escape '\\' and name <> 'vector_stage' order by type, name"""
_TABLES = """
    select name from pragma_table_list
    where schema = 'main' and type in ('table', 'shadow') and name not like 'sqlite\\_schema' escape '\\'
    order by name"""


def edit(file: Path, script: str) -> None:
    with store_files.open_file(file) as db:
        db.execute(script)


def edit_schema(file: Path, name: str, old: str, new: str) -> None:
    """Write another definition of an object into the schema, as nobody could make it by a statement."""
    with store_files.open_file(file) as db:
        db.execute("pragma writable_schema = on")
        db.execute("update sqlite_schema set sql = replace(sql, ?, ?) where name = ?", (old, new, name))
        assert db.changes() == 1
        assert db.execute("select instr(sql, ?) from sqlite_schema where name = ?", (new, name)).fetchone() != (0,)


def reseal(file: Path) -> None:
    """Make the seal one of the file as it is now."""
    with store_files.open_file(file) as db:
        values: dict[str, Any] = dict(db.execute("select key, value from backup_seal"))
        values.pop("digest", None)
        values["memories"] = _count(db)
        db.execute("drop table backup_seal")
        values["digest"] = digest(db, values)
        db.execute("create table backup_seal (key text primary key, value) without rowid")
        db.executemany("insert into backup_seal (key, value) values (?, ?)", values.items())


def digest(db: apsw.Connection, said: dict[str, Any]) -> str:
    hasher = hashlib.blake2b(repr(sorted(said.items())).encode(), digest_size=32)
    for row in db.execute(_STRUCTURE):
        hasher.update(repr(row).encode())
    for (table,) in db.execute(_TABLES).fetchall():
        columns: list[Any] = db.execute(
            "select name, type, pk from pragma_table_xinfo(?) order by cid", (table,)
        ).fetchall()
        hasher.update(repr((table, columns)).encode())
        shown = ", ".join(
            f'cast("{name}" as blob)' if "text" in kind.lower() else f'"{name}"' for name, kind, _ in columns
        )
        keys = ", ".join(f'"{name}"' for _, name in sorted((pk, name) for name, _, pk in columns if pk)) or "rowid"
        for row in db.execute(f'select {shown} from "{table}" order by {keys}'):
            hasher.update(repr(row).encode())
    return hasher.hexdigest()


def _shown(name: str, kind: str) -> str:
    return f'cast("{name}" as blob)' if "text" in kind.lower() else f'"{name}"'


def patch(file: Path, at: int, raw: bytes) -> None:
    with file.open("r+b") as out:
        out.seek(at)
        out.write(raw)


def root_of(file: Path, table: str) -> int:
    """Where the root page of a table begins; pages have 4096 bytes."""
    (page,) = store_files.query(file, "select rootpage from sqlite_schema where name = ?", table)
    return int(page - 1) * 4096


def forged(script: str) -> Callable[[Path], None]:
    def forge(file: Path) -> None:
        edit(file, script)
        reseal(file)

    return forge


def redefined(name: str, old: str, new: str) -> Callable[[Path], None]:
    def forge(file: Path) -> None:
        edit_schema(file, name, old, new)
        reseal(file)

    return forge


def _count(db: apsw.Connection) -> int:
    try:
        found = db.execute("select count(*) from memory where trash is null").fetchone()
    except apsw.Error:
        return 0
    return int(found[0]) if found else 0
