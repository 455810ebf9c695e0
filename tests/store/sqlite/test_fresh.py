"""A new workspace file is a copy: the same as one that went through every step, and never half of it."""

from contextlib import closing
from pathlib import Path

import apsw
import pytest

from memsweep.store.file import health, schema
from memsweep.store.file.connect import connect, connect_new, make_file
from memsweep.store.file.schema import WORKSPACE_MIGRATIONS


def fill(db: apsw.Connection) -> None:
    db.execute(schema.SET_META, ("workspace", "x"))


def fill_badly(db: apsw.Connection) -> None:
    fill(db)
    db.execute("insert into meta select * from meta")


def looked_at(db: apsw.Connection) -> object:
    pragmas = ("user_version", "journal_mode", "page_size", "auto_vacuum", "encoding", "application_id")
    return health.structure(db), list(db.execute("select * from meta")), [db.pragma(name) for name in pragmas]


def test_a_copy_is_what_all_steps_make(tmp_path: Path) -> None:
    paths = tmp_path / "copied.db", tmp_path / "stepped.db"
    for path in paths:
        make_file(path)
    with (
        closing(connect_new(paths[0], fill)) as copied,
        closing(connect(paths[1], WORKSPACE_MIGRATIONS, fill)) as stepped,
    ):
        assert looked_at(copied) == looked_at(stepped)
    with closing(connect(paths[0], WORKSPACE_MIGRATIONS)) as again:
        assert again.pragma("integrity_check") == "ok"


def test_what_cannot_be_filled_stays_empty_and_can_be_made_later(tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    make_file(path)
    with pytest.raises(apsw.ConstraintError):
        connect_new(path, fill_badly)
    assert path.stat().st_size == 0
    connect_new(path, fill).close()
    with closing(connect(path, WORKSPACE_MIGRATIONS)) as db:
        assert list(db.execute("select value from meta where key = 'workspace'")) == [("x",)]
