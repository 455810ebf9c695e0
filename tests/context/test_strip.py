"""The window as a strip, judged for any budget without a plan; and its stash, page by page."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from memsweep.app import Memory
from memsweep.context.service import ContextWindow
from memsweep.errors import BadInput
from tests.context.windows import active, some, stashed
from tests.support.commands import Ran
from tests.support.engines import on_every_engine
from tests.support.paging import pages_of

pytestmark = on_every_engine


@pytest.fixture
def filled(memory: Memory) -> ContextWindow:
    window = memory.context("work")
    window.add([some("rule", "never deploy on Fridays", role="system"), some("pin", "keep this", pinned=True)])
    window.add([some(f"n{number}", f"note {number} " + "about cranes " * number) for number in range(20)])
    return window


@pytest.mark.parametrize("budget", [0, 40, 150, 10_000])
def test_what_a_strip_marks_is_what_an_analysis_of_the_same_budget_plans(filled: ContextWindow, budget: int) -> None:
    strip, analysis = filled.strip(budget=budget), filled.analyze(budget=budget, dry_run=True, max_candidates=1000)
    assert {each.segment_id for each in strip.segments if each.goes} == analysis.planned
    assert (strip.change, strip.shortfall, strip.reason) == (analysis.change, analysis.shortfall, analysis.reason)
    scores = {each.segment_id: each.keep_score for each in analysis.candidates}
    assert {each.segment_id: each.keep_score for each in strip.segments if each.segment_id in scores} == pytest.approx(
        scores, abs=1e-4
    )


def test_a_strip_has_every_segment_in_order_and_says_what_keeps_it(filled: ContextWindow, memory: Memory) -> None:
    strip = filled.strip(budget=60)
    assert [each.segment_id for each in strip.segments] == active(filled)
    assert sum(each.tokens for each in strip.segments) == strip.change.tokens_before
    roots = {each.segment_id: each.root for each in strip.segments if each.root}
    assert (roots["pin"], roots["rule"]) == ("pinned", "holds for the whole session")
    assert all(each.reasons for each in strip.segments if each.goes)
    assert not any(each.goes and each.root for each in strip.segments)
    assert [event for event in memory.sweep.audit() if event.action == "plan"] == []


def test_the_stash_is_listed_in_pages_that_stay_right(filled: ContextWindow) -> None:
    filled.prune([f"n{number}" for number in range(9)])
    there, found = stashed(filled)[::-1], []
    for page in pages_of(filled.stash, limit=2):
        found += [each.segment_id for each in page.segments]
        assert (page.total, page.first) == (9, len(found) - len(page.segments))
        if len(found) == 2:
            filled.prune(["n15"])  # comes before the first page
            filled.restore([found[0]])
    assert found == there
    with pytest.raises(BadInput, match="does not belong to this listing"):
        filled.stash(cursor="AAAA")


def test_the_commands_print_both(run: Callable[..., Ran], tmp_path: Path) -> None:
    session = tmp_path / "session.json"
    session.write_text(json.dumps([{"role": "user", "content": f"crane {number} is broken"} for number in range(30)]))
    run("context", "import", str(session), "-p", "work")
    shown = run("context", "strip", "-p", "work", "--budget", "50", "--json").json
    going = [each["segment_id"] for each in shown["segments"] if each["goes"]]
    assert (shown["budget"], len(shown["segments"])) == (50, 30)
    assert "goes" in run("context", "strip", "-p", "work", "--budget", "50").out
    run("context", "prune", "-p", "work", *going[:3])
    first = run("context", "stash", "-p", "work", "-n", "2").out
    assert "3 in the stash; the next page: --cursor" in first
    assert going[2] in first
