"""A value that one text calls a password is one where it stands bare; a word or a number is not."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsweep.secrets.known import Known, secrets_of, shown
from tests.support.patterns import Used, growth

VALUE = "hunter2-Kx9"
KNOWN = Known({VALUE: "password", "Tr0ub4dor!": "password", "20241117": "pin", "development": "password"})
MARK = "[secret: password]"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (f"Log in with {VALUE}.", f"Log in with {MARK}."),
        (f"({VALUE}) and `{VALUE}`: {VALUE}?", f"({MARK}) and `{MARK}`: {MARK}?"),
        ("Was it Tr0ub4dor!", f"Was it {MARK}"),
        ("Tr0ub4dor!. Yes.", f"{MARK}. Yes."),
        (f"x{VALUE} and {VALUE}y", f"x{VALUE} and {VALUE}y"),
        ("On 20241117 in development", "On 20241117 in development"),
        ("", ""),
    ],
)
def test_it_is_found_as_a_whole_word_where_it_cannot_be_a_word_or_a_number(before: str, after: str) -> None:
    assert KNOWN.bare(before) == (after, ("password",) if before != after else ())


@pytest.mark.parametrize("name", [VALUE, f"Key {VALUE}"])
def test_a_name_that_is_one_or_has_one(name: str) -> None:
    assert KNOWN.name(name) == (name.replace(VALUE, MARK), ("password",))


def test_what_a_text_calls_a_secret_is_known() -> None:
    known = secrets_of(f"The password for staging is {VALUE}.")
    assert known == {VALUE: "password"}
    assert secrets_of("The password is development.") == {}
    assert Known(known).bare(shown(f"{VALUE} of build-2024", "password")) == (f"{MARK} of {MARK}", ())


@given(st.lists(st.sampled_from([VALUE, "plain", "20241117", " ", ".", "!", "\n", "[secret: pin]", "a-1-b-2-c"])))
def test_redacting_again_changes_nothing_and_no_word_is_left(parts: list[str]) -> None:
    text = " ".join(parts)
    once, kinds = KNOWN.bare(text)
    assert KNOWN.bare(once) == (once, ())
    assert (VALUE in text) == bool(kinds)
    assert VALUE not in once


class Bare(Used):
    def work_on(self, text: str) -> None:
        KNOWN.bare(text)


@pytest.mark.slow
@pytest.mark.parametrize("part", ["a1", VALUE, f"{VALUE} ", "a1.!?:", "!"])
def test_it_takes_time_as_the_text_grows(part: str) -> None:
    assert not growth(Bare(re.compile(""), frozenset()), ("", part, "x"))


def test_of_two_long_secrets_in_a_name_the_longer_goes_whole() -> None:
    known = Known({"abcdefgh12345678": "password", "abcdefgh12345678-and-more": "api-key"})
    assert known.name("db-abcdefgh12345678-and-more-x") == ("db-[secret: api-key]-x", ("api-key",))
    assert known.name("db-abcdefgh12345678-x") == ("db-[secret: password]-x", ("password",))
