"""What a search and the counts ask begins at what is few: nothing is looked at once for each of many others."""

from collections.abc import Iterator

import apsw
import pytest

from memsweep.app import Memory
from memsweep.model.search import Filters
from memsweep.store.sqlite import graph_sql, search_sql, sql
from tests.support import store_files
from tests.support.inside import store_of

FACTS = {"names": "[]", "names_begin": "[]", "relations_begin": "[]", "ended": 0, "expired_by": 1, "limit": 9}
HIDDEN = search_sql.Hidden(stale=True, superseded=True, expired=True)
EVERY = (Filters(kind="memory"), Filters(kind="code"), Filters(source="chat", tags=("a",)))


@pytest.fixture
def db(memory: Memory) -> Iterator[apsw.Connection]:
    memory.remember("the crane was restarted")
    with store_files.open_file(store_of(memory).path) as db:
        yield db


def steps(db: apsw.Connection, statement: str, values: object = ()) -> list[str]:
    return [step for *_, step in db.execute(f"explain query plan {statement}", values)]


@pytest.mark.parametrize("filters", EVERY, ids=str)
def test_a_filter_is_applied_to_what_was_found(db: apsw.Connection, filters: Filters) -> None:
    where, values = search_sql.eligible(filters, HIDDEN, "+rowid")
    assert "SCAN chunk_fts VIRTUAL TABLE INDEX 0:M1" in steps(db, search_sql.match_words(where), ["x", *values, 1])
    where, values = search_sql.passes(filters, HIDDEN)
    first, second, *_ = steps(db, search_sql.live_of(where), ["[]", *values])
    assert first.startswith("SCAN wanted")
    assert second == "SEARCH chunk USING INTEGER PRIMARY KEY (rowid=?)"


def test_a_path_is_an_indexed_column(db: apsw.Connection) -> None:
    statement = "select memory from code_file where root = 1 and path = 'app.py'"
    assert "INDEX code_file_by_path (root=? AND path=?)" in str(steps(db, statement))


def test_nothing_is_read_whole_that_has_an_index(db: apsw.Connection) -> None:
    for statement, values in (
        (search_sql.HIDDEN_CHUNKS, ()),
        (graph_sql.STATEMENTS_ABOUT, FACTS),
        (sql.COUNTS, ()),
        (search_sql.ANY_EXPIRED, (1,)),
    ):
        whole = [
            step for step in steps(db, statement, values) if step in ("SCAN chunk", "SCAN relation", "SCAN memory")
        ]
        assert whole == [], statement
