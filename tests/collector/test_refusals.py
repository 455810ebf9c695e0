"""What is refused, in which words, and that nothing changes by it."""

import math
from collections.abc import Callable
from datetime import timedelta

import pytest

from memsweep.collector import collect
from memsweep.errors import BadInput, Conflict, MemsweepError, NotFound, StoreBusy, StoreCorrupt, Unconfirmed
from tests.collector.stores import (
    NOW,
    Link,
    Note,
    Place,
    StoreSpec,
    Thing,
    dump,
    store_with,
    tamper_with_plan,
    write_rows,
)
from tests.support import store_files

STALE = StoreSpec(
    notes=(*(Note(f"stale {n}", path=f"{n}.py", stale=True) for n in range(3)), Note("pinned", pinned=True)),
    things=(Thing("Ada"), Thing("Bob", pinned=True)),
    links=(Link(0, 1),),
    mentions=((0, 0, 0),),
)
FIRST, PINNED = "mem_000000000001", "mem_000000000004"


def refused(place: Place, attempt: Callable[[], object], error: type[MemsweepError], words: str) -> None:
    before = dump(place.file)
    with pytest.raises(error, match=words) as caught:
        attempt()
    assert type(caught.value) is error
    assert dump(place.file) == before


def test_a_plan_is_used_once() -> None:
    with store_with(STALE) as place:
        plan = collect.plan(place.tools(), "stale_code")
        receipt = collect.apply(place.tools(), plan.id, confirm=True)
        words = rf"plan {plan.id} was applied already \(receipt {receipt.id}\)"
        refused(place, lambda: collect.apply(place.tools(), plan.id, confirm=True), Conflict, words)
        collect.undo(place.tools(), receipt.id)
        refused(place, lambda: collect.apply(place.tools(), plan.id, confirm=True), Conflict, words)


def test_a_plan_lasts_an_hour() -> None:
    with store_with(STALE) as place:
        plan = collect.plan(place.tools(), "stale_code")
        late = NOW + timedelta(hours=1, seconds=1)
        words = f"plan {plan.id} expired at 2026-03-01T13:00:00Z; nothing was removed"
        refused(place, lambda: collect.apply(place.tools(late), plan.id, confirm=True), Conflict, words)
        in_time = NOW + timedelta(hours=1)
        assert collect.apply(place.tools(in_time), plan.id, confirm=True).totals.memories == 3


def test_how_long_a_plan_lasts_is_a_setting() -> None:
    with store_with(STALE) as place:
        plan = collect.plan(place.tools(plan_hours=0.01), "stale_code")
        assert plan.expires_at == NOW + timedelta(seconds=36)
        late = NOW + timedelta(minutes=1)
        refused(place, lambda: collect.apply(place.tools(late), plan.id, confirm=True), Conflict, "expired")


def test_an_expired_plan_is_gone_when_the_next_is_made() -> None:
    with store_with(STALE) as place:
        plan = collect.plan(place.tools(), "stale_code")
        later = place.tools(NOW + timedelta(days=1))
        collect.plan(later, "stale_code")
        refused(place, lambda: collect.apply(later, plan.id, confirm=True), NotFound, "does not exist")
        assert {row["plan"] for row in store_files.rows_in(place.file)["plan_item"]} == {2}


def test_the_plan_of_another_workspace_is_unknown_here() -> None:
    with store_with(STALE) as place:
        place.app.create_workspace("other")
        write_rows(store_files.file_of(place.home, "other"), STALE)
        other = Place(place.home, place.app, "other", place.ticks)
        plan = collect.plan(other.tools(), "stale_code")
        words = f"plan '{plan.id}' does not exist in this workspace"
        refused(place, lambda: collect.apply(place.tools(), plan.id, confirm=True), NotFound, words)
        assert collect.apply(other.tools(), plan.id, confirm=True).totals.memories == 3
        assert place.memory.stats().total_memories == 4, "and this workspace is untouched"


def test_an_unknown_plan() -> None:
    with store_with(STALE) as place:
        for unknown in ("plan_000000000000", "", "'; drop table plan; --", "\ud800", "x" * 10_000):
            attempt = lambda unknown=unknown: collect.apply(place.tools(), unknown, confirm=True)  # noqa: E731
            refused(place, attempt, NotFound, "does not exist in this workspace")


def test_a_plan_whose_items_were_tampered_with() -> None:
    with store_with(STALE) as place:
        plan = collect.plan(place.tools(), "stale_code")
        tamper_with_plan(place.file)
        refused(place, lambda: collect.apply(place.tools(), plan.id, confirm=True), StoreCorrupt, "not as it was saved")


