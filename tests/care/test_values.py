"""A damaged value is met with a sentence, named by the doctor and mended, whatever column it stands in."""

import functools
import itertools
from pathlib import Path
from typing import Any

import pytest

from memsweep.errors import MemsweepError, StoreCorrupt
from memsweep.services.memory import Memory
from memsweep.store.file.schema import REGISTRY_MIGRATIONS, WORKSPACE_MIGRATIONS
from memsweep.store.things.every import COLUMNS, REGISTRY_COLUMNS
from tests.care import damages, stores
from tests.support import contents, store_files
from tests.support.counts import THOROUGH

BY_COLUMN = [
    (place, list(wrongs)) for place, wrongs in itertools.groupby(damages.damages(), key=lambda wrong: wrong.place)
]
# Every third column of a table gets one of its wrong values, in turn, so that every kind has its share; in `make soak`
# each column gets all of them.
if not THOROUGH:
    tables = [list(columns) for _, columns in itertools.groupby(BY_COLUMN, key=lambda column: column[0].table)]
    chosen = enumerate(column for columns in tables for column in columns[::3])
    BY_COLUMN = [(place, [wrongs[n % len(wrongs)]]) for n, (place, wrongs) in chosen]


@pytest.fixture(scope="session")
def full(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with rows in every table."""
    home = tmp_path_factory.mktemp("full") / "home"
    file = stores.copy_of(template, home)
    with store_files.open_file(file) as db:
        db.execute(damages.MORE)
    app = stores.open_app(home)
    assert app.memory().care.doctor().findings == ()
    app.close()
    return home


def test_every_column_has_a_rule() -> None:
    for rules, migrations in ((COLUMNS, WORKSPACE_MIGRATIONS), (REGISTRY_COLUMNS, REGISTRY_MIGRATIONS)):
        there = [(place.table, place.column) for place in damages.columns(migrations)]
        written = [(table, column) for table, columns in rules.items() for column in columns]
        assert sorted(there) == sorted(written)


def test_a_filled_home_has_rows_in_every_table_and_none_of_them_is_accused(full: Path) -> None:
    file = store_files.file_of(full)
    assert [table for table in COLUMNS if not store_files.count(file, table)] == []


def facts(memory: Memory, memory_id: str) -> tuple[Any, ...]:
    found = memory.get(memory_id)
    times = (found.created_at, found.updated_at, found.expires_at)
    return (found.text, found.tags, found.source, dict(found.metadata), found.thread_id, *times, found.stale)


def affected(file: Path, wrong: damages.Wrong) -> set[str]:
    """The ids of the memories that a damaged row belongs to."""
    last = {
        "memory": "select uid from memory order by id desc limit 1",
        "chunk": "select uid from memory where id = (select memory from chunk order by id desc limit 1)",
        "thread": "select uid from memory where thread is not null",
        "code_root": "select uid from memory where source = 'code_indexer'",
        "code_scope": "select uid from memory where source = 'code_indexer'",
        "code_file": "select uid from memory where source = 'code_indexer'",
        "memory_tag": "select uid from memory",
    }
    return set(store_files.query(file, last[wrong.place.table])) if wrong.place.table in last else set()


@functools.cache
def known(full: Path) -> dict[str, tuple[Any, ...]]:
    """What every memory is before anything is damaged."""
    with contents.opened(full) as memory:
        return {own: facts(memory, own) for own in contents.ids(memory)}


def check(home: Path, wrong: damages.Wrong, full: Path) -> None:
    file = stores.copy_of(full, home)
    concerned = affected(file, wrong)
    others = {own: said for own, said in known(full).items() if own not in concerned}
    damages.put(file, wrong)
    memory = stores.open_app(home).memory()
    try:
        read(memory, list(known(full)), home.parent, wrong)
        name(memory, wrong)
        mend(memory)
        assert {own: facts(memory, own) for own in others} == others
    finally:
        memory.close()


def read(memory: Memory, ids: list[str], folder: Path, wrong: damages.Wrong) -> None:
    for door in damages.doors(memory, ids, folder, of_code=wrong.place.table.startswith("code")):
        try:
            door()
        except StoreCorrupt as error:
            assert "doctor" in str(error)  # noqa: PT017
        except MemsweepError:
            pass  # such as an id that is not there any more


def name(memory: Memory, wrong: damages.Wrong) -> None:
    checkup = memory.care.doctor()
    (found,) = [finding for finding in checkup.findings if finding.invariant == "value_damaged"]
    assert any(f"{wrong.place.table}.{wrong.place.column}" in sample for sample in found.samples)


def mend(memory: Memory) -> None:
    repaired = memory.care.doctor(repair=True)
    assert (repaired.left, repaired.notes) == ((), ())
    assert any("is kept as" in said for said in repaired.lost)
    assert memory.care.doctor().findings == ()


@pytest.mark.soak
@pytest.mark.parametrize(("place", "wrongs"), BY_COLUMN, ids=[f"{p.table}.{p.column}" for p, _ in BY_COLUMN])
def test_a_wrong_value_is_a_sentence_named_and_mended(
    tmp_path: Path, full: Path, place: damages.Place, wrongs: list[damages.Wrong]
) -> None:
    for number, wrong in enumerate(wrongs):
        check(tmp_path / str(number) / "home", wrong, full)
