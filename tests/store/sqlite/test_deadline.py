"""A call that goes on for too long is ended."""

from pathlib import Path

import pytest

from memsweep import deadline
from memsweep.app import App
from memsweep.errors import StoreBusy
from memsweep.store.file.connect import Pool
from memsweep.store.file.schema import WORKSPACE_MIGRATIONS
from tests.support import store_files
from tests.support.engines import on_every_engine

_ENDLESS = "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n"


def delete_for_ever(pool: Pool) -> None:
    with pool.writing() as db:
        db.execute("delete from memory")
        db.execute(_ENDLESS).fetchall()


def test_a_statement_is_interrupted_and_what_was_written_is_taken_back(app: App, home: Path) -> None:
    memory = app.memory()
    kept = memory.remember("The harbour opens at dawn.")
    pool = Pool(store_files.file_of(home), WORKSPACE_MIGRATIONS)
    with pytest.raises(StoreBusy, match="used up its processor time"), deadline.at_most(0.2):
        delete_for_ever(pool)
    assert memory.get(kept.memory_id).text == "The harbour opens at dawn."
    with pool.reading() as db:  # the same connection, for the next call
        assert db.execute("select count(*) from memory").fetchall() == [(1,)]
    pool.close()


@on_every_engine
def test_no_statement_is_begun_when_the_time_is_over(app: App) -> None:
    memory = app.memory()
    memory.remember("The harbour opens at dawn.")
    with deadline.at_most(0), pytest.raises(StoreBusy, match="Ask for less at once"):
        memory.search("harbour")
    assert memory.search("harbour").hits


def test_an_inner_limit_ends_with_its_block() -> None:
    with deadline.at_most(1000):
        with deadline.at_most(0):
            assert deadline.is_over()
        assert not deadline.is_over()
