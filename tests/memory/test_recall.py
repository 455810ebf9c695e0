"""Searching a real workspace with the bundled model."""

import base64
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memsweep.app import App, Memory
from memsweep.errors import BadInput, UnknownWorkspace
from memsweep.library import open_memory
from memsweep.memory.ranking import WEIGHTS_OF_MODELS, FusionWeights
from memsweep.memory.recall import MAX_LIMIT
from memsweep.model.search import Page
from memsweep.store import words
from tests.support import store_files
from tests.support.counts import rounds
from tests.support.paging import pages_of


def texts(page: Page) -> list[str]:
    return [hit.passage.text for hit in page.hits]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A workspace that is only read."""
    memory = open_memory(home=tmp_path_factory.mktemp("library") / "home")
    for text in LIBRARY:
        memory.remember(text)
    yield memory
    memory.close()


LIBRARY = [
    "The garden needs watering every morning.",
    "We deployed the payment service to Frankfurt.",
    "El niño juega en el jardín con su café.",
    "我们昨天去了北京的博物馆。",
    "東京タワーに登りました。",
    "วันนี้อากาศดีมาก",
    "Смешанный текст о базах данных.",
    "שלום עולם",
    "emoji only day: 🎉🚀",
    'Use "quotes" AND operators (NEAR) wisely* -- ^column:text',
    "snake_case_names and camelCaseNames in code",
    "error 0x80070005 in kernel32.dll",
    "C++ and C# and F# are languages",
    "The price was 1,234.56 EUR",
]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("water the garden", 0),
        ("gardens watered", 0),
        ("DEPLOYING payments", 1),
        ("frankfurt", 1),
        ("nino jardin cafe", 2),
        ("NIÑO", 2),
        ("cafe\u0301 jardi\u0301n nin\u0303o", 2),
        ("北京", 3),
        ("博物馆", 3),
        ("東京", 4),
        ("タワー", 4),
        ("อากาศ", 5),
        ("базы данных", 6),
        ("שלום", 7),
        ("quotes operators", 9),
        ("camelCaseNames", 10),
        ("snake_case", 10),
        ("0x80070005", 11),
        ("kernel32", 11),
        ("1,234.56", 13),
    ],
)
def test_search_finds(library: Memory, query: str, found: int) -> None:
    assert texts(library.search(query))[0] == LIBRARY[found]


@pytest.mark.parametrize(
    ("query", "found"), [("water the garden", 0), ("nin\u0303o", 2), ("北京", 3), ("0x80070005", 11)]
)
def test_a_large_workspace_is_searched_by_the_rarest_words(
    library: Memory, monkeypatch: pytest.MonkeyPatch, query: str, found: int
) -> None:
    monkeypatch.setattr(words, "SMALL", 0)
    hit = library.search(query).hits[0]
    assert hit.passage.text == LIBRARY[found]
    assert hit.words


@pytest.mark.parametrize("small", [0, 5000])
def test_one_known_word_among_hundreds_of_unknown_ones_is_found(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, small: int
) -> None:
    monkeypatch.setattr(words, "SMALL", small)
    for text in ("the zebra sleeps", "a quiet evening", "nothing to see"):
        memory.remember(text)
    unknown = [f"qx{number}z" for number in range(400)]
    hit = memory.search(" ".join([*unknown, "zebra"]), mode="deep").hits[0]
    assert hit.passage.text == "the zebra sleeps"
    assert hit.words == ("zebra",)


def test_a_word_that_was_unknown_a_moment_ago_is_found(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words, "SMALL", 0)
    for number in range(30):
        memory.remember(f"note number {number}")
    memory.search("note zebra")
    memory.remember("a zebra sleeps")
    assert memory.search("note zebra").hits[0].passage.text == "a zebra sleeps"


def test_the_end_of_a_long_query_counts_as_its_beginning_does(memory: Memory) -> None:
    memory.remember("ZeroDivisionError comes from the tax rate of countries without one")
    for number in range(90):
        memory.remember(f"a call in line {number} of the garden hose")
    frames = "".join(f'  File "module{number}.py", line {number}, in call\n' for number in range(300))
    assert len(frames) > 10_000
    hit = memory.search(f"{frames}ZeroDivisionError: the tax rate is 0").hits[0]
    assert hit.passage.text.startswith("ZeroDivisionError")


def test_meaning_finds_what_words_do_not(memory: Memory) -> None:
    for text in ["My dog barks at the postman.", "The invoice is due on Friday.", "Rust compiles slowly."]:
        memory.remember(text)
    hit = memory.search("a puppy, an animal").hits[0]
    assert hit.passage.text.startswith("My dog")
    assert "words" not in hit.why
    assert "similarity" in hit.why


LEGAL = [
    "",
    " ",
    "\n\t",
    '"',
    "'",
    '""',
    '" OR "',
    "AND",
    "OR NOT",
    "NEAR(a b, 5)",
    "a NEAR b",
    "*",
    "a*",
    "^a",
    "-a",
    "+a",
    "text:a",
    "rowid:1",
    "{text} : a",
    "(((",
    ")",
    "a' or 1=1 --",
    "%_",
    "\\",
    "🎉",
    "👨‍👩‍👧‍👦",
    "🎉 garden",
    "\0",
    "garden\0 water",
    "\ud800",
    "garden \udfff",
    "\u202egarden",
    "\ufeff",
    "\U0010ffff",
    "²",
    "①",
    "ͅ",
    "İ",
    "ﬀ",
    "x" * 10_000,
    "garden " * 1_430,
    pytest.param("".join(chr(0x4E00 + n) for n in range(10_000)), marks=pytest.mark.slow),
    " ".join(f"w{n}" for n in range(2_000)),
    "garden\r\nwater",
    "the of and",
]


@pytest.mark.parametrize("query", LEGAL, ids=lambda query: ascii(query)[:30])
def test_any_text_is_a_legal_query(library: Memory, query: str) -> None:
    page = library.search(query)
    assert len(page.hits) <= 10
    assert page.total >= len(page.hits)
    assert all(hit.score == hit.score for hit in page.hits)  # no NaN


@settings(max_examples=rounds(20, 150))
@given(
    st.text(st.characters())
    | st.text(st.characters(), min_size=500)
    | st.lists(st.sampled_from(['"', "AND", "garden", "*", "(", "NEAR", "北", "é", "\0", "-", ":", "^", "🎉"])).map(
        " ".join
    )
)
def test_any_text_at_all_is_a_legal_query(library: Memory, query: str) -> None:
    for hit in library.search(query).hits:
        assert hit.why


def test_a_query_without_words_gives_the_newest(memory: Memory) -> None:
    for number in range(5):
        memory.remember(f"note {number}")
    page = memory.search("  ", limit=3)
    assert texts(page) == ["note 4", "note 3", "note 2"]
    assert {hit.why for hit in page.hits} == {"newest"}
    assert texts(memory.search("  ", limit=3, cursor=page.next_cursor)) == ["note 1", "note 0"]


@pytest.mark.parametrize("query", [None, 5, b"garden", ["garden"]])
def test_a_query_that_is_no_text_is_refused(library: Memory, query: Any) -> None:
    with pytest.raises(BadInput, match="query must be text"):
        library.search(query)


@pytest.mark.parametrize("limit", [0, -1, MAX_LIMIT + 1, True, 2.0, "5", None])
def test_a_limit_out_of_bounds_is_refused(library: Memory, limit: Any) -> None:
    with pytest.raises(BadInput, match="limit must be from 1 to 50"):
        library.search("garden", limit=limit)


@pytest.mark.parametrize("limit", [1, MAX_LIMIT])
def test_a_limit_at_its_bounds_is_kept(library: Memory, limit: int) -> None:
    assert len(library.search("the garden", limit=limit).hits) <= limit


def test_why_names_the_words_that_matched(library: Memory) -> None:
    hit = library.search("watering gardens every zebra").hits[0]
    assert hit.words == ("watering", "gardens", "every")
    assert "; words: watering, gardens, every; " in hit.why


@pytest.mark.parametrize(("query", "word"), [("nin\u0303o", "niño"), ("JARDÍN", "jardín"), ("jardi\u0301n", "jardín")])
def test_a_word_is_found_in_whatever_form_it_is_written(library: Memory, query: str, word: str) -> None:
    hit = library.search(query).hits[0]
    assert hit.passage.text == LIBRARY[2]
    assert hit.words == (word,)


def test_why_stays_short_for_long_words(memory: Memory) -> None:
    long = "x" * 1000
    memory.remember(f"the key is {long} and no other")
    assert len(memory.search(f"key {long}").hits[0].why) < 400


def pages(memory: Memory, query: str, **options: Any) -> list[list[str]]:
    found = pages_of(memory.search, query=query, **options)
    return [[hit.passage.chunk_id for hit in page.hits] for page in found]


@pytest.mark.parametrize("limit", [1, 7, 10, 50])
@pytest.mark.parametrize("query", ["meeting notes", ""])
def test_pages_have_no_gaps_and_no_repeats(memory: Memory, query: str, limit: int) -> None:
    for number in range(30):
        memory.remember(f"meeting notes number {number}", thread_id="t" if number % 2 else None)
    found = [chunk for page in pages(memory, query, limit=limit) for chunk in page]
    assert len(found) == len(set(found)) == memory.search(query).total == 30
    assert found == pages(memory, query, limit=50)[0]


def test_every_page_but_the_last_is_full(memory: Memory) -> None:
    for number in range(25):
        memory.remember(f"meeting notes number {number}")
    assert [len(page) for page in pages(memory, "meeting", limit=10)] == [10, 10, 5]


def other_cursors(good: str) -> list[Any]:
    return [good[:-4], good + "AAAA", "x", "%%%", "é", "\ud800", base64.urlsafe_b64encode(bytes(9)).decode(), 5, b"abc"]


def test_a_cursor_of_another_query_is_refused(memory: Memory) -> None:
    for number in range(25):
        memory.remember(f"meeting notes number {number}")
    good = memory.search("meeting").next_cursor
    assert good is not None
    for bad in other_cursors(good):
        with pytest.raises(BadInput, match="does not belong to this"):
            memory.search("meeting", cursor=bad)
    for query, filters in [("meetings", {}), ("meeting", {"tags": ["x"]}), ("meeting", {"include_stale": True})]:
        with pytest.raises(BadInput, match="does not belong to this"):
            memory.search(query, filters=filters, cursor=good)


def test_an_empty_cursor_is_the_first_page(library: Memory) -> None:
    assert library.search("garden", cursor="") == library.search("garden")


def test_the_same_search_gives_the_same_answer(memory: Memory) -> None:
    for number in range(40):
        memory.remember("the same words", thread_id=f"thread {number}")
    assert len({tuple(hit.passage.chunk_id for hit in memory.search("same words").hits) for _ in range(5)}) == 1


def test_tags_must_all_be_there(memory: Memory) -> None:
    memory.remember("one apple", tags=["fruit", "red"])
    memory.remember("two apples", tags=["fruit"])
    memory.remember("three apples", tags=["red", "fruit", "sweet"])
    assert set(texts(memory.search("apple", filters={"tags": ["fruit", "red"]}))) == {"one apple", "three apples"}
    assert set(texts(memory.search("", filters={"tags": ["fruit", "red"]}))) == {"one apple", "three apples"}
    assert texts(memory.search("apple", filters={"tags": ["fruit", "absent"]})) == []
    assert len(texts(memory.search("apple", filters={"tags": []}))) == 3


def test_tags_are_compared_exactly(memory: Memory) -> None:
    memory.remember("one apple", tags=["Fruit", "🍎", "a'b\"c", "100%"])
    for tag in ["Fruit", "🍎", "a'b\"c", "100%"]:
        assert texts(memory.search("apple", filters={"tags": [tag]})) == ["one apple"]
    for tag in ["fruit", "Frui", "%", "100_"]:
        assert texts(memory.search("apple", filters={"tags": [tag]})) == []


def test_source_is_compared_exactly(memory: Memory) -> None:
    memory.remember("one apple", source="chat")
    memory.remember("two apples", source="mail")
    memory.remember("three apples")
    assert texts(memory.search("apple", filters={"source": "chat"})) == ["one apple"]
    assert texts(memory.search("apple", filters={"source": ""})) == ["three apples"]
    assert texts(memory.search("apple", filters={"source": "cha"})) == []


def test_dates_hold_both_ends(app: App) -> None:
    memory = app.memory()
    for day in range(1, 6):
        app.clock = lambda day=day: datetime(2026, 1, day, 12, tzinfo=UTC)  # type: ignore[misc]
        memory.remember(f"apple of day {day}")

    def days(**filters: str) -> list[str]:
        return sorted(text[-1] for text in texts(memory.search("apple", filters=filters)))

    assert days(date_from="2026-01-03") == ["3", "4", "5"]
    assert days(date_to="2026-01-03") == ["1", "2", "3"]
    assert days(date_from="2026-01-02", date_to="2026-01-02") == ["2"]
    assert days(date_from="2026-01-02T12:00:00Z", date_to="2026-01-03T11:59:59Z") == ["2"]
    assert days(date_from="2026-01-02T13:00:00+01:00", date_to="2026-01-02T13:00:00+01:00") == ["2"]
    assert days(date_from="2027-01-01") == []
    assert days(date_from="0001-01-01", date_to="9999-12-31") == ["1", "2", "3", "4", "5"]


@pytest.mark.slow
def test_few_that_pass_are_found_among_many_that_do_not(memory: Memory) -> None:
    for number in range(600):
        memory.remember(f"apple pie recipe number {number}")
    memory.remember("an orchard far away", tags=["rare"])
    assert texts(memory.search("apple pie", filters={"tags": ["rare"]}, mode="deep")) == ["an orchard far away"]


def test_trash_is_invisible_to_every_read(memory: Memory, home: Path) -> None:
    gone = memory.remember("the rotten apple", thread_id="t", tags=["x"], entities=["Apple"])
    memory.remember("the fresh apple", thread_id="t", tags=["x"])
    memory.delete(gone.memory_id, confirm=True)
    for query in ("rotten apple", "apple", ""):
        for filters in ({}, {"tags": ["x"]}, {"include_stale": True}, {"source": ""}, {"date_from": "2000-01-01"}):
            assert texts(memory.search(query, filters=filters)) == ["the fresh apple"]
    with pytest.raises(Exception, match="does not exist"):
        memory.get(gone.memory_id)
    assert memory.stats().total_memories == memory.stats().total_chunks == 1
    assert store_files.problems(store_files.file_of(home)) == []
    again = memory.remember("the rotten apple", thread_id="t")
    assert again.duplicate_of is None


def test_neighbours_in_a_thread_are_considered(memory: Memory) -> None:
    turns = [
        "Caroline: How was the conference in Lisbon?",
        "Mel: It went really well, thanks!",
        "Caroline: Shall we have lunch?",
    ]
    for turn in turns:
        memory.remember(turn, thread_id="talk")
    for number in range(30):
        memory.remember(f"Unrelated filler sentence {number} on gardening.")
    found = memory.search("conference Lisbon").hits
    assert found[0].passage.text == turns[0]
    assert found[1].passage.text == turns[1]
    assert "neighbours" in found[1].why


def test_the_same_turns_without_a_thread_are_no_neighbours(memory: Memory) -> None:
    memory.remember("How was the conference in Lisbon?")
    memory.remember("It went really well, thanks!")
    assert not any("neighbours" in hit.why for hit in memory.search("conference Lisbon").hits)


def test_neighbours_respect_the_filters(memory: Memory) -> None:
    memory.remember("How was the conference in Lisbon?", thread_id="t", tags=["a"])
    memory.remember("It went really well, thanks!", thread_id="t")
    assert texts(memory.search("conference Lisbon", filters={"tags": ["a"]})) == ["How was the conference in Lisbon?"]


def test_the_pieces_of_a_long_memory_are_neighbours(memory: Memory) -> None:
    text = "\n\n".join(f"Chapter {n}. " + f"Some words about topic {n}. " * 60 for n in range(8))
    added = memory.remember(text)
    assert added.chunks_created > 3
    assert any("neighbours" in hit.why for hit in memory.search("chapter 4 topic").hits)


def test_an_unknown_workspace_lists_the_known(app: App) -> None:
    with pytest.raises(UnknownWorkspace, match="known workspaces: none yet"):
        app.memory("nowhere").search("x")
    app.memory("alpha").remember("x")
    app.memory("beta").remember("x")
    for read in ("search", "get"):
        with pytest.raises(UnknownWorkspace, match="'nowhere' does not exist; known workspaces: 'alpha', 'beta'"):
            getattr(app.memory("nowhere"), read)("x")
    with pytest.raises(UnknownWorkspace):
        app.memory("nowhere").stats()


def test_an_empty_workspace_finds_nothing(app: App) -> None:
    app.create_workspace("empty")
    assert app.memory("empty").search("anything") == Page((), 0, None)
    assert app.memory("empty").search("") == Page((), 0, None)


def test_what_was_just_added_is_found_at_once(memory: Memory) -> None:
    for number in range(20):
        memory.remember(f"remember zebra{number} well")
        assert texts(memory.search(f"zebra{number}"))[0] == f"remember zebra{number} well"


def test_a_model_may_have_weights_of_its_own(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    memory.remember("the puppy barked")
    assert memory.search("dogs").hits[0].score > 0  # by meaning
    monkeypatch.setitem(WEIGHTS_OF_MODELS, "wordllama-l2-supercat-256", FusionWeights(meaning=0.0))
    assert memory.search("dogs").hits[0].score == 0
