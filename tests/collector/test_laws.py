"""Laws of the collector, on stores of every shape: exact plans, exact returns, nothing that lives is ever taken."""

from datetime import datetime, timedelta
from random import Random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from memsweep.collector import collect
from memsweep.errors import Conflict
from memsweep.model.plan import Plan, Totals
from memsweep.report.collector import why
from tests.collector.oracle import expected, held_by, protected_now, rows_of
from tests.collector.random_stores import random_stores
from tests.collector.stores import KINDS, NOW, Place, StoreSpec, broken, dump, live, store_with, trash_of
from tests.support import store_files
from tests.support.counts import rounds

many = settings(max_examples=rounds(12, 60))
some = settings(max_examples=rounds(8, 30))

STRATEGIES = (
    "stale_code",
    "stale_files",
    "orphaned_chunks",
    "orphaned_entities",
    "unreachable_entities",
    "expired",
    "empty_memories",
    "all",
)
strategies = st.sampled_from(STRATEGIES)
rule_of = {"stale_files": "stale_code"}


def planned(place: Place, plan: Plan) -> dict[str, set[int]]:
    """The keys in a saved plan, by kind."""
    saved = store_files.rows_in(place.file)
    (own,) = (row["id"] for row in saved["plan"] if row["uid"] == plan.id)
    rows = [(row["kind"], row["key"]) for row in saved["plan_item"] if row["plan"] == own]
    assert len(rows) == len(set(rows)) == plan.item_count
    return {kind: {key for k, key in rows if k == kind} for kind in KINDS}


def sizes(keys: dict[str, set[int]]) -> Totals:
    return Totals(len(keys["memory"]), len(keys["chunk"]), len(keys["entity"]), len(keys["relation"]))


# plans


@pytest.mark.slow
@given(random_stores(), strategies, st.sampled_from([None, 5.0, 100.0]), st.sampled_from([0.0, 1.0, 20.0]))
@settings(max_examples=rounds(25, 150))
def test_a_plan_holds_exactly_what_its_rule_names_and_what_that_leaves_without_a_root(
    spec: StoreSpec, strategy: str, ttl_days: float | None, grace_days: float
) -> None:
    with store_with(spec) as place:
        rows = rows_of(place.file)
        wanted = expected(rows, rule_of.get(strategy, strategy), ttl_days=ttl_days, grace_days=grace_days)
        before = dump(place.file)
        plan = collect.plan(place.tools(grace_days=grace_days), strategy, ttl_days)
        items = planned(place, plan)
        assert items["memory"] == wanted["memory"]
        assert items["entity"] == wanted["entity"]
        assert items["chunk"] == wanted["chunk"] & rows.lone_chunks
        assert plan.totals == sizes(wanted)
        assert plan.share == (len(wanted["memory"]) / len(rows.memories) if rows.memories else 0.0)
        assert plan.workspace_memories == len(rows.memories)
        assert dump(place.file) == before, "planning changes nothing"


@given(random_stores(), strategies, st.sampled_from([0.0, 20.0]))
@some
def test_what_a_plan_calls_protected_is_protected_and_not_in_it(
    spec: StoreSpec, strategy: str, grace_days: float
) -> None:
    with store_with(spec) as place:
        plan = collect.plan(place.tools(grace_days=grace_days), strategy, 5.0)
        rows = rows_of(place.file)
        by_uid = {row["uid"]: row for row in [*rows.memories.values(), *rows.entities.values()]}
        items = {view.id for view in collect.plan_items(place.tools(), plan.id, 0, 1000)}
        for shown in plan.protected:
            assert protected_now(by_uid[shown["id"]], grace_days), shown
            assert shown["id"] not in items


@given(random_stores(), strategies)
@some
def test_every_item_has_a_reason_and_one_sentence_why(spec: StoreSpec, strategy: str) -> None:
    with store_with(spec) as place:
        plan = collect.plan(place.tools(), strategy, 5.0)
        for view in collect.plan_items(place.tools(), plan.id, 0, 1000):
            assert view.id
            sentence = why(view.reason, view.evidence)
            assert sentence.endswith(".")
            assert sentence[0].isupper()


@given(random_stores(), strategies)
@some
def test_a_plan_is_a_value_that_can_be_read_again(spec: StoreSpec, strategy: str) -> None:
    with store_with(spec) as place:
        plan = collect.plan(place.tools(), strategy)
        assert collect.load_plan(place.tools(), plan.id) == plan
        whole = collect.plan_items(place.tools(), plan.id, 0, 1000)
        assert len(whole) == plan.item_count
        assert [
            view for at in range(0, plan.item_count, 2) for view in collect.plan_items(place.tools(), plan.id, at, 2)
        ] == whole


