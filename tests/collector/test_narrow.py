"""A part of a plan: never more than was shown, nothing of what is spared or kept alive by it, and used once."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memsweep.app import App, Memory, called_by
from memsweep.collector import collect
from memsweep.collector.selection import narrow
from memsweep.collector.strategies.rule import Fading
from memsweep.errors import BadInput, Conflict, NotFound
from memsweep.model.origin import Origin
from memsweep.model.plan import PlanView, Receipt, Totals
from tests.collector.random_stores import random_stores
from tests.collector.stores import NOW, Link, Note, Place, StoreSpec, Thing, broken, dump, store_with
from tests.support import store_files
from tests.support.counts import rounds
from tests.support.engines import on_every_engine
from tests.support.inside import store_of

FADING = Fading(node_threshold=0.9999, edge_threshold=0.5, max_age_days=0.0)
SHARED = StoreSpec(
    notes=(Note("a", path="a.py", stale=True), Note("b", path="b.py", stale=True), Note("c", path="c.py", stale=True)),
    things=(Thing("only a"), Thing("a and b"), Thing("behind a"), Thing("only c")),
    links=(Link(0, 2),),
    mentions=((0, 0, 0), (0, 0, 1), (1, 0, 1), (2, 0, 3)),
)
A, B, C = (f"mem_{n:012}" for n in (1, 2, 3))


def items(place: Place, plan_id: str) -> list[PlanView]:
    return collect.plan_items(place.tools(), plan_id, 0, 1000)


def ids(place: Place, plan_id: str) -> set[str]:
    return {item.id for item in items(place, plan_id)}


def live_ids(place: Place) -> set[str]:
    rows = store_files.rows_in(place.file)
    tables = ("memory", "chunk", "entity", "relation")
    return {row["uid"] for table in tables for row in rows[table] if row["trash"] is None}


@pytest.mark.slow
@given(
    random_stores(closed=True),
    st.sampled_from(["all", "stale_code", "expired", "superseded", "decayed", "unreachable_entities"]),
    st.lists(st.integers(0, 30), max_size=4),
    st.booleans(),
)
@settings(max_examples=rounds(30, 200))
def test_a_part_is_of_the_plan_leaves_what_is_spared_and_does_exactly_what_it_says(
    spec: StoreSpec, strategy: str, numbers: list[int], twice: bool
) -> None:
    with store_with(spec) as place:
        before, alive = dump(place.file), live_ids(place)
        whole = collect.plan(place.tools(), strategy, 0.0, FADING)
        named = [item.id for item in items(place, whole.id)]
        spared = {named[number % len(named)] for number in numbers if named}
        part = narrow(place.tools(), whole.id, spared)
        if twice and named:  # a part of a part
            part = narrow(place.tools(), part.id, [min(ids(place, part.id))] if part.item_count else [])
        left = ids(place, part.id)
        assert left <= set(named) - spared
        assert (part.digest == whole.digest) == (left == set(named)), "nothing spared: the same plan"
        assert part.expires_at == whole.expires_at
        receipt = collect.apply(place.tools(), part.id, confirm=True, allow_large=True)
        assert not receipt.skipped, "what a spared item keeps alive is not even tried"
        assert receipt.totals == part.totals
        gone = alive - live_ids(place)
        assert left <= gone
        assert not gone & (set(named) - left)
        assert not broken(place.file)
        for plan in (whole.id, part.id):
            with pytest.raises(Conflict, match=f"was applied already .receipt {receipt.id}"):
                collect.apply(place.tools(), plan, confirm=True)
        collect.undo(place.tools(), receipt.id)
        assert dump(place.file) == before


@given(random_stores(), st.sampled_from(["all", "stale_code", "expired"]))
@settings(max_examples=rounds(10, 60))
def test_to_spare_nothing_is_to_apply_the_plan(spec: StoreSpec, strategy: str) -> None:
    with store_with(spec) as one, store_with(spec) as other:
        plans = [collect.plan(place.tools(), strategy, 5.0) for place in (one, other)]
        part = narrow(other.tools(), plans[1].id, [])
        told = [
            collect.apply(place.tools(), plan, confirm=True, allow_large=True)
            for place, plan in ((one, plans[0].id), (other, part.id))
        ]
        assert told[0].totals == told[1].totals
        assert live_ids(one) == live_ids(other)


def test_what_a_spared_memory_keeps_alive_stays_and_the_plan_says_so() -> None:
    with store_with(SHARED) as place:
        plan = collect.plan(place.tools(), "stale_code")
        assert plan.totals == Totals(3, 3, 4, 1)
        part = narrow(place.tools(), plan.id, [A])
        assert part.narrowed_from == plan.id
        assert {(each["id"], each["reason"]) for each in part.protected} == {
            (A, "spared"),
            *((f"ent_{n:012}", "kept alive by something spared") for n in (1, 2, 3)),
        }
        assert ids(place, part.id) == {B, C, "ent_000000000004"}
        assert part.totals == Totals(2, 2, 1, 0)
        assert part.share == pytest.approx(2 / 3)
        (event,) = place.memory.sweep.audit(limit=1)
        assert (event.action, event.subject, event.reason) == ("narrow", part.id, plan.id)


def test_the_last_warning_is_about_what_is_left() -> None:
    young = StoreSpec(
        notes=(Note("a", path="a", stale=True, age_days=0.1), Note("b", path="b", stale=True, age_days=0.2))
    )
    with store_with(young) as place:
        plan = collect.plan(place.tools(), "stale_code")
        said = [narrow(place.tools(), plan.id, spared).warnings for spared in ([], [A], [A, B])]
        default = "WARNING: Deleting from default workspace"
        assert said == [plan.warnings, ("1 nodes are less than 24h old", default), ()]


def test_a_spared_fact_stays_with_both_of_its_ends() -> None:
    faded = StoreSpec(
        things=(Thing("x"), Thing("y"), Thing("z")), links=(Link(0, 1, weight=0.0), Link(1, 2, weight=0.0))
    )
    with store_with(faded) as place:
        plan = collect.plan(place.tools(), "decayed", None, FADING)
        receipt = collect.apply(place.tools(), plan.id, confirm=True, exclude=["rel_000000000001"])
        assert live_ids(place) == {"rel_000000000001", "ent_000000000001", "ent_000000000002"}
        assert receipt.plan_id != plan.id


@on_every_engine
def test_of_a_plan_and_its_parts_one_is_applied_and_its_undo_brings_back_all_of_it(memory: Memory) -> None:
    kept, *others = [
        memory.remember(f"Note {n} about Grace Hopper", expires_at="2020-01-01").memory_id for n in range(3)
    ]
    plan = memory.sweep.plan("expired")
    parts = [memory.sweep.narrow(plan.id, [each]) for each in (kept, others[0])]
    receipt = memory.sweep.apply(parts[0].id, confirm=True, allow_large=True)
    assert receipt.totals.memories == 2
    for refused in (plan.id, *(part.id for part in parts)):
        with pytest.raises(Conflict, match=receipt.id):
            memory.sweep.apply(refused, confirm=True, exclude=[kept])
        with pytest.raises(Conflict, match=receipt.id):
            memory.sweep.apply(refused, confirm=True)
    assert memory.sweep.items(plan.id) == [], "nobody needs them any more"
    assert memory.get(kept).text == "Note 0 about Grace Hopper"
    assert memory.sweep.undo(receipt.id).totals.memories == 2
    again = memory.sweep.plan("expired")
    memory.sweep.apply(again.id, confirm=True, allow_large=True)
    with pytest.raises(Conflict, match="was applied already"):
        memory.sweep.narrow(again.id, [kept])


def test_an_id_that_is_not_in_the_plan_is_named_and_refused() -> None:
    with store_with(SHARED) as place:
        plan = collect.plan(place.tools(), "stale_code")
        before = place.memory.revision()
        for wrong in ("mem_000000000009", "😀", "", "x" * 5000):
            with pytest.raises(BadInput, match="is not in plan"):
                narrow(place.tools(), plan.id, [A, wrong])
        for wrong in (A, [1], [None]):
            with pytest.raises(BadInput, match="must be a list of ids"):
                narrow(place.tools(), plan.id, wrong)  # type: ignore[arg-type]
        with pytest.raises(NotFound):
            narrow(place.tools(), "plan_none", [A])
        assert place.memory.revision() == before, "nothing half done"


def test_a_part_expires_with_its_plan() -> None:
    with store_with(SHARED) as place:
        plan = collect.plan(place.tools(), "stale_code")
        late = NOW + timedelta(minutes=59)
        part = narrow(place.tools(late), plan.id, [A])
        for refused in (plan.id, part.id):
            with pytest.raises(Conflict, match="expired"):
                narrow(place.tools(late + timedelta(minutes=2)), refused, [B])
            with pytest.raises(Conflict, match="expired"):
                collect.apply(place.tools(late + timedelta(minutes=2)), refused, confirm=True)


def test_what_was_deleted_or_pinned_meanwhile_can_be_spared_and_the_rest_is_looked_at_again() -> None:
    with store_with(SHARED) as place:
        plan = collect.plan(place.tools(), "stale_code")
        collect.delete(place.tools(), A, confirm=True)
        collect.pin(place.tools(), B, True)
        receipt = collect.apply(place.tools(), plan.id, confirm=True, exclude=[A])
        assert dict(receipt.skipped)[B] == "pinned since the plan was made"
        assert receipt.totals.memories == 1


def test_every_item_can_be_spared() -> None:
    many = StoreSpec(notes=tuple(Note(f"n {n}", path=f"{n}.py", stale=True) for n in range(1000)))
    with store_with(many) as place:
        plan = collect.plan(place.tools(), "stale_code")
        every = [f"mem_{n:012}" for n in range(1, 1001)]
        receipt = collect.apply(place.tools(), plan.id, confirm=True, exclude=every * 10)
        assert receipt.totals == Totals()


@on_every_engine
def test_secrets_are_left_where_they_are_spared(memory: Memory) -> None:
    key = "AKIA" + "QRSTUVWX23456YZ2"
    ids = [memory.remember(f"note {n}").memory_id for n in range(2)]
    with store_of(memory).collector.changing() as tx:
        keys = store_of(memory).collector.memory_keys(ids)
        found = tx.texts.at(keys.values())
        pieces = tx.texts.pieces(keys.values())
        for row in found.values():
            said = f"the key is {key} {row.text}"
            only = [piece._replace(text=said) for piece in pieces[row.key]]
            tx.texts.write(row._replace(text=said, version=row.version + 1), only)
    plan = memory.sweep.plan("secrets")
    receipt = memory.sweep.apply(plan.id, confirm=True, exclude=ids[:1])
    assert receipt.totals.memories == 1
    assert [key in memory.get(each).text for each in ids] == [True, False]
    with pytest.raises(Conflict, match="was applied already"):
        memory.sweep.apply(plan.id, confirm=True)


@on_every_engine
def test_plans_of_merges_and_windows_have_no_parts(memory: Memory) -> None:
    for name in ("Grace H", "Grace Hopper"):
        memory.graph.relate(name, "KNOWS", "Ada Lovelace")
    merge = memory.graph.plan_merge(["Grace H"], into="Grace Hopper")
    with pytest.raises(Conflict, match="merges entities"):
        memory.sweep.narrow(merge.plan_id, ["Grace H"])
    window = memory.context("p")
    window.add([{"segment_id": f"s{n}", "text": "word " * 50, "type": "message"} for n in range(30)])
    with pytest.raises(Conflict, match="cannot be used here"):
        memory.sweep.narrow(str(window.analyze(target_tokens=100).plan_id), ["s1"])


@on_every_engine
def test_what_a_spared_fact_or_memory_said_is_not_taken_back(memory: Memory) -> None:
    """A fact that was replaced does not hold again beside the one that is spared."""
    for name in ("Ada", "Bob"):
        memory.graph.relate(name, "WORKS_AT", "Engine")
    old = [memory.remember(f"The office is in street {n}.").memory_id for n in range(2)]
    with called_by(Origin("mcp", "stranger", session="s1", tier="agent")):
        said = [{"from": "Grace", "relation": "KNOWS", "to": "Linus"}]
        spared = memory.remember("Grace knows Linus.", relations=said, supersedes=old[:1]).memory_id
        gone = memory.remember("Nothing else.", supersedes=old[1:]).memory_id
        for name in ("Ada", "Bob"):
            memory.graph.relate(name, "WORKS_AT", "Mill", replaces=True)
    plan = memory.sweep.plan("origin", origin={"session": "s1"})
    (mill,) = (item.id for item in memory.sweep.items(plan.id) if item.name == "Ada WORKS_AT Mill")
    receipt = memory.sweep.apply(plan.id, confirm=True, allow_large=True, exclude=[spared, mill])
    assert not receipt.skipped

    def neighbours(name: str) -> set[str]:
        return {each.name for each in memory.graph.related(name).entities}

    assert (neighbours("Ada"), neighbours("Bob")) == ({"Mill"}, {"Engine"})
    assert neighbours("Grace") == {"Linus"}
    assert [bool(memory.get(each).superseded_by) for each in old] == [True, False]
    assert memory.get(spared).id == spared
    with pytest.raises(NotFound):
        memory.get(gone)


@on_every_engine
def test_of_a_plan_and_its_part_applied_at_once_one_is_done(make: Callable[..., App]) -> None:
    memories = [make().memory() for _ in range(2)]
    ids = [memories[0].remember(f"note {n}", expires_at="2020-01-01").memory_id for n in range(3)]
    plan = memories[0].sweep.plan("expired")
    start = Barrier(2)

    def apply(memory: Memory, exclude: list[str]) -> Receipt | Conflict:
        start.wait()
        try:
            return memory.sweep.apply(plan.id, confirm=True, allow_large=True, exclude=exclude)
        except Conflict as refused:
            return refused

    with ThreadPoolExecutor(2) as pool:
        told = list(pool.map(apply, memories, ([], ids[:1])))
    done = [each for each in told if isinstance(each, Receipt)]
    refused = [str(each) for each in told if isinstance(each, Conflict)]
    assert len(done) == 1
    assert f"was applied already (receipt {done[0].id})" in refused[0]


OLD_FACT = Link(0, 1, explicit=True, closed=True)
HELD = {
    "decayed": StoreSpec(notes=(Note("a"),), things=(Thing("x"),), links=(Link(0, 0, sources=(0,), closed=True),)),
    "superseded": StoreSpec(things=(Thing("x", pinned=True, explicit=True), Thing("y")), links=(OLD_FACT,)),
}


@pytest.mark.parametrize("strategy", HELD)
def test_who_a_fact_that_stays_holds_is_not_planned(strategy: str) -> None:
    """Plans named them, and applies skipped them: a live memory states the fact, or its subject is pinned."""
    with store_with(HELD[strategy]) as place:
        assert ids(place, collect.plan(place.tools(), strategy, 0.0, FADING).id) == set()
