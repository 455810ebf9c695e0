import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsweep.errors import BadInput
from memsweep.model.text import MAX_TEXT_BYTES, check_text, content_hash, name_key


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("", "empty"),
        (" \t\n\u2003\u00a0", "empty"),
        ("a\0b", "NUL character at position 1"),
        ("ab\ud83d", "lone surrogate ('\\\\ud83d') at position 2"),
        ("\udfff\ud800", "lone surrogate"),
        (None, "must be text, not NoneType"),
        (5, "must be text, not int"),
        (b"bytes", "must be text, not bytes"),
        (["a"], "must be text, not list"),
        ("é" * (MAX_TEXT_BYTES // 2 + 1), "10,485,762 bytes; at most 10,485,760"),
    ],
    ids=lambda value: ascii(value)[:20],
)
def test_what_cannot_be_stored_is_refused_by_name(value: object, said: str) -> None:
    with pytest.raises(BadInput, match="the text") as caught:
        check_text(value, "the text")
    assert said.replace("\\\\", "\\") in str(caught.value)


def test_exactly_ten_megabytes_are_accepted() -> None:
    text = "x" * MAX_TEXT_BYTES
    assert check_text(text, "text") is text


@given(st.text())
def test_text_is_returned_unchanged_or_refused(text: str) -> None:
    bad = "\0" in text or not text.strip() or any(0xD800 <= ord(letter) <= 0xDFFF for letter in text)
    if bad:
        with pytest.raises(BadInput):
            check_text(text, "text")
    else:
        assert check_text(text, "text") is text


@given(st.text(st.characters(exclude_categories=["Cs"])), st.text(st.characters(exclude_categories=["Cs"])))
def test_content_is_the_same_only_for_the_same_text(one: str, other: str) -> None:
    assert (content_hash(one) == content_hash(other)) == (one == other)
    assert len(content_hash(one)) == 16


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ada Lovelace", "  ada   LOVELACE "),
        ("Straße", "STRASSE"),
        ("café", unicodedata.normalize("NFD", "CAFÉ")),
        ("ﬁle", "FILE"),
        ("Ada\tLovelace", "Ada\nLovelace"),
        ("Ada", "\ufeffA\u00add\u2060a\u200b"),
    ],
)
def test_names_are_compared_without_case_spacing_or_form(one: str, other: str) -> None:
    assert name_key(one) == name_key(other)


def test_different_names_stay_different() -> None:
    assert len({name_key(name) for name in ("resume", "résumé", "Ada", "Ada L")}) == 4
    joined = ("نامهای", "نامه\u200cای", "👨👩", "👨\u200d👩")
    assert len({name_key(name) for name in joined}) == 4, "a joiner makes another name"


def test_a_name_of_nothing_that_can_be_seen_has_a_key_all_the_same() -> None:
    assert name_key("\u200b") != ""
    assert name_key("\u200b \ufeff") != ""
