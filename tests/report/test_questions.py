"""A question to a person shows what it is about, and no secret."""

from datetime import UTC, datetime

import pytest

from memsweep.model.frozen import values_of
from memsweep.model.memory import Memory, ShownMemory
from memsweep.model.origin import UNKNOWN
from memsweep.model.plan import Plan, PlanView, Totals
from memsweep.report.questions import delete_question, plan_question

NOW = datetime(2026, 11, 1, tzinfo=UTC)
KEY = "ghp_" + "R7q2" * 9  # of the form of a token; nobody's


def memory(text: str) -> Memory:
    shown = ShownMemory((), "", NOW, NOW, NOW, None, False, False, None, None, UNKNOWN, None)
    return Memory(**values_of(shown), id="mem_1", text=text, metadata={}, version=1, chunk_count=1, entities=())


@pytest.mark.parametrize("forever", [True, False])
def test_whoever_deletes_a_secret_does_not_see_it_again(forever: bool) -> None:
    said = delete_question("w", memory(f"the token is {KEY} for the deploy"), forever=forever)
    assert "the token is" in said
    assert "R7q2" not in said


def test_a_sample_of_a_plan_shows_no_secret() -> None:
    plan = Plan("plan_1", "expired", NOW, NOW, "", Totals(memories=1), 1, (), (), 0.5, 2)
    view = PlanView("memory", "mem_1", "expired", {}, name=f"token {KEY}")
    assert "R7q2" not in plan_question("w", plan, [view], named=True)


def test_a_long_text_of_many_lines_is_one_short_line() -> None:
    said = delete_question("w", memory("many\nwords\n" * 100_000), forever=False)
    assert "\n" not in said
    assert len(said) < 250