@pytest.mark.parametrize("confirm", [False, None, 1, "true"])
def test_deletion_without_a_plain_yes(confirm: bool) -> None:
    words = r"^Deletion requires explicit confirmation\. Set confirm=true to proceed\."
    with store_with(STALE) as place:
        tools = place.tools()
        plan = collect.plan(tools, "stale_code")
        preview = words + r" Run with dry_run=true first to preview\.$"
        refused(place, lambda: collect.apply(tools, plan.id, confirm=confirm), Unconfirmed, preview)
        refused(place, lambda: collect.plan_and_apply(tools, "all", confirm=confirm), Unconfirmed, preview)
        refused(place, lambda: collect.delete(tools, FIRST, confirm=confirm), Unconfirmed, words + "$")
        refused(place, lambda: collect.purge(tools, 0, confirm=confirm), Unconfirmed, words + "$")


@pytest.mark.parametrize("phrase", ["", "delete all memories", "DELETE ALL MEMORIES ", "yes"])
def test_clearing_needs_the_exact_phrase(phrase: str) -> None:
    with store_with(STALE) as place:
        words = "confirm_phrase must equal 'DELETE ALL MEMORIES'; nothing was removed"
        refused(place, lambda: collect.clear(place.tools(), phrase), Unconfirmed, words)


def test_an_invalid_strategy_is_named_before_anything_else() -> None:
    words = (
        r"^Invalid strategy 'xyz'\. Valid: stale_code, missing_files, orphaned_chunks, orphaned_entities,"
        r" unreachable_entities, expired, empty_memories, duplicates"
    )
    with store_with(STALE) as place:
        refused(place, lambda: collect.plan(place.tools(), "xyz"), BadInput, words)
        refused(place, lambda: collect.plan_and_apply(place.tools(), "xyz", confirm=False), BadInput, words)


@pytest.mark.parametrize("days", [-1, math.nan, math.inf, 1e7])
def test_impossible_numbers_of_days(days: float) -> None:
    with store_with(STALE) as place:
        tools = place.tools()
        refused(place, lambda: collect.plan(tools, "expired", days), BadInput, "ttl_days must be a number of days")
        words = "older_than_days must be a number of days"
        refused(place, lambda: collect.purge(tools, days, confirm=True), BadInput, words)


def test_very_long_ages_are_understood() -> None:
    with store_with(STALE) as place:
        tools = place.tools(grace_days=999_999)
        assert collect.plan(tools, "expired", 365_000).item_count == 0
        assert collect.purge(tools, 365_000, confirm=True).receipts == ()


@pytest.mark.parametrize("removed", [0, 10, 11, 20])
def test_more_than_half_of_twenty_memories_needs_allow_large(removed: int) -> None:
    notes = tuple(Note(f"n {n}", path=f"{n}.py", stale=n < removed) for n in range(20))
    with store_with(StoreSpec(notes=notes)) as place:
        plan = collect.plan(place.tools(), "stale_code")
        assert plan.share == removed / 20
        if removed > 10:
            words = rf"this would remove {removed} of 20 memories \({removed * 5}% .* pass allow_large=true"
            refused(place, lambda: collect.apply(place.tools(), plan.id, confirm=True), Conflict, words)
            attempt = lambda: collect.plan_and_apply(place.tools(), "stale_code", confirm=True)  # noqa: E731
            refused(place, attempt, Conflict, words)
        receipt = collect.apply(place.tools(), plan.id, confirm=True, allow_large=removed > 10)
        assert receipt.totals.memories == removed


def test_fewer_than_twenty_memories_may_all_go() -> None:
    notes = tuple(Note(f"n {n}", path=f"{n}.py", stale=True) for n in range(19))
    with store_with(StoreSpec(notes=notes)) as place:
        receipt = collect.plan_and_apply(place.tools(), "stale_code", confirm=True)
        assert receipt.totals.memories == 19


def test_an_apply_that_takes_too_long_is_rolled_back() -> None:
    with store_with(STALE) as place:
        plan = collect.plan(place.tools(), "stale_code")
        words = "took longer than 0 s and was stopped; nothing was changed.* raise gc.apply_seconds"
        hasty = place.tools(apply_seconds=0.0)
        refused(place, lambda: collect.apply(hasty, plan.id, confirm=True), StoreBusy, words)
        refused(place, lambda: collect.plan_and_apply(hasty, "all", confirm=True), StoreBusy, words)
        assert collect.apply(place.tools(), plan.id, confirm=True).totals.memories == 3


