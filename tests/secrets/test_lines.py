"""What the rules find, line by line."""

import pytest

from memsweep.secrets.find import RULES, find, redacted
from tests.secrets.lines import Positive, negatives, positives

POSITIVES, NEGATIVES = positives(), negatives()


@pytest.mark.parametrize("line", POSITIVES, ids=lambda line: f"{line.kind}: {line.text[:40]}")
def test_a_secret_is_found_exactly_where_it_stands(line: Positive) -> None:
    assert find(line.text) == [(line.kind, line.start, line.end)]


@pytest.mark.parametrize("line", POSITIVES, ids=lambda line: f"{line.kind}: {line.text[:40]}")
def test_a_secret_gives_way_to_its_kind(line: Positive) -> None:
    expected = f"{line.text[: line.start]}[secret: {line.kind}]{line.text[line.end :]}"
    assert redacted(line.text) == (expected, (line.kind,))
    assert redacted(expected) == (expected, ())


@pytest.mark.parametrize("line", NEGATIVES)
def test_what_is_no_secret_is_left_alone(line: str) -> None:
    assert find(line) == []


def test_the_tables_are_as_long_as_they_should_be() -> None:
    assert len(POSITIVES) >= 60
    assert len(set(NEGATIVES)) >= 200


@pytest.mark.parametrize("number", range(len(RULES)))
def test_every_rule_has_a_line_that_only_it_explains(number: int) -> None:
    rule = RULES[number]
    hits = [line for line in POSITIVES if line.kind == rule.kind and rule.pattern.search(line.text)]
    assert hits, rule.pattern.pattern
