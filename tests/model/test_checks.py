"""Arguments have a length: one table, and one sentence for each that is longer."""

from collections.abc import Callable
from typing import Any

import pytest

from memsweep.app import App
from memsweep.errors import BadInput
from memsweep.model.checks import MOST_BYTES, MOST_OTHER_BYTES, MOST_VALUES, within_limits
from tests.support.commands import Ran


def test_a_text_is_measured_in_bytes_and_whatever_it_is_in() -> None:
    fits = "é" * (MOST_OTHER_BYTES // 2)
    within_limits("source", fits)
    for value in (fits + "x", [fits, fits + "x"], {"a": {"b": fits + "x"}}, {fits + "x": 1}, (fits, [[fits + "x"]])):
        with pytest.raises(BadInput, match=r"^source has 4,097 bytes; at most 4,096 are accepted\. Shorten it\.$"):
            within_limits("source", value)
    within_limits("text", "x" * MOST_BYTES["text"])
    with pytest.raises(BadInput, match="text has 10,485,761 bytes"):
        within_limits("text", "x" * (MOST_BYTES["text"] + 1))


def test_values_are_counted_in_all_lists_and_objects_together() -> None:
    half = [0] * (MOST_VALUES // 2)
    within_limits("exclude", [half])
    with pytest.raises(BadInput, match="exclude has more than 200,000 values"):
        within_limits("exclude", [half, half])
    endless: list[Any] = []
    endless += [endless, endless]
    with pytest.raises(BadInput, match="more than 200,000 values"):
        within_limits("exclude", endless)


@pytest.mark.parametrize(
    "call",
    [
        lambda app: app.memory().search("word " * 10_000),
        lambda app: app.memory().search(query="word " * 10_000),
        lambda app: app.memory().graph.query(["x" * 5000]),
        lambda app: app.memory().sweep.narrow("plan_000000000000", ["x" * 5000]),
        lambda app: app.memory().context("p").search("word " * 10_000),
    ],
)
def test_every_operation_refuses_what_is_too_long(app: App, call: Callable[[App], object]) -> None:
    app.memory().remember("The harbour opens at dawn.")
    with pytest.raises(BadInput, match="are accepted"):
        call(app)


def test_the_command_line_says_the_same(run: Callable[..., Ran]) -> None:
    ran = run("search", "word " * 10_000)
    assert (ran.status, "query has 50,000 bytes; at most 32,000 are accepted." in ran.err) == (2, True)
