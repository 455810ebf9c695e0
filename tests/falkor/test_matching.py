"""BM25 over texts at hand: all at once, or one by one, to the last digit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsweep.store.falkor import words as full_text
from memsweep.store.falkor.words import length_of, terms_of

# Terms that begin and end alike, are as long as a number of eight bytes or longer, and are of several bytes a letter.
TERM = st.sampled_from(
    [
        "a",
        "aa",
        "b",
        "7",
        "word1",
        "deployed",
        "undeployed",
        "redeployed",
        "xundeployed",
        "größe",
        "грёзы",
        "日本",
        "本語",
        "本",
    ]
)
TEXT = st.lists(TERM, max_size=12).map(" ".join)
WORD = st.tuples(st.floats(1e-6, 12.0), st.lists(TERM, min_size=1, max_size=3))


@given(
    st.dictionaries(st.integers(1, 10**9), TEXT, min_size=1, max_size=20),
    st.lists(WORD, max_size=6),
    st.floats(1.0, 500.0),
)
def test_texts_that_are_scored_at_once_have_the_scores_of_each_by_itself(
    texts: dict[int, str], words: list[full_text.Word], usual: float
) -> None:
    assert full_text._all_at_once(np, texts, words, usual) == full_text._one_by_one(texts, words, usual)


@pytest.mark.parametrize(("text", "length"), [("a lamp", 2), ("日本語", 3), ("日本語 lamp größe", 5), ("", 1)])
def test_pairs_of_letters_make_no_text_longer(text: str, length: int) -> None:
    """The embedded engine counts letters that no space parts, and the pairs beside them are of this one alone."""
    assert length_of(terms_of(text)) == length


def test_a_term_counts_as_often_as_it_stands_there_and_only_as_a_whole() -> None:
    texts = {1: "deployed deployed deployed", 2: "undeployed", 3: "deployed un deployed", 4: ""}
    laid = full_text._Laid(np, texts.values())
    assert laid.times("deployed").tolist() == [3, 0, 2, 0]
    assert laid.times("undeployed").tolist() == [0, 1, 0, 0]
    assert laid.times("eployed").tolist() == [0, 0, 0, 0]
