"""The words by which texts are looked up are those that the full text reads as comparing does."""

import unicodedata

import pytest

from memsweep.model import likeness
from memsweep.model.likeness import _sought, comparable, distinctive_words, fewest, word_groups
from memsweep.store.words import stems_of


def test_letters_that_are_the_same_when_compared_are_the_same_to_the_full_text() -> None:
    assigned = (chr(code) for code in range(128, 0x2FA20) if not 0xD800 <= code < 0xE000 and chr(code).isalnum())
    folded = ((letter, unicodedata.normalize("NFC", letter).lower()) for letter in assigned)
    meant = [(letter, key) for letter, key in folded if key != letter and _sought(key) == key]
    assert ("\u0414", "\u0434") in meant
    assert ("\u212a", "k") in meant
    assert [pair for pair in meant if stems_of(pair[0]) != stems_of(pair[1])] == []


def test_a_word_ends_at_every_sign_that_comparing_leaves_out() -> None:
    left_out = {*likeness._OPENING, *likeness._CLOSING, *likeness._BETWEEN_WORDS, *likeness._DASHES, *likeness._BULLETS}
    signs = {chr(code) for code in range(33, 127) if not chr(code).isalnum()}
    assert [sign for sign in left_out | signs if stems_of(f"one{sign}two") != ["on", "two"]] == []


@pytest.mark.parametrize(
    ("text", "needed"),
    [
        ("restart web", ("restart", "web")),
        ("\U0001f916restart web", ("web",)),  # a sign that is newer than the full text's tables
        ("\ue0b0 restart web", ("web",)),
        ("5.5in web", ("web",)),
        ("\u043c\u044b \u0414\u043e\u043c\u0430", ("\u043c\u044b", "\u0434\u043e\u043c\u0430")),
        ("\u6211\u4eec\u90e8\u7f72", ("\u6211\u4eec\u90e8",)),  # the last letter has a variant
        ("\u4f7f\u7528web \u304b\u304c\u304b\u304d", ("\u4f7f\u7528", "\u304b\u304d")),
        ("caf\u00e9 Stra\u00dfe \uc548\ub155 \u91cc", ()),
    ],
)
def test_short_texts_are_found_by_words_that_are_read_alike(text: str, needed: tuple[str, ...]) -> None:
    assert distinctive_words(comparable(text)) == (needed, (), 0)


def test_common_words_are_looked_for_together() -> None:
    distinctive = distinctive_words(comparable("we look at five dashboards while a small service comes up again"))
    counts = dict.fromkeys((*distinctive.needed, *distinctive.others), 5_000) | {"small": 4_000}
    assert distinctive.needed == ("five", "up")
    assert distinctive.most_missing == 3
    assert fewest(distinctive, counts) == ["five"]
    found = word_groups(distinctive, counts)
    assert found.needed == ("five", "up")
    assert [group[0] for group in found.groups] == ["small", "a", "again", "at"]
    assert sorted(word for group in found.groups for word in group) == sorted(distinctive.others)
