"""Who did what, when and why: every plan, apply, skip, undo, recovery, purge, pin and tombstone is written down."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from memsweep.app import Memory, called_by
from memsweep.collector import collect
from memsweep.errors import BadInput, MemsweepError
from memsweep.model.origin import Origin
from tests.collector.stores import NOW, Link, Note, StoreSpec, Thing, store_with
from tests.support import store_files
from tests.support.engines import on_every_engine
from tests.support.paging import pages_of

SPEC = StoreSpec(
    notes=(Note("a", path="a.py", stale=True, chunks=2), Note("b", path="b.py", stale=True), Note("c")),
    things=(Thing("A"), Thing("B")),
    links=(Link(0, 1),),
    mentions=((0, 0, 0),),
)
A, B, C = (f"mem_{n:012}" for n in (1, 2, 3))


def test_every_act_is_in_the_log_with_actor_time_subject_counts_and_reason() -> None:
    with store_with(SPEC) as place:
        moments = iter(NOW + timedelta(minutes=n) for n in range(20))
        plan = collect.plan(place.tools(next(moments)), "stale_code")
        collect.pin(replace(place.tools(next(moments)), actor="somebody"), B, True)
        receipt = collect.apply(place.tools(next(moments)), plan.id, confirm=True)
        collect.undo(place.tools(next(moments)), receipt.id)
        collect.pin(replace(place.tools(next(moments)), actor="somebody"), B, False)
        deleted = collect.delete(place.tools(next(moments)), C, confirm=True)
        collect.recover(place.tools(next(moments)), C)
        forever = collect.delete(place.tools(next(moments)), C, confirm=True, forever=True)
        collect.remove_tombstone(replace(place.tools(next(moments)), actor="somebody"), C)
        cleared = collect.clear(place.tools(next(moments)), collect.CLEAR_PHRASE)
        collect.purge(place.tools(next(moments)), 0, confirm=True)
        events = place.memory.sweep.audit(limit=100)[::-1]
        shown = [(event.action, event.subject, event.reason) for event in events]
        assert [each for each in shown if each[0] != "purge"] == [
            ("plan", plan.id, "stale_code"),
            ("pin", B, ""),
            ("prune", receipt.id, "stale_code"),
            ("skip", B, "pinned since the plan was made"),
            ("undo", receipt.id, ""),
            ("unpin", B, ""),
            ("delete", deleted.id, "delete"),
            ("recover", C, ""),
            ("delete", forever.id, "delete"),
            ("remove tombstone", C, ""),
            ("clear", cleared.id, "clear"),
        ]
        purged = [subject for action, subject, _ in shown if action == "purge"]
        assert purged[0] == forever.id
        assert {receipt.id, deleted.id, cleared.id} <= set(purged)
        assert [event.at for event in events] == sorted(event.at for event in events)
        assert {event.actor for event in events} == {"tester", "somebody"}
        counted = {event.action: event.counts for event in events if event.counts}
        assert (counted["plan"]["memories"], counted["plan"]["chunks"]) == (2, 3)
        assert (counted["prune"]["memories"], counted["prune"]["chunks"]) == (1, 2), "what really went"
        assert (counted["prune"]["entities"], counted["prune"]["relations"]) == (2, 1)
        assert counted["undo"] == counted["prune"]


def test_the_log_of_one_thing() -> None:
    with store_with(SPEC) as place:
        place.memory.pin(A)
        place.memory.pin(A, pinned=False)
        assert [event.action for event in place.memory.sweep.audit(subject=A)] == ["unpin", "pin"]
        assert place.memory.sweep.audit(subject="mem_unknown") == []
        assert place.memory.sweep.audit(subject="\ud800") == []


def test_what_happened_to_one_thing_among_others_is_asked_for_by_its_kind_too() -> None:
    with store_with(SPEC) as place:
        receipt = collect.plan_and_apply(place.tools(), "stale_code", confirm=True)
        assert [event.action for event in place.memory.sweep.audit_page(subject=A, action="prune").events] == ["prune"]
        assert place.memory.sweep.audit_page(subject=A, action="update").events == ()
        assert place.memory.sweep.audit_page(subject=A, until="2000-01-01").events == ()
        collect.undo(place.tools(), receipt.id)


def test_nothing_that_was_refused_is_in_the_log() -> None:
    with store_with(SPEC) as place:
        for attempt in (
            lambda: collect.plan_and_apply(place.tools(), "stale_code", confirm=False),
            lambda: collect.plan_and_apply(place.tools(apply_seconds=0), "stale_code", confirm=True),
            lambda: collect.undo(place.tools(), "rcpt_unknown"),
            lambda: place.memory.pin("mem_unknown"),
        ):
            with pytest.raises(MemsweepError):
                attempt()
        assert place.memory.sweep.audit() == []


def test_the_log_holds_no_content() -> None:
    note = Note("secretword", path="secretword.py", stale=True)
    with store_with(StoreSpec(notes=(note,), things=(Thing("secretword"),))) as place:
        receipt = collect.plan_and_apply(place.tools(), "all", confirm=True)
        collect.undo(place.tools(), receipt.id)
        rows = store_files.rows_in(place.file)
        for table in ("audit", "receipt", "plan", "plan_item"):
            assert "secretword" not in repr(rows[table])


@on_every_engine
def test_pages_by_time_actor_and_act_stay_right_while_events_are_added(memory: Memory) -> None:
    with called_by(Origin("mcp", "日本 client", session="s", tier="agent")):
        ids = [memory.remember(f"note {n}").memory_id for n in range(3)]
        for uid in ids:
            memory.pin(uid)
    memory.pin(ids[0], False)

    def pages(meanwhile: Callable[[], object] = lambda: None, **asked: Any) -> list[tuple[str, str]]:
        found = []
        for page in pages_of(memory.sweep.audit_page, limit=2, **asked):
            found += [(event.action, event.subject) for event in page.events]
            meanwhile()
        return found

    every = [(event.action, event.subject) for event in memory.sweep.audit()]
    assert pages(lambda: memory.pin(ids[0], False)) == every
    pins = [("pin", uid) for uid in reversed(ids)]
    assert pages(action="pin") == pins
    assert pages(actor="mcp", action="pin") == pages(actor="mcp:日本 client", action="pin") == pins
    assert {act for act, _ in pages(actor="library")} == {"unpin"}
    assert pages(actor="mc") == pages(since="2999-01-01") == pages(until="2000-01-01") == []
    assert pages(since="2000-01-01", until="2999-12-31", subject=ids[2], action="pin") == pins[:1]
    first = memory.sweep.audit_page(limit=1)
    with pytest.raises(BadInput, match="does not belong to this listing"):
        memory.sweep.audit_page(limit=1, action="pin", cursor=first.next_cursor)
    with pytest.raises(BadInput, match="since"):
        memory.sweep.audit_page(since="yesterday-ish")
