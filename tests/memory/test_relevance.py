"""Relevance: a law over evidence, the same in every workspace."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsweep import Memory, open_memory
from memsweep.errors import BadInput
from memsweep.memory.relevance import (
    CALIBRATIONS,
    CODE_BY_WORDS,
    CODE_CALIBRATIONS,
    READ,
    WORDS_ALONE,
    Asked,
    Evidence,
    evidence_of,
    names_in,
    relevance_of,
)

OF_PROSE = [*CALIBRATIONS.values(), WORDS_ALONE, READ]
CALIBRATED = st.sampled_from([*OF_PROSE, *CODE_CALIBRATIONS.values(), CODE_BY_WORDS])
SHARES = st.floats(0, 1)
READINGS = st.floats(-12, 12)
EVIDENCE = st.builds(Evidence, st.floats(-1, 1), SHARES, SHARES, SHARES, READINGS, st.integers(0, 4))


@given(CALIBRATED, EVIDENCE)
def test_relevance_is_from_0_to_1(calibration, evidence) -> None:  # type: ignore[no-untyped-def]
    assert 0 <= relevance_of(calibration.odds(evidence)) <= 1


@given(CALIBRATED, EVIDENCE, EVIDENCE)
def test_more_evidence_never_lowers_it(calibration, one, other) -> None:  # type: ignore[no-untyped-def]
    for_it = (max(pair) for pair in zip(one[:2], other[:2], strict=True))
    against = (min(pair) for pair in zip(one[2:4], other[2:4], strict=True))
    more = Evidence(*for_it, *against, max(one.reading, other.reading), max(one.words, other.words))
    assert calibration.odds(more) >= max(calibration.odds(one), calibration.odds(other)) - 1e-9


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("What is Maya allergic to?", {"maya"}),
        ("what is the capital of France", {"france"}),
        ("Who won in 1998", {"1998"}),
        ("Where do we sleep? When we are in Kyoto", {"kyoto"}),
        ("Margaret Hamilton", set()),
        ("WHO IS THIS", set()),
        ("spare key", set()),
        ("", set()),
    ],
)
def test_names_are_capitals_inside_a_sentence_and_words_with_digits(query: str, names: set[str]) -> None:
    words = query.lower().replace("?", "").split()
    assert names_in(query, words) == names


def test_evidence_of_no_words_is_none() -> None:
    assert evidence_of(0.5, Asked((), frozenset()), ()) == Evidence(0.5, 0.0, 0.0)


def test_a_rare_word_that_nothing_comes_close_to_counts_most() -> None:
    asked = Asked(("maya", "allergic"), frozenset({"maya"}), (0.5, 0.9))
    assert evidence_of(0.4, asked, ("maya",), (0.1, 0.6)) == Evidence(0.4, 0.5, 0.0, pytest.approx(0.36), words=1)
    assert evidence_of(0.4, asked, (), (0.0, 0.6)) == Evidence(0.4, 0.0, 1.0, 0.5)
    assert evidence_of(0.4, asked, ("maya", "allergic"), (0.0, 0.0)).uncovered == 0


@pytest.mark.parametrize(
    ("asked", "found", "words"),
    [(3, 2, 2), (1, 1, 4), (3, 3, 4), (8, 4, 4), (8, 7, 4), (16, 4, 2), (16, 12, 4), (0, 0, 0)],
)
def test_four_words_or_half_of_a_long_question_are_as_good_as_all(asked: int, found: int, words: float) -> None:
    every = tuple(f"w{number}" for number in range(asked))
    assert evidence_of(0.0, Asked(every, frozenset()), every[:found]).words == words


FACTS = ["The spare key is with Mr Lindqvist at number 14.", "Tom takes his coffee black, no sugar."]


@pytest.mark.parametrize("query", ["what is the capital of France", "qzx81 vvplorth", "best pizza dough hydration"])
def test_a_question_about_nothing_here_gets_no_results_but_the_nearest_miss(memory: Memory, query: str) -> None:
    for text in FACTS:
        memory.remember(text)
    page = memory.search(query)
    assert page.hits == ()
    assert page.total == 0
    assert page.next_cursor is None
    assert page.nearest is None or page.nearest.relevance < 0.4


SOURCES = Path(__file__).parents[2] / "src"
FAR = [
    "what is the capital of France",
    "xqzv jkwp blorf",
    "how tall is mount everest",
    "symptoms of vitamin D deficiency",
    "which planet has the most moons",
    "who painted the night watch",
]


@pytest.mark.slow
def test_a_question_that_has_nothing_to_do_with_the_code_gets_no_results(memory: Memory) -> None:
    memory.code.index(SOURCES)
    assert [query for query in FAR if memory.search(query).hits] == []
    for query in ("where is a heading of a query counted twice", "odds of the best passage", "words_of_heading"):
        assert memory.search(query).hits, query


def test_the_nearest_miss_is_told_with_what_speaks_for_it(memory: Memory) -> None:
    memory.remember(FACTS[1])
    nearest = memory.search("coffee prices in Brazil").nearest
    assert nearest is not None
    assert nearest.passage.text == FACTS[1]
    assert nearest.why.startswith(f"relevance {nearest.relevance:.2f}; words: coffee")


def test_a_precise_answer_is_what_answers_and_total_counts_it(memory: Memory) -> None:
    for text in FACTS:
        memory.remember(text)
    page = memory.search("who has the spare key")
    assert [hit.passage.text for hit in page.hits] == FACTS[:1]
    assert page.total == 1
    assert page.nearest is None
    assert page.hits[0].relevance > 0.9
    assert f"relevance {page.hits[0].relevance:.2f}" in page.hits[0].why


def test_relevance_does_not_depend_on_what_else_is_there(memory: Memory, tmp_path: Path) -> None:
    query = "how does Tom like his coffee"
    for text in FACTS:
        memory.remember(text)
    alone = memory.search(query).hits[0].relevance
    with open_memory("crowded", home=tmp_path / "crowded") as other:
        for number in range(60):
            other.remember(f"Coffee beans of sort {number} are in the pantry.")
        other.remember(FACTS[1])
        found = {hit.passage.text: hit.relevance for hit in other.search(query, mode="deep", limit=50).hits}
    assert found[FACTS[1]] == alone


def test_deep_shows_everything_with_a_trace_of_evidence_and_pages_on(memory: Memory) -> None:
    for number in range(30):
        memory.remember(f"Note {number} about the coffee machine in room {number}.")
    memory.remember("Unrelated: bicycles need oil.")
    first = memory.search("coffee machine in room 7", mode="deep", limit=20)
    rest = memory.search("coffee machine in room 7", mode="deep", limit=20, cursor=first.next_cursor)
    assert first.total == len(first.hits) + len(rest.hits) >= 30
    assert memory.search("coffee machine in room 7").total < first.total


def test_a_cursor_of_one_mode_is_refused_in_the_other(memory: Memory) -> None:
    for number in range(12):
        memory.remember(f"Note {number} about the coffee machine.")
    cursor = memory.search("coffee machine", mode="deep", limit=3).next_cursor
    with pytest.raises(BadInput, match="does not belong"):
        memory.search("coffee machine", cursor=cursor)


@pytest.mark.parametrize("mode", ["shallow", "", None, 3])
def test_an_unknown_mode_is_refused(memory: Memory, mode: object) -> None:
    memory.remember(FACTS[0])
    with pytest.raises(BadInput, match="mode must be precise or deep, not"):
        memory.search("anything", mode=mode)  # type: ignore[arg-type]
