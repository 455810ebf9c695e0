"""A context window on the page: as a strip for a budget, and what a person does to it; on both engines."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsweep.app import Memory
from memsweep.model.window import StripSegment
from memsweep.web.login import Grant
from memsweep.web.pictures import LINES, WIDTH, bars
from tests.support.engines import on_every_engine

HOSTILE = "<b>bold</b>\u202e\"'"
ONE = StripSegment("seg", "message", "user", 1, 0.5, "", False, None, (), False, "Hello.")


def fill(memory: Memory, count: int = 12) -> list[str]:
    window = memory.context("rewrite")
    window.configure(soft_tokens=5000, hard_tokens=9000, last_n=1)
    texts = [f"Log line {number} of the deploy. " * 20 for number in range(count)]
    window.add([{"text": text, "type": "log", "role": "tool", "segment_id": f"s{at}"} for at, text in enumerate(texts)])
    return [each.segment_id for each in window.strip(budget=400).segments if each.goes]


@on_every_engine
def test_a_budget_shows_what_goes_and_it_is_stashed_searched_and_restored(memory: Memory, browser) -> None:
    going = fill(memory)
    browser.see("/context")
    assert "Nothing would go: it fits." in browser.text, "the only window is shown at once"
    before = memory.revision()
    browser.see("/context/rewrite?budget=400")
    assert re.findall(r'name="take" value="(s\d+)" checked', browser.page.text) == going
    assert browser.page.text.count('class="going" x=') >= len(going)
    assert memory.revision() == before, "a look moves nothing"
    browser.do("/context/rewrite/stash", take=going[1:])
    assert f"Stashed {len(going) - 1} segments" in browser.text
    left = [each.segment_id for each in memory.context("rewrite").strip().segments]
    assert left == [own for own in (f"s{at}" for at in range(12)) if own not in going[1:]]
    browser.see("/context/rewrite?q=nothing+of+the+kind")
    assert "Nothing in the stash matches that" in browser.text
    browser.see("/context/rewrite?q=deploy")
    browser.do("/context/rewrite/restore", restore=going[1])
    assert "1 segment back in place" in browser.text
    browser.do("/context/rewrite/pin", pin=going[0])
    assert [each.segment_id for each in memory.context("rewrite").strip().segments if each.pinned] == [going[0]]
    browser.do("/context/rewrite/stash", take=going[0])
    assert "Stashed 0 segments" in browser.text
    assert "1 segment stayed: pinned" in browser.text
    browser.do("/context/rewrite/pin", unpin=going[0])
    assert not any(each.pinned for each in memory.context("rewrite").strip().segments)


def test_what_was_stashed_comes_back_by_its_receipt(memory: Memory, browser) -> None:
    going = fill(memory)
    whole = memory.context("rewrite").strip()
    browser.see("/context/rewrite?budget=400")
    browser.do("/context/rewrite/stash", take=going)
    receipt = browser.page.text.partition("/receipts/")[2].partition("/undo")[0]
    browser.do(f"/receipts/{receipt}/undo")
    back = memory.context("rewrite").strip()
    assert [each.segment_id for each in back.segments] == [each.segment_id for each in whole.segments]


def test_hostile_segments_are_text_and_their_ids_work(memory: Memory, browser) -> None:
    window = memory.context("rewrite")
    window.add([{"text": HOSTILE, "type": "note", "segment_id": f"x{HOSTILE}"}])
    for path in ("/context", "/context/rewrite?budget=0", f"/context/rewrite?q={HOSTILE[:6]}"):
        browser.see(path)
        assert "<b>bold" not in browser.page.text
    browser.do("/context/rewrite/pin", pin=f"x{HOSTILE}")
    assert window.strip().segments[0].pinned


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/context/nowhere", 404),
        ("/context/UPPER", 404),
        ("/context/rewrite?budget=-5", 200),
        ("/context/rewrite?budget=99999999999999999999", 200),
        ("/context/rewrite?after=nonsense", 400),
    ],
)
def test_a_wrong_address_says_so(memory: Memory, browser, path: str, status: int) -> None:
    fill(memory, 2)
    assert browser.see(path).status_code == status


def test_mistakes_change_nothing(memory: Memory, browser, browse) -> None:
    fill(memory, 2)
    before = memory.revision()
    for path, fields, status in [
        ("stash", {}, 400),
        ("pin", {"pin": "nobody"}, 404),
        ("restore", {"restore": "s0"}, 404),
        ("restore", {}, 404),
    ]:
        browser.see("/context")
        assert browser.do(f"/context/rewrite/{path}", **fields).status_code == status, path
    reader = browse(Grant(read_only=True))
    reader.see("/context?budget=0")
    assert "Move to the stash" not in reader.text
    assert reader.do("/context/rewrite/stash", take="s0").status_code == 403
    assert memory.revision() == before


@given(st.lists(st.tuples(st.integers(0, 5000), st.booleans()), max_size=60), st.sampled_from([1, 20]))
def test_bars_fill_the_lines_as_the_tokens_do(rows: list, times: int) -> None:
    segments = [replace(ONE, tokens=tokens, goes=goes) for tokens, goes in rows * times]
    made = bars(segments)
    total = sum(each.tokens for each in segments)
    assert sum(bar.width for bar in made) == pytest.approx(LINES * WIDTH if total else 0)
    assert all(0 <= bar.line < LINES and bar.x >= -0.01 and bar.x + bar.width <= WIDTH + 0.1 for bar in made)
    going = sum(each.tokens for each in segments if each.goes)
    assert sum(bar.width for bar in made if bar.goes) == pytest.approx(LINES * WIDTH * going / total if total else 0)