# applying and undoing


@given(random_stores(), strategies, st.booleans())
@many
def test_an_apply_takes_exactly_the_plan_and_an_undo_gives_all_of_it_back(
    spec: StoreSpec, strategy: str, at_once: bool
) -> None:
    with store_with(spec) as place:
        before, live_before = dump(place.file), live(place.file)
        wanted = expected(rows_of(place.file), rule_of.get(strategy, strategy), ttl_days=5.0)
        if at_once:
            receipt = collect.plan_and_apply(place.tools(), strategy, confirm=True, ttl_days=5.0)
        else:
            plan = collect.plan(place.tools(), strategy, 5.0)
            receipt = collect.apply(place.tools(), plan.id, confirm=True)
        assert receipt.skipped == ()
        assert trash_of(place.file, receipt.id) == wanted
        assert receipt.totals == sizes(wanted)
        assert broken(place.file) == []
        rows = rows_of(place.file)
        assert not wanted["entity"] & rows.entities.keys()
        assert held_by(rows) <= rows.entities.keys(), "nothing that a live memory mentions is gone"
        undone = collect.undo(place.tools(), receipt.id)
        assert (undone.totals, undone.conflicts) == (receipt.totals, ())
        assert dump(place.file) == before
        assert live(place.file) == live_before


@given(random_stores(), strategies)
@some
def test_what_was_collected_is_not_found_again(spec: StoreSpec, strategy: str) -> None:
    with store_with(spec) as place:
        collect.plan_and_apply(place.tools(), strategy, confirm=True, ttl_days=5.0)
        again = collect.plan(place.tools(), strategy, 5.0)
        assert again.totals == Totals()


@given(random_stores())
@some
def test_clearing_leaves_what_is_pinned_and_what_that_holds_and_can_be_undone(spec: StoreSpec) -> None:
    with store_with(spec) as place:
        before, rows = dump(place.file), rows_of(place.file)
        receipt = collect.clear(place.tools(), collect.CLEAR_PHRASE)
        after = rows_of(place.file)
        assert after.memories.keys() == {key for key, row in rows.memories.items() if row["pinned"]}
        kept = {key for key, row in rows.entities.items() if row["pinned"] or row["type_key"] == "rule"}
        kept |= held_by(rows, rows.memories.keys() - after.memories.keys())
        assert kept <= after.entities.keys()
        assert after.lone_chunks == set()
        assert receipt.skipped == ()
        if not kept:
            assert after.entities == {}
            assert after.relations == {}
        assert broken(place.file) == []
        assert collect.undo(place.tools(), receipt.id).conflicts == ()
        assert dump(place.file) == before


@given(random_stores(), st.integers(1, 3))
@some
def test_collecting_in_steps_takes_what_collecting_at_once_takes(spec: StoreSpec, step: int) -> None:
    with store_with(spec) as place:
        before = dump(place.file)
        wanted = expected(rows_of(place.file), "all")
        outlook = collect.look_ahead(place.tools(), ["all"], None)
        receipts = list(collect.prune_in_steps(place.tools(), ["all"], step, outlook=outlook, allow_large=True))
        taken: dict[str, set[int]] = {kind: set() for kind in KINDS}
        for receipt in receipts:
            for kind, keys in trash_of(place.file, receipt.id).items():
                taken[kind] |= keys
        assert taken == wanted
        going = outlook.going
        counts = dict(zip(KINDS, (going.memories, going.chunks, going.entities, going.relations), strict=True))
        assert {kind: len(keys) for kind, keys in taken.items()} == counts, "as foreseen"
        for receipt in receipts:
            collect.undo(place.tools(), receipt.id)
        assert dump(place.file) == before


# several receipts


def _act(place: Place, act: str, now: datetime = NOW) -> str | None:
    """Remove something in one of many ways; the receipt."""
    tools = place.tools(now)
    memories = sorted(rows_of(place.file).memories.values(), key=lambda row: row["id"])
    match act:
        case "clear":
            return collect.clear(tools, collect.CLEAR_PHRASE).id
        case "first" | "last":
            if not memories:
                return None
            try:
                chosen = memories[0 if act == "first" else -1]["uid"]
                return collect.delete(tools, chosen, confirm=True).id
            except Conflict:  # pinned
                return None
    return collect.plan_and_apply(tools, act, confirm=True, ttl_days=5.0).id


