"""What holds for every text: redacting twice is redacting once, and what is found is in the text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsweep.secrets.find import find, redacted
from memsweep.secrets.known import Known
from memsweep.secrets.providers import PROVIDERS
from tests.secrets.lines import negatives, positives

LINES = [line.text for line in positives()]
PIECES = [*LINES, *negatives(), "[secret: password]", "password", "is", "token", "=", ":", '"', "'", "@", "://", "K9!x"]
texts = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=12)), max_size=8).flatmap(
    lambda parts: st.sampled_from(["", " ", "\n", "; "]).map(lambda between: between.join(parts))
)


@given(texts)
def test_redacting_twice_changes_nothing(text: str) -> None:
    once, kinds = redacted(text)
    assert redacted(once) == (once, ())
    assert bool(kinds) == (once != text)


@given(texts)
def test_what_is_found_stands_in_the_text_in_order(text: str) -> None:
    ends = [0]
    for secret in find(text):
        assert ends[-1] <= secret.start < secret.end <= len(text)
        ends.append(secret.end)


@given(texts)
def test_lines_stay_where_they_are_if_asked(text: str) -> None:
    assert redacted(text, keep_lines=True)[0].count("\n") == text.count("\n")


@pytest.mark.parametrize("line", positives(), ids=lambda line: line.kind)
def test_no_part_of_a_secret_is_left(line) -> None:
    secret = line.text[line.start : line.end]
    text = redacted(f"İstanbul, ǅ, 日本 🎉\n{line.text}\nß")[0]
    assert secret not in text
    assert text.startswith("İstanbul, ǅ, 日本 🎉\n")
    assert text.endswith("\nß")


def test_a_name_that_is_nothing_but_the_key_of_a_provider_is_found() -> None:
    """But for those whose form is so common that the provider has to be named beside them."""
    theirs = {rule.kind for rule in PROVIDERS}
    alone = {line.kind: line.text[line.start : line.end] for line in positives() if line.kind in theirs}
    assert {kind for kind, key in alone.items() if Known().name(key)[1] != (kind,)} == {
        *("discord-token", "facebook-token", "mailgun-key", "zai-key")
    }
    assert Known().name("K9!x-hunter2")[1] == (), "only its context says that this is one"


def test_a_block_inside_an_assignment_is_one_secret() -> None:
    line = next(each.text for each in positives() if "OPENSSH" in each.text)
    assert redacted(f"private_key = '{line}'")[0].count("[secret:") == 1


def test_one_secret_that_two_rules_find_has_the_name_of_its_provider() -> None:
    key = next(each.text[each.start : each.end] for each in positives() if each.kind == "aws-access-key")
    assert redacted(f'API_KEY = "{key}"') == ('API_KEY = "[secret: aws-access-key]"', ("aws-access-key",))


@pytest.mark.slow
def test_no_neighbour_hides_a_secret() -> None:
    """A rule that looks further than it should finds what is none there, and misses what stands nearer."""
    neighbours = [*negatives(), *(each.text for each in positives())]
    for number, line in enumerate(positives()):
        secret = line.text[line.start : line.end]
        for other in (each for each in neighbours[number % 60 :: 60] if secret not in each):
            assert secret not in redacted(f"{line.text}\n{other}")[0]
            assert secret not in redacted(f"{other}\n{line.text}")[0]
    assert redacted(
        "Set the variable WEATHER_TOKEN to aa1192c6087b4b4f985bd091e1489d07 first.\nprivate_key: Ed25519PrivateKey"
    )[1]