@pytest.mark.slow
def test_an_apply_is_stopped_in_the_middle_of_a_long_statement() -> None:
    notes = tuple(Note(f"n {n} " + "word " * 50, path=f"{n}.py", stale=True, chunks=20) for n in range(400))
    with store_with(StoreSpec(notes=notes)) as place:
        refused(
            place,
            lambda: collect.plan_and_apply(
                place.tools(apply_seconds=0.0005), "stale_code", confirm=True, allow_large=True
            ),
            StoreBusy,
            "took longer than 0.0005 s",
        )


def test_a_pinned_memory_cannot_be_deleted() -> None:
    with store_with(STALE) as place:
        words = f"memory {PINNED} is pinned; it was not deleted. Unpin it first."
        refused(place, lambda: collect.delete(place.tools(), PINNED, confirm=True), Conflict, words)
        place.memory.pin(PINNED, pinned=False)
        assert collect.delete(place.tools(), PINNED, confirm=True).totals.memories == 1


@pytest.mark.parametrize("unknown", ["mem_999999999999", "", "ent_000000000001", "\0", "\ud800", "x" * 4000])
def test_what_is_not_there_cannot_be_deleted_recovered_undone_or_pinned(unknown: str) -> None:
    with store_with(STALE) as place:
        tools = place.tools()
        refused(place, lambda: collect.delete(tools, unknown, confirm=True), NotFound, "does not exist in workspace")
        refused(place, lambda: collect.recover(tools, unknown), NotFound, "is not in the trash")
        refused(place, lambda: collect.undo(tools, unknown), NotFound, "does not exist in this workspace")
        if not unknown.startswith("ent"):
            refused(place, lambda: place.memory.pin(unknown), NotFound, "neither a memory nor an entity")


def test_a_live_memory_need_not_be_recovered_nor_one_deleted_twice() -> None:
    with store_with(STALE) as place:
        refused(place, lambda: collect.recover(place.tools(), FIRST), NotFound, "is not in the trash")
        collect.delete(place.tools(), FIRST, confirm=True)
        refused(place, lambda: collect.delete(place.tools(), FIRST, confirm=True), NotFound, "does not exist")
        refused(place, lambda: place.memory.pin(FIRST), NotFound, "neither a memory nor an entity")


def test_an_undo_cannot_be_repeated_nor_follow_a_purge() -> None:
    with store_with(STALE) as place:
        first = collect.plan_and_apply(place.tools(), "stale_code", confirm=True)
        collect.undo(place.tools(), first.id)
        words = f"receipt {first.id} was undone already at 2026-03-01 12:00 UTC"
        refused(place, lambda: collect.undo(place.tools(), first.id), Conflict, words)
        second = collect.plan_and_apply(place.tools(), "stale_code", confirm=True)
        collect.purge(place.tools(), 0, confirm=True)
        words = f"receipt {second.id} was purged at 2026-03-01 12:00 UTC; it cannot be undone"
        refused(place, lambda: collect.undo(place.tools(), second.id), Conflict, words)
        refused(place, lambda: collect.recover(place.tools(), FIRST), NotFound, "is not in the trash")


# An empty root set


def rootless(entities: int, **first: bool) -> StoreSpec:
    things = tuple(Thing(f"T{n}", **(first if n == 0 else {})) for n in range(entities))
    links = tuple(Link(n, (n + 1) % entities) for n in range(1, entities))
    return StoreSpec(notes=(Note("a note that mentions nobody"),), things=things, links=links)


@pytest.mark.parametrize("strategy", ["unreachable_entities", "orphaned_entities", "all"])
def test_where_no_entity_at_all_has_a_root_the_mentions_are_lost_and_not_all_garbage(strategy: str) -> None:
    with store_with(rootless(20)) as place:
        words = "none of the 20 entities has a root: .* That cannot be right; nothing was planned"
        refused(place, lambda: collect.plan(place.tools(), strategy), Conflict, words)
        attempt = lambda: collect.plan_and_apply(place.tools(), strategy, confirm=True, allow_large=True)  # noqa: E731
        refused(place, attempt, Conflict, words)
        assert collect.plan(place.tools(), "stale_code").item_count == 0, "which does not ask for roots"


def test_a_handful_of_dead_entities_may_be_all_there_are() -> None:
    with store_with(rootless(19)) as place:
        assert collect.plan(place.tools(), "unreachable_entities").totals.entities == 19


@pytest.mark.parametrize("root", ["pinned", "explicit"])
def test_one_root_is_enough_to_believe_the_rest(root: str) -> None:
    with store_with(rootless(20, **{root: True})) as place:
        dead = collect.plan(place.tools(), "orphaned_entities").totals.entities
        assert dead == 0, "the ring holds together"
        assert collect.plan(place.tools(), "unreachable_entities").totals.entities == 0
