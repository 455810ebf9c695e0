"""Which texts say the same, nearly the same, or something else; and what differs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsweep.model.likeness import comparable, differences, nearly_same

SENTENCES = [
    f"Step {number} of the release checklist asks the person on call to look at the dashboard and to wait for a while."
    for number in range(60)
]
MANUAL = " ".join(SENTENCES)


def same(left: str, right: str) -> bool:
    answer = nearly_same(comparable(left), comparable(right))
    assert answer == nearly_same(comparable(right), comparable(left)), "it does not matter which is first"
    return answer


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("deploy day is Thursday", "The deploy day is Thursday."),
        ("Hello, World!", "hello   world"),
        ("ÄRGER im BÜRO", "ärger im büro"),
        ("It's “quoted” here", "it’s quoted here"),
        ("- buy milk\n- buy bread", "buy milk\nbuy bread"),
        ("a well-known fact", "a well known fact"),
        ("(see below)", "see below"),
        ("cafe\u0301 au lait", "café au lait"),
        ("done ✅", "done ✅\ufe0f"),
        ("राम का दिन", "राम का दिन."),
    ],
)
def test_only_the_form_differs(left: str, right: str) -> None:
    assert same(left, right)
    assert differences(left, right) == []


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("C", "C++"),
        ("I like C", "I like C#"),
        ("✅", "❌"),
        ("tests ✅", "tests ❌"),
        ("-5", "5"),
        ("the offset is -5", "the offset is 5"),
        ("a != b", "a == b"),
        ("a < b", "a > b"),
        ("दिन", "दान"),
        ("मेरा दिन", "मेरा दान"),
        ("1.5", "15"),
        ("10:30", "1030"),
        ("$5", "€5"),
        ("5%", "5"),
        ("x²", "x2"),
        ("!ready", "ready"),
        ("f(x)", "f x"),
        ("Deploy on Monday?", "Deploy on Monday."),
        ("Who played last night", "The Who played last night"),
        (":)", ":("),
        ("naïve", "naive"),
        ("", ""),
        ("!!!", "..."),
    ],
)
def test_a_small_sign_is_a_difference(left: str, right: str) -> None:
    assert not same(left, right)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("to wait for a while. Step 31", "NEVER to wait for a while. Step 31"),
        ("to wait for a while. Step 31", "never to wait for a while. Step 31"),
        ("Step 31 of", "Step 32 of"),
        ("Step 31 of", "Step 310 of"),
        ("Step 31 of the release", "Step 31 of the Berlin release"),
        ("Step 31 of the release", "Step 31 of the release_notes"),
        ("Step 31 of the release", "Step 31 of the previous"),
        ("Step 31 of the release checklist asks the person", "Step 31 of the release checklist asks Ada"),
        ("Step 31 of the release checklist asks", "Step 31 of the release checklist doesn't ask"),
        ("Step 31 of the release checklist asks", "Step 31 of the release checklist only asks"),
        ("Step 30 of", "Step 31 of"),
        ("Step 31 of", "Step 31, on friday, of"),
        ("Step 31 of", "Step thirty of"),
        ("Step 31 of", "Step -31 of"),
        ("Step 30 of the release checklist asks the person", "Step 30 of the release checklist asks the machine"),
        ("dashboard", "logs"),
    ],
)
def test_one_fact_in_sixty_sentences_is_a_difference(old: str, new: str) -> None:
    changed = MANUAL.replace(old, new, 1)
    assert changed != MANUAL
    assert not same(MANUAL, changed)
    assert differences(MANUAL, changed)


def test_numbers_that_change_places_are_a_difference() -> None:
    swapped = MANUAL.replace("Step 7 ", "Step _ ").replace("Step 8 ", "Step 7 ").replace("Step _ ", "Step 8 ")
    assert not same(MANUAL, swapped)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Step 31 of the release checklist asks", "Step 31 of the release checklist always asks"),
        ("to look at the dashboard", "to looking at the dashboard"),
        ("look at the dashboard", "look at the big dashboard"),
        ("wait for a while", "wait for while"),
    ],
)
def test_a_few_ordinary_words_are_nearly_the_same(old: str, new: str) -> None:
    changed = MANUAL.replace(old, new, 1)
    assert changed != MANUAL
    assert same(MANUAL, changed)


def test_a_difference_is_shown_with_the_words_around_it() -> None:
    changed = MANUAL.replace("Step 31 of", "Step 77 of")
    assert differences(MANUAL, changed) == [
        ("… a while Step 31 of release checklist …", "… a while Step 77 of release checklist …"),
    ]


def test_a_text_that_only_has_more_shows_where() -> None:
    assert differences("one two three four", "one two three four five") == [
        ("… two three four", "… two three four five")
    ]


def test_texts_that_are_too_long_to_align_are_different() -> None:
    left = " ".join(f"word{'a' * (n % 7)} goes here" for n in range(3000))
    right = "first " + left.replace("goes", "went", 1) + " and much more"
    assert not same(left, right)


@given(st.text())
def test_law_every_text_is_the_same_as_itself_in_capitals_and_spread_out(text: str) -> None:
    one = comparable(text)
    assert bool(one.words) == same(text, text)
    assert same(text, f"  {text}\n") == bool(one.words)
    assert differences(text, text) == []


@given(st.text(max_size=200), st.text(max_size=200))
def test_law_sameness_is_mutual_and_has_no_differences_in_words(left: str, right: str) -> None:
    if same(left, right) and len(comparable(left).words) < 8:
        assert comparable(left).words == comparable(right).words
        assert differences(left, right) == []