acts = st.sampled_from(["first", "last", "clear", "first", "last", *STRATEGIES])


@pytest.mark.slow
@given(random_stores(), st.lists(acts, min_size=2, max_size=5), st.randoms(use_true_random=False))
@settings(max_examples=rounds(18, 120))
def test_overlapping_receipts_undone_in_any_order_give_everything_back(
    spec: StoreSpec, done: list[str], chance: Random
) -> None:
    with store_with(spec) as place:
        before = dump(place.file)
        receipts = [receipt for act in done if (receipt := _act(place, act)) is not None]
        chance.shuffle(receipts)
        for receipt in receipts:
            undone = collect.undo(place.tools(), receipt)
            assert broken(place.file) == [], "at every step between"
            assert [reason for _, reason in undone.conflicts if "trash" not in reason] == []
        assert dump(place.file) == before


@pytest.mark.slow
@given(random_stores(), st.lists(acts, min_size=1, max_size=3), st.randoms(use_true_random=False))
@many
def test_memories_recovered_one_by_one_come_back_with_what_they_mention(
    spec: StoreSpec, done: list[str], chance: Random
) -> None:
    with store_with(spec) as place:
        before, rows = dump(place.file), rows_of(place.file)
        receipts = [receipt for act in done if (receipt := _act(place, act)) is not None]
        gone = [row["uid"] for key, row in rows.memories.items() if key not in rows_of(place.file).memories]
        chance.shuffle(gone)
        for uid in gone[: 1 + len(gone) // 2]:
            undone = collect.recover(place.tools(), uid)
            assert undone.totals.memories == 1
            assert broken(place.file) == []
        after = rows_of(place.file)
        back = {key for key, row in rows.memories.items() if row["uid"] in gone and key in after.memories}
        assert {pair for pair in after.mentions if pair[0] in back} == {
            pair for pair in rows.mentions if pair[0] in back
        }
        for key, row in rows.relations.items():
            if not row["handed_in"] and rows.sources.get(key, set()) & back:
                assert key in after.relations, "what it states is back too"
        for receipt in receipts:
            collect.undo(place.tools(), receipt)
        assert dump(place.file) == before


@pytest.mark.slow
@given(random_stores(), st.lists(acts, min_size=2, max_size=4))
@many
def test_a_purge_leaves_nothing_of_it_and_takes_nothing_from_what_is_left(spec: StoreSpec, done: list[str]) -> None:
    """Older receipts are purged, a newer one is undone: it still gives back all that was its own."""
    with store_with(spec) as place:
        rows = rows_of(place.file)
        made = [_act(place, act, NOW + timedelta(days=day)) for day, act in enumerate(done)]
        assume(made[-1] is not None)
        receipts = [receipt for receipt in made if receipt is not None]
        assume(len(receipts) >= 2)
        live_before = live(place.file)
        last = trash_of(place.file, receipts[-1])
        collect.purge(place.tools(NOW + timedelta(days=len(done) - 1)), 0.5, confirm=True)
        assert broken(place.file) == []
        assert live(place.file) | {"thread": []} == live_before | {"thread": []}
        for receipt in receipts[:-1]:
            with pytest.raises(Conflict, match="purged"):
                collect.undo(place.tools(), receipt)
        collect.undo(place.tools(), receipts[-1])
        after = rows_of(place.file)
        assert last["memory"] <= after.memories.keys()
        mentioned = {pair for pair in rows.mentions if pair[0] in last["memory"]}
        assert mentioned <= after.mentions, "an entity that it mentions was not purged with another receipt"
        assert broken(place.file) == []


@given(random_stores(), st.lists(acts, min_size=1, max_size=4))
@some
def test_after_a_purge_of_everything_the_trash_is_empty(spec: StoreSpec, done: list[str]) -> None:
    with store_with(spec) as place:
        for act in done:
            _act(place, act)
        live_before = live(place.file)
        collect.purge(place.tools(), 0, confirm=True)
        assert place.memory.sweep.trash() == ([], 0)
        rows = store_files.rows_in(place.file)
        for table in (*KINDS, "mention"):
            assert [row for row in rows[table] if row["trash"] is not None] == []
        assert broken(place.file) == []
        live_after = live(place.file)
        assert live_after | {"thread": []} == live_before | {"thread": []}
        assert set(live_after["thread"]) <= set(live_before["thread"])
