"""Whatever is said in a thread, changed, taken back and undone: no two pieces stand in one place of it."""

from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memsweep.app import Memory, called_by
from memsweep.errors import MemsweepError
from tests.origins.test_poisoning import EVIL, GOOD
from tests.support import store_files
from tests.support.counts import rounds
from tests.support.engines import on_every_engine

WAYS = ("add", "update", "delete", "origin", "undo")
Act = tuple[str, int, bool, bool]
ACTS = st.lists(st.tuples(st.sampled_from(WAYS), st.integers(0, 5), st.booleans(), st.booleans()), max_size=9)
"""The way, of which memory or receipt, by whom, and whether the text is a long one."""


@on_every_engine
@settings(max_examples=rounds(15, 60), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(acts=ACTS)
def test_nothing_stands_in_the_place_of_another(memory: Memory, acts: list[Act]) -> None:
    made: list[str] = []
    receipts: list[str] = []
    thread = f"talk {memory.stats().total_memories} {memory.revision()}"
    for number, (way, which, is_evil, is_long) in enumerate(acts):
        text = f"{thread}, turn {number}. " + "They spoke of gardens, cellos and rain. " * (200 if is_long else 1)
        with suppress(MemsweepError), called_by(EVIL if is_evil else GOOD):
            if way == "add":
                made.append(memory.remember(text, thread_id=thread).memory_id)
            elif way == "origin":
                session = (EVIL if is_evil else GOOD).session
                found = memory.sweep.prune("origin", origin={"session": session}, confirm=True, allow_large=True)
                receipts.append(found.id)
            elif way == "undo" and receipts:
                memory.sweep.undo(receipts[which % len(receipts)])
            elif made and way == "update":
                receipts.append(str(memory.update(made[which % len(made)], text=text).receipt_id))
            elif made and way == "delete":
                receipts.append(memory.delete(made[which % len(made)], confirm=True).id)
        assert memory.care.doctor().findings == ()


@on_every_engine
@pytest.mark.parametrize("way", ["origin", "undo"])
def test_a_long_text_that_comes_back_stands_before_what_was_said_after_the_short_one(memory: Memory, way: str) -> None:
    long, after = "They spoke of gardens, cellos and rain. " * 200, "And then the talk was over."
    with called_by(GOOD):
        uid = memory.remember(long, thread_id="talk").memory_id
    with called_by(EVIL):
        updated = str(memory.update(uid, text="They spoke.").receipt_id)
    with called_by(GOOD):
        memory.remember(after, thread_id="talk")
    if way == "origin":
        memory.sweep.prune("origin", origin={"session": EVIL.session}, confirm=True, allow_large=True)
    else:
        memory.sweep.undo(updated)
    assert store_files.in_order(memory) == [memory.get(uid).text, after]
    assert memory.get(uid).text.startswith(long.strip()[:100])
    assert memory.care.doctor().findings == ()
