"""No text makes the search for secrets slow: its time grows as the text does."""

import re

import pytest

from memsweep.secrets.find import RULES, redacted
from tests.support.patterns import Used, growth

KEYWORDS = sorted({keyword for rule in RULES for keyword in rule.keywords if rule.where != "word"})
AFTER = ["", "=", " is ", " for a "]


class Search(Used):
    def work_on(self, text: str) -> None:
        redacted(text)


@pytest.mark.slow
@pytest.mark.soak
@pytest.mark.parametrize("keyword", KEYWORDS)
def test_a_text_full_of_a_keyword_takes_time_as_it_grows(keyword: str) -> None:
    search = Search(re.compile(""), frozenset())
    for after in AFTER:
        assert not (slow := growth(search, ("", keyword + after, "K9!x"))), f"{slow} with {keyword + after!r}"
