"""Declared things are what files and graphs really hold."""

import apsw
import pytest

from memsweep.model.columns import Declaration
from memsweep.model.text import to_json
from memsweep.store.falkor import reading
from memsweep.store.file.schema import REGISTRY_MIGRATIONS, WORKSPACE_MIGRATIONS
from memsweep.store.things.every import THINGS
from memsweep.store.things.registry import REGISTRY
from memsweep.store.words import spread_script


def migrated(migrations: tuple[str, ...]) -> apsw.Connection:
    db = apsw.Connection(":memory:")
    db.create_scalar_function("spread_script", spread_script, 1, deterministic=True)
    for each in migrations:
        db.execute(each)
    return db


@pytest.mark.parametrize("thing", [*THINGS, *REGISTRY], ids=lambda thing: thing.table)
def test_the_migrations_end_at_the_declared_table(thing: Declaration) -> None:
    db = migrated(REGISTRY_MIGRATIONS if thing in REGISTRY else WORKSPACE_MIGRATIONS)
    there = {
        name: (kind.lower(), bool(required or key), None if default is None else default.strip("'"))
        for _, name, kind, required, default, key in db.execute(f"pragma table_info({thing.table})")
    }
    declared = {
        name: (column.sql.split(" ")[0], not column.null, None if column.default is None else str(column.default))
        for name, column in thing.file_columns.items()
    }
    assert declared == there


def test_every_table_of_a_file_is_declared() -> None:
    listed = migrated(WORKSPACE_MIGRATIONS).execute("select name from pragma_table_list where type = 'table'")
    tables = {name for (name,) in listed if not name.startswith("sqlite_")}
    assert tables == {thing.table for thing in THINGS}


@pytest.mark.parametrize("table", ["memory", "chunk", "segment", "contribution", "tombstone", "name_seen", "receipt"])
def test_a_row_that_becomes_a_node_is_the_same_row_again(table: str) -> None:
    samples = {"blob": b"0123456789abcdef", "real": 0.5, "integer": 1, "text": "word", "": 1}
    wanted = {"tags": to_json(["a"]), "refs": to_json(["b"]), "chunks": to_json([1, 2])}
    (thing,) = (each for each in THINGS if each.table == table)
    row = {
        name: wanted.get(name, samples[column.sql.split(" ")[0]])
        for name, column in thing.file_columns.items()
        if not column.beside
    }
    assert reading.to_row(table, reading.to_node(table, row)) == row
