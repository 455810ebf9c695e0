"""What a reader changes: the order of the best, and how relevant they are."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsweep import Memory, open_memory
from memsweep.app import App
from memsweep.memory.ranking import READ, Row, reordered
from memsweep.memory.recall import recall
from memsweep.model.search import Filters
from tests.support.engines import on_every_engine
from tests.support.paging import pages_of

ROWS = st.lists(st.floats(-1, 0), max_size=30).map(
    lambda scores: [(score, key, 0.0, 0.0, 0.0) for key, score in enumerate(sorted(scores))]
)


@st.composite
def read_rows(draw: st.DrawFn) -> tuple[list[Row], dict[int, float]]:
    """A ranking, and readings of some of its first rows."""
    rows = draw(ROWS)
    readings = draw(st.lists(st.none() | st.floats(-12, 12), min_size=len(rows[:READ]), max_size=len(rows[:READ])))
    return rows, {row[1]: said for row, said in zip(rows, readings, strict=False) if said is not None}


@given(read_rows())
def test_a_reading_loses_nothing_and_keeps_scores_in_their_range(given: tuple[list[Row], dict[int, float]]) -> None:
    rows, readings = given
    again = reordered(rows, readings)
    assert sorted(row[1] for row in again) == sorted(row[1] for row in rows)
    assert min((row[0] for row in again), default=0) >= min((row[0] for row in rows), default=0) - 1e-9
    assert max((row[0] for row in again), default=0) <= max((row[0] for row in rows), default=0) + 1e-9


@given(ROWS)
def test_readings_that_say_the_same_of_all_change_nothing(rows: list[Row]) -> None:
    spoken_for = [row for row in rows if row[0] < 0]
    again = reordered(spoken_for, {row[1]: 3.0 for row in spoken_for})
    assert [row[1] for row in again] == [row[1] for row in spoken_for]


def test_what_is_read_better_comes_first_and_what_nothing_speaks_for_stays_behind() -> None:
    rows = [(-0.9, 1, 0.5, 0.4, 0.0), (-0.8, 2, 0.4, 0.4, 0.0), (0.0, 3, 0.0, 0.0, 0.0), (0.0, 4, 0.0, 0.0, 0.0)]
    again = reordered(rows, {1: -10.0, 2: 8.0, 3: -11.0, 4: 5.0})
    assert [row[1] for row in again] == [2, 4, 1, 3]
    assert [row[0] < 0 for row in again] == [True, True, True, False], "what had evidence keeps it"


class WordReader:
    """Reads for a word, and counts what it was given."""

    def __init__(self, word: str) -> None:
        self._word = word
        self.given: list[str] = []

    def read(self, query: str, passages: list[str]) -> list[float]:
        self.given += passages
        return [8.0 if self._word in passage else -11.0 for passage in passages]


@on_every_engine
def test_both_modes_put_first_what_reads_best(make: Callable[..., App]) -> None:
    app = make()
    memory = app.memory("notes")
    for text in ("The red door sticks in winter.", "The red door leads to the cellar.", "The red door is new."):
        memory.remember(text)
    now = datetime.now(UTC)
    for mode in ("precise", "deep"):
        page = recall(
            app.engine.open("notes"), app.embedder, "red door", words=app.local_model, now=now, mode=mode,
            reader=WordReader("cellar"),
        )  # fmt: skip
        assert page.hits[0].passage.text == "The red door leads to the cellar."
        assert "reading 8.0" in page.hits[0].why


@on_every_engine
def test_code_and_long_queries_are_not_read(make: Callable[..., App], tmp_path: Path) -> None:
    (tmp_path / "doors.py").write_text("def open_the_red_door():\n    return 'cellar'\n")
    app = make()
    memory = app.memory("notes")
    memory.code.index(tmp_path)
    memory.remember("The red door leads to the cellar.")
    reader, store = WordReader("cellar"), app.engine.open("notes")
    options = {"words": app.local_model, "now": datetime.now(UTC), "reader": reader}
    found = recall(store, app.embedder, "where does the red door lead", **options)
    assert found.hits
    assert reader.given == ["The red door leads to the cellar."]
    reader.given.clear()
    for query in ("red door " * 30, ",".join(f"door{number}" for number in range(30)), "..."):
        recall(store, app.embedder, query, **options)
    assert reader.given == []


@on_every_engine
def test_of_few_memories_all_are_read_even_what_nothing_else_found(make: Callable[..., App]) -> None:
    app = make()
    memory = app.memory("notes")
    memory.remember("The red door leads to the cellar.", tags=["house"])
    unlike = memory.remember("Buy oat milk.", tags=["shop", "house"])
    memory.remember("Ingrid speaks Swedish.", tags=["shop"])
    reader, store = WordReader("oat"), app.engine.open("notes")
    options = {"words": app.local_model, "now": datetime.now(UTC), "reader": reader}
    for mode in ("precise", "deep"):
        reader.given.clear()
        page = recall(store, app.embedder, "red door", mode=mode, **options)
        assert sorted(reader.given) == ["Buy oat milk.", "Ingrid speaks Swedish.", "The red door leads to the cellar."]
        assert page.hits[0].passage.memory_id == unlike.memory_id
        assert page.total == len(page.hits) == {"precise": 1, "deep": 2}[mode], "what reads badly is no result"
    reader.given.clear()
    recall(store, app.embedder, "red door", filters=Filters(tags=("house",)), **options)
    assert sorted(reader.given) == ["Buy oat milk.", "The red door leads to the cellar."]


@on_every_engine
def test_of_many_memories_only_the_best_are_read(make: Callable[..., App]) -> None:
    app = make()
    for number in range(READ + 10):
        app.memory("notes").remember(f"The red door of house {number} sticks.")
    app.memory("notes").remember("Buy oat milk.")
    reader = WordReader("oat")
    recall(
        app.engine.open("notes"), app.embedder, "red door", words=app.local_model, now=datetime.now(UTC), reader=reader
    )
    assert len(reader.given) == len(set(reader.given)) == READ
    assert "Buy oat milk." not in reader.given


@pytest.fixture
def read_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    monkeypatch.setenv("MEMSWEEP_SEARCH_READER", "ms-marco")
    with open_memory(home=tmp_path) as memory:
        yield memory


@pytest.mark.slow
def test_the_real_reader_tells_an_answer_from_a_near_miss(read_memory: Memory) -> None:
    read_memory.remember("Tom is allergic to penicillin.")
    answer = read_memory.remember("Maya gets hives from peanuts, so none of them in her lunch box.")
    read_memory.remember("Maya plays the violin on Thursdays.")
    (first, *_) = read_memory.search("What is Maya allergic to?").hits
    assert first.passage.memory_id == answer.memory_id


@pytest.mark.slow
def test_the_real_reader_is_silent_about_a_near_miss_and_shows_it_as_the_nearest(read_memory: Memory) -> None:
    tom = read_memory.remember("Tom is allergic to penicillin.")
    for number in range(28):
        read_memory.remember(f"Guest {number} swims on Mondays in lane {number}.")
    page = read_memory.search("What is Maya allergic to?")
    assert page.hits == ()
    assert page.nearest is not None
    assert page.nearest.passage.memory_id == tom.memory_id
    assert read_memory.search("What is Tom allergic to?").hits[0].passage.memory_id == tom.memory_id


@pytest.mark.slow
def test_pages_of_a_listing_show_each_memory_once(read_memory: Memory) -> None:
    for number in range(45):
        read_memory.remember(f"Note {number} about the red door in house {number}.")
    pages = list(pages_of(read_memory.search, query="red door", limit=10, mode="deep"))
    seen = [hit.passage.memory_id for page in pages for hit in page.hits]
    assert len(seen) == len(set(seen)) == pages[-1].total == 45
