"""A home with something of everything in it, and a look at all of its rows."""

import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import apsw
import pytest

from memsweep.app import App, make_app
from memsweep.model.segment import ContextSegment
from memsweep.settings import load_settings
from memsweep.store.sqlite import vectors
from tests.support import store_files

MANY_CHUNKS = "Ada Lovelace wrote the first program for a machine that was never built. " * 60


def open_app(home: Path) -> App:
    return make_app(load_settings({"MEMSWEEP_HOME": str(home)}))


def fill(home: Path) -> None:
    """Notes, code, a thread, facts, trash, a plan, a context window and a vector file; nobody has it open then."""
    code = home.parent / "code"
    code.mkdir(parents=True)
    (code / "a.py").write_text("import os\n\n\ndef first():\n    return second()\n")
    (code / "b.py").write_text("import sys\n\n\ndef second():\n    return 1\n")
    app = open_app(home)
    memory = app.memory()
    for number in range(4):
        memory.remember(f"turn {number} with Grace Hopper", thread_id="talk", tags=["talk", f"n{number}"])
    memory.remember(MANY_CHUNKS, tags=["long"])
    memory.remember(
        "Ada knows Grace.", relations=[{"from": "Ada", "relation": "knows", "to": "Grace"}], entities=["Ada"]
    )
    gone = memory.remember("This one is deleted, with Alan Turing and Alan Turing.", thread_id="talk", tags=["gone"])
    memory.code.index(code)
    memory.delete(gone.memory_id, confirm=True)
    memory.sweep.plan("orphaned_entities")
    _context(app)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vectors, "_TAIL_MIN", 3)
        memory.search("Ada")
    app.close()
    assert list((home / "workspaces").glob("*.vec"))


def _context(app: App) -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    with app.engine.open("default").windows.writing("window", create_at=now) as window:
        window.add(
            ContextSegment(f"s{number}", f"segment {number} of a talk", "message", now, now, references=("s0",))
            for number in range(3)
        )


def copy_of(template: Path, home: Path) -> Path:
    """The file of the default workspace in a copy of a home."""
    shutil.copytree(template, home)
    return store_files.file_of(home)


def dump(file: Path, *, without: tuple[str, ...] = ()) -> dict[str, list[Any]]:
    """Every row of every table that is not made from others."""
    with store_files.open_file(file) as db:
        tables = [name for (name,) in db.execute("select name from sqlite_schema where type = 'table'")]
        kept = [name for name in tables if "_fts" not in name and name not in ("chunk_word", *without)]
        return {name: sorted(db.execute(_as_bytes(db, name)), key=repr) for name in kept}


def _as_bytes(db: apsw.Connection, table: str) -> str:
    """Text that is none can be read only so."""
    columns = [name for (name,) in db.execute("select name from pragma_table_info(?)", (table,))]
    return f"select {', '.join(f'typeof({name}), cast({name} as blob)' for name in columns)} from {table}"
