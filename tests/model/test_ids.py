import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsweep.errors import BadInput
from memsweep.model.ids import check_name, make_id

BAD_NAMES = [
    "",
    "../../escape",
    "..",
    ".",
    "a/b",
    "a\\b",
    "/etc/passwd",
    "A",
    "Default",
    "-a",
    "_a",
    "a b",
    " a",
    "a ",
    "a\n",
    "a\0",
    "a.db",
    "a:b",
    "a" * 64,
    "🧠",
    "ä",
    "а",  # Cyrillic
    "٣",  # a digit, but not ours
    "ﬁ",
    "\ud800",
    "con.txt",
    "~",
    "a%2fb",
]


@pytest.mark.parametrize("name", ["a", "0", "a" * 63, "a-b_c", "0-0", "default", "con", "nul"])
def test_a_good_name_comes_back_unchanged(name: str) -> None:
    assert check_name(name) == name


@pytest.mark.parametrize("name", BAD_NAMES, ids=ascii)
def test_a_bad_name_is_refused_with_the_rule(name: str) -> None:
    with pytest.raises(BadInput, match="1 to 63") as caught:
        check_name(name)
    assert caught.value.exit_status == 2


@pytest.mark.parametrize("value", [None, 5, b"a", ["a"], True])
def test_a_name_that_is_no_text_is_refused(value: object) -> None:
    with pytest.raises(BadInput):
        check_name(value)  # type: ignore[arg-type]


@given(st.text())
def test_a_name_is_accepted_exactly_by_the_rule(text: str) -> None:
    if re.fullmatch(r"[a-z0-9][a-z0-9_-]{0,62}", text, re.ASCII):
        assert check_name(text) == text
    else:
        with pytest.raises(BadInput):
            check_name(text)


def test_a_refusal_does_not_repeat_a_long_name() -> None:
    with pytest.raises(BadInput) as caught:
        check_name("x" * 1_000_000)
    assert len(str(caught.value)) < 300


@given(st.binary(min_size=8, max_size=8))
def test_an_id_is_short_and_speakable(entropy: bytes) -> None:
    assert re.fullmatch(r"mem_[0-9a-hjkmnp-tv-z]{12}", make_id("mem", entropy))


@given(st.integers(0, 2**60 - 1), st.integers(0, 2**60 - 1))
def test_two_ids_are_equal_only_for_the_same_number(one: int, other: int) -> None:
    ids = [make_id("mem", number.to_bytes(8, "big")) for number in (one, other)]
    assert (ids[0] == ids[1]) == (one == other)
