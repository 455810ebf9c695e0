"""What a merge put away comes back with the merge, and with nothing else: merges between clears, prunes and purges."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from memsweep.collector import collect
from memsweep.collector import purge as purging
from memsweep.collector.strategies.rule import Fading
from memsweep.errors import Conflict
from memsweep.graph import facts as graph
from memsweep.graph.facts import GraphDependencies
from memsweep.model.graph import GraphBatch, RelationDraft
from memsweep.model.memory import NamedThing
from memsweep.services.memory import Memory
from tests.collector.stores import NOW, Link, Note, StoreSpec, Thing
from tests.falkor.both_engines import Side
from tests.faults.merges import Seen, open_store, seen, state
from tests.support import store_files
from tests.support.contents import facts
from tests.support.engines import ENGINES, on_every_engine


def rows(memory: Memory) -> dict[str, Any]:
    return state(seen(store_files.rows_of(memory)))


@pytest.fixture
def three(memory: Memory) -> Memory:
    memory.remember("A, B and C met.", entities=["A", "B", "C"])
    memory.graph.relate("A", "KNOWS", "C", weight=1.0)
    memory.graph.relate("B", "KNOWS", "C", weight=0.06)
    memory.graph.relate("A", "OWNS", "B", weight=0.5)
    return memory


# a clear after a merge


@on_every_engine
def test_a_clear_that_is_undone_gives_back_what_the_merge_had_left(three: Memory) -> None:
    before = rows(three)
    merged = three.graph.merge(["B"], "A").receipt_id
    between = rows(three)
    cleared = three.sweep.clear(collect.CLEAR_PHRASE).id
    assert three.sweep.undo(cleared).conflicts == ()
    assert rows(three) == between
    assert facts(three) == {("A", "KNOWS", "C"): 1.0}
    three.sweep.undo(merged)
    assert rows(three) == before
    assert three.care.doctor().findings == ()


@on_every_engine
def test_a_purge_after_that_keeps_the_right_fact(three: Memory) -> None:
    three.graph.merge(["B"], "A")
    three.sweep.undo(three.sweep.clear(collect.CLEAR_PHRASE).id)
    three.sweep.purge(0, confirm=True)
    assert facts(three) == {("A", "KNOWS", "C"): 1.0}
    assert three.graph.related("B").start.name == "A"
    assert three.care.doctor().findings == ()


@on_every_engine
def test_what_was_put_away_as_stated_by_a_memory_stays_there_when_that_memory_comes_back(memory: Memory) -> None:
    for name, weight in (("A", 1.0), ("B", 0.06)):
        said = {"from": name, "relation": "KNOWS", "to": "C", "weight": weight}
        memory.remember(f"{name} knows C.", entities=["A", "B", "C"], relations=[said])
    merged = memory.graph.merge(["B"], "A").receipt_id
    between = rows(memory)
    told = [key for key, row in between["memory"].items() if row["text"] == "B knows C."]
    deleted = memory.delete(told[0], confirm=True).id
    memory.sweep.undo(deleted)
    assert rows(memory) == between
    memory.delete(told[0], confirm=True)
    memory.sweep.recover(told[0])
    assert rows(memory) == between
    memory.sweep.undo(merged)
    assert facts(memory) == {("A", "KNOWS", "C"): 1.0, ("B", "KNOWS", "C"): 0.06}


@on_every_engine
def test_what_was_put_away_is_stated_again_by_a_memory_whose_update_is_undone(memory: Memory) -> None:
    said = {"from": "A", "relation": "KNOWS", "to": "B"}
    note = memory.remember("A knows B.", entities=["A", "B"], relations=[said]).memory_id
    updated = memory.update(note, text="C plays the viola.").receipt_id
    merged = memory.graph.merge(["A"], "B").receipt_id
    ((_, why),) = memory.sweep.undo(str(updated)).conflicts
    assert f"while the merge {merged} stands; undoing that brings it back" in why
    memory.sweep.undo(merged)
    assert set(facts(memory)) == {("A", "KNOWS", "B")}
    memory.delete(note, confirm=True)
    assert facts(memory) == {}
    assert memory.care.doctor().findings == ()


# a merge after a prune


@on_every_engine
def test_what_returns_to_where_a_merge_moved_it_is_the_merges_until_that_is_undone(three: Memory) -> None:
    before = rows(three)
    pruned = _prune_graph(three, 0.2)
    merged = three.graph.merge(["B"], "A").receipt_id
    undone = three.sweep.undo(pruned)
    (conflict,) = undone.conflicts
    assert f"while the merge {merged} stands; undoing that brings it back" in conflict[1]
    assert facts(three) == {("A", "KNOWS", "C"): 1.0}
    three.sweep.undo(merged)
    assert rows(three) == before


@on_every_engine
def test_the_stronger_fact_counts_though_it_returns_only_after_the_merge(memory: Memory) -> None:
    memory.remember("A, B and C met.", entities=["A", "B", "C"])
    memory.graph.relate("B", "KNOWS", "C", weight=0.9)
    pruned = _prune_graph(memory, 0.95)
    memory.graph.relate("A", "KNOWS", "C", weight=0.1)
    before = facts(memory)
    merged = memory.graph.merge(["B"], "A").receipt_id
    memory.sweep.undo(pruned)
    assert facts(memory) == {("A", "KNOWS", "C"): pytest.approx(0.9)}
    memory.sweep.undo(merged)
    assert facts(memory) == before | {("B", "KNOWS", "C"): 0.9}


@on_every_engine
def test_a_fact_between_the_two_does_not_return_as_one_of_an_entity_with_itself(three: Memory) -> None:
    before = rows(three)
    pruned = _prune_graph(three, 0.7)
    merged = three.graph.merge(["B"], "A").receipt_id
    three.sweep.undo(pruned)
    assert facts(three) == {("A", "KNOWS", "C"): 1.0}
    three.sweep.undo(merged)
    assert rows(three) == before


@on_every_engine
def test_a_fact_of_the_past_between_the_two_is_put_away_with_those_that_hold(three: Memory) -> None:
    three.graph.relate("A", "OWNS", "C", replaces=True)
    before = rows(three)
    merged = three.graph.merge(["B"], "A").receipt_id
    assert set(facts(three)) == {("A", "KNOWS", "C"), ("A", "OWNS", "C")}
    three.sweep.undo(merged)
    assert rows(three) == before


def _prune_graph(memory: Memory, edge_threshold: float) -> str:
    """Relations below a weight to the trash."""
    receipt = memory.graph.prune(edge_threshold=edge_threshold, max_age_days=0, confirm=True, allow_large=True)
    assert receipt.totals.relations
    return receipt.id


# several merges


@on_every_engine
@pytest.mark.parametrize("backwards", [False, True])
def test_two_merges_into_one_entity_are_undone_in_either_order(memory: Memory, backwards: bool) -> None:
    memory.remember("A, B and C met.", entities=["A", "B", "C"])
    memory.graph.relate("A", "KNOWS", "D", weight=0.1)
    memory.graph.relate("B", "KNOWS", "D", weight=0.5)
    memory.graph.relate("C", "KNOWS", "D", weight=0.9)
    ids = {entity.name: entity.id for entity in memory.graph.entities()[0]}
    memory.pin(ids["B"])
    before = rows(memory)
    receipts = [memory.graph.merge([name], "A").receipt_id for name in ("B", "C")]
    for receipt in reversed(receipts) if backwards else receipts:
        memory.sweep.undo(receipt)
        assert memory.care.doctor().findings == ()
    assert rows(memory) == before


@pytest.mark.parametrize("backwards", [False, True])
def test_merges_in_a_file_of_the_first_version_are_undone_in_either_order(memory: Memory, backwards: bool) -> None:
    """It did not write down which entity or fact a merge had taken in."""
    memory.remember("A, B and C met.", entities=["A", "B", "C"])
    for name, weight in (("A", 0.1), ("B", 0.9), ("C", 0.5)):
        memory.graph.relate(name, "KNOWS", "D", weight=weight)
    memory.pin(memory.graph.related("B").start.id)
    before = rows(memory)
    receipts = [memory.graph.merge([name], "A").receipt_id for name in ("B", "C")]
    store_files.forget_what_merges_took_in(memory)
    memory.sweep.undo(memory.sweep.clear(collect.CLEAR_PHRASE).id)
    for receipt in reversed(receipts) if backwards else receipts:
        memory.sweep.undo(receipt)
    assert rows(memory) == before
    assert memory.care.doctor().findings == ()


@on_every_engine
def test_a_merge_undone_leaves_what_another_one_into_the_same_entity_brought(memory: Memory) -> None:
    memory.remember("B and C met.", entities=["B", "C"])
    memory.graph.relate("A", "KNOWS", "D", weight=0.1)
    memory.graph.relate("B", "KNOWS", "D", weight=0.9)
    memory.graph.relate("C", "KNOWS", "D", weight=0.5)
    memory.pin(memory.graph.related("B").start.id)
    first = memory.graph.merge(["B"], "A").receipt_id
    memory.graph.merge(["C"], "A")
    memory.sweep.undo(first)
    assert facts(memory) == {("A", "KNOWS", "D"): 0.5, ("B", "KNOWS", "D"): 0.9}
    start = memory.graph.related("A").start
    assert (start.pinned, start.name) == (False, "A")
    spoken = {entity.name: entity.mentions for entity in memory.graph.entities()[0]}
    assert spoken == {"A": 1, "B": 1, "D": 0}


@on_every_engine
def test_a_memory_states_a_fact_for_so_long_as_one_merge_brought_it(memory: Memory) -> None:
    memory.graph.relate("A", "KNOWS", "D", weight=0.1)
    said = [{"from": name, "relation": "KNOWS", "to": "D", "weight": 0.5} for name in ("B", "C")]
    memory.remember("B and C know D.", entities=["B", "C", "D"], relations=said)
    before = rows(memory)
    first, second = (memory.graph.merge([name], "A").receipt_id for name in ("B", "C"))
    memory.sweep.undo(first)
    found, start = rows(memory), memory.graph.related("A").start.id
    (fact,) = [key for key, row in found["relation"].items() if row["subject"] == start and row["trash"] is None]
    assert [relation for relation, _ in found["relation_source"]].count(fact) == 1
    memory.sweep.undo(second)
    assert rows(memory) == before


@on_every_engine
def test_facts_that_a_later_merge_joined_are_told_apart_by_undoing_that_one_first(memory: Memory) -> None:
    memory.graph.relate("B", "KNOWS", "D", weight=0.5)
    memory.graph.relate("C", "KNOWS", "D", weight=0.9)
    memory.graph.relate("A", "LIKES", "D")
    before = rows(memory)
    first = memory.graph.merge(["B"], "A").receipt_id
    second = memory.graph.merge(["C"], "A").receipt_id
    between = rows(memory)
    with pytest.raises(Conflict, match=f"the merge {second} joined facts that this one changed") as refused:
        memory.sweep.undo(first)
    assert refused.value.hint == f"Undo {second} first."
    assert rows(memory) == between
    memory.sweep.undo(second)
    memory.sweep.undo(first)
    assert rows(memory) == before


# names


@on_every_engine
def test_a_name_that_stood_for_another_stands_for_it_again(three: Memory) -> None:
    three.graph.merge(["B"], "A")
    cleared = three.sweep.clear(collect.CLEAR_PHRASE).id
    three.graph.relate("B", "LIKES", "Tea")
    three.graph.relate("E", "LIKES", "Rum")
    before = rows(three)["alias"]
    second = three.graph.merge(["B"], "E").receipt_id
    three.sweep.undo(cleared)
    assert three.graph.related("B").start.name == "E"
    three.sweep.undo(second)
    assert rows(three)["alias"] == before
    assert three.care.doctor().findings == ()


@on_every_engine
def test_an_entity_that_exists_again_stands_for_the_old_one_in_its_merges(three: Memory) -> None:
    merged = three.graph.merge(["B"], "A").receipt_id
    cleared = three.sweep.clear(collect.CLEAR_PHRASE).id
    three.graph.relate("A", "LIKES", "Tea")
    three.sweep.undo(cleared)
    assert three.graph.related("B").start.name == "A"
    three.sweep.undo(merged)
    assert set(facts(three)) == {("A", "LIKES", "Tea"), ("A", "KNOWS", "C"), ("B", "KNOWS", "C"), ("A", "OWNS", "B")}
    assert three.care.doctor().findings == ()


@on_every_engine
def test_what_was_split_off_stays_where_it_is(three: Memory) -> None:
    three.graph.relate("B", "LIKES", "Tea")
    merged = three.graph.merge(["B"], "A").receipt_id
    (tea,) = [key for key, row in rows(three)["relation"].items() if row["relation"] == "LIKES"]
    split = three.graph.unmerge("A", "Bee", relations=[tea]).receipt_id
    said = three.sweep.undo(merged).conflicts
    assert said == ((tea, f"it was split off since, and stays there until {split} is undone"),)
    assert set(facts(three)) == {("A", "KNOWS", "C"), ("B", "KNOWS", "C"), ("A", "OWNS", "B"), ("Bee", "LIKES", "Tea")}
    assert three.care.doctor().findings == ()


@on_every_engine
def test_a_fact_that_only_the_merge_kept_follows_its_memory_into_the_trash(memory: Memory) -> None:
    note = memory.remember("B knows C.", relations=[{"from": "B", "relation": "KNOWS", "to": "C"}]).memory_id
    memory.graph.relate("A", "KNOWS", "C")
    before = rows(memory)
    merged = memory.graph.merge(["A"], "B").receipt_id
    deleted = memory.delete(note, confirm=True).id
    assert set(facts(memory)) == {("B", "KNOWS", "C")}, "A said so by itself"
    memory.sweep.undo(merged)
    assert set(facts(memory)) == {("A", "KNOWS", "C")}
    assert memory.care.doctor().findings == ()
    memory.sweep.undo(deleted)
    assert rows(memory) == before


# with a clock of its own, below the doors


class StoreHistory:
    """A store with the acts of a history, an hour apart."""

    def __init__(self, side: Side, look: Any) -> None:
        self.side, self._look, self.hours = side, look, 0

    @property
    def tools(self) -> collect.CollectorDependencies:
        self.hours += 1
        return self.side.tools(NOW + timedelta(hours=self.hours), fading=Fading(edge_threshold=0.1, max_age_days=0.0))

    @property
    def graphing(self) -> GraphDependencies:
        self.hours += 1
        return GraphDependencies(
            self.side.store.graph, "tester", lambda: NOW + timedelta(hours=self.hours), self.side.new_id
        )

    def merge(self, *names: str) -> str:
        return graph.merge(self.graphing, list(names[:-1]), names[-1], None).receipt_id

    def prune(self, strategy: str) -> str:
        return collect.plan_and_apply(self.tools, strategy, confirm=True, allow_large=True).id

    def purge_up_to(self, hours: int) -> tuple[str, ...]:
        tools = self.tools
        before = NOW + timedelta(hours=hours)
        return purging.purge(tools.store, before, tools.operation()).receipts

    def seen(self) -> Seen:
        return seen(self._look())

    def facts(self) -> set[tuple[str, str, str]]:
        tables = self.seen().tables
        name = {key: row["name"] for key, row in tables["entity"].items()}
        found = (row for row in tables["relation"].values() if row["trash"] is None)
        return {(name[row["subject"]], row["relation"], name[row["object"]]) for row in found}


LINKS = (Link(0, 2, weight=1.0), Link(1, 2, weight=0.06), Link(0, 1, "owns", weight=0.06))
THINGS = (Thing("A", age_days=900), Thing("B", age_days=900), Thing("C", age_days=900))


@pytest.fixture(params=ENGINES)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def history(kind: str) -> Iterator[StoreHistory]:
    notes = (Note("A and C", stale=True, path="a.py"), Note("B", stale=True, path="b.py"))
    with open_store(kind, StoreSpec(notes, THINGS, LINKS, ((0, 0, 0), (0, 0, 2), (1, 0, 1)))) as (side, look):
        yield StoreHistory(side, look)


@pytest.fixture
def garbage(kind: str, strategy: str) -> Iterator[StoreHistory]:
    """Nothing holds the three; or, for orphans, nothing but each other holds the two that become one."""
    links = LINKS[2:] if strategy == "orphaned_entities" else LINKS
    with open_store(kind, StoreSpec((Note("nothing of it"),), THINGS, links)) as (side, look):
        yield StoreHistory(side, look)


@pytest.mark.parametrize("strategy", ["unreachable_entities", "orphaned_entities", "decayed", "all"])
def test_an_ordinary_prune_of_what_was_merged_is_undone_whole(garbage: StoreHistory, strategy: str) -> None:
    before = state(garbage.seen())
    merged = garbage.merge("B", "A")
    between = state(garbage.seen())
    pruned = garbage.prune(strategy)
    assert state(garbage.seen()) != between
    assert collect.undo(garbage.tools, pruned).conflicts == ()
    assert state(garbage.seen()) == between
    collect.undo(garbage.tools, merged)
    assert state(garbage.seen()) == before


def test_a_merge_that_was_purged_is_final_for_what_a_clear_still_holds(history: StoreHistory) -> None:
    merged = history.merge("B", "A")
    at = history.hours
    cleared = collect.clear(history.tools, collect.CLEAR_PHRASE).id
    assert history.purge_up_to(at) == (merged,)
    assert collect.undo(history.tools, cleared).conflicts == ()
    assert history.facts() == {("A", "knows", "C")}
    assert history.side.store.keeper.examine() == []


def test_what_a_merge_put_away_is_there_though_the_entity_it_was_merged_into_was_freed(history: StoreHistory) -> None:
    """Its last fact was pruned by a clock that went back, and purged: only so the entity can go before the merge."""
    collect.pin(history.tools, "ent_000000000003", True)
    history.hours = 20
    merged = history.merge("B", "A")
    history.hours = 10
    pruned = collect.plan_and_apply(
        history.tools, "decayed", confirm=True, allow_large=True, fading=Fading(edge_threshold=1.0, max_age_days=0.0)
    )
    assert pruned.totals.relations == 1
    assert history.purge_up_to(15) == (pruned.id,)
    history.hours = 30
    for memory in sorted(history.seen().tables["memory"]):
        collect.delete(history.tools, memory, confirm=True, forever=True)
    assert history.side.store.keeper.examine() == []
    collect.undo(history.tools, merged)
    assert history.side.store.keeper.examine() == []
    assert history.facts() == {("B", "knows", "C")}


def test_merges_into_what_a_final_merge_took_lead_to_what_that_kept(history: StoreHistory) -> None:
    """The clock went back between them, so the later merge is purged first."""
    first = history.merge("B", "A")
    history.hours = -10
    second = history.merge("A", "C")
    assert history.purge_up_to(-5) == (second,)
    history.hours = 10
    assert history.side.store.keeper.examine() == []
    collect.undo(history.tools, first)
    assert history.side.store.keeper.examine() == []
    assert ("B", "knows", "C") in history.facts()
    mentions = history.seen().tables["mention"]
    assert {entity for _, entity in mentions} == {"ent_000000000002", "ent_000000000003"}


def test_a_fact_between_two_that_are_one_for_good_does_not_return(history: StoreHistory) -> None:
    """The clock went back, so the merge is purged before the prune that holds the fact."""
    history.hours = 20
    pruned = history.prune("decayed")
    assert history.facts() == {("A", "knows", "C")}
    history.hours = 10
    merged = history.merge("B", "A")
    assert history.purge_up_to(15) == (merged,)
    history.hours = 30
    with pytest.raises(Conflict, match="the same relation exists again"):
        collect.undo(history.tools, pruned)
    assert history.facts() == {("A", "knows", "C")}
    assert history.side.store.keeper.examine() == []


def test_a_superseded_fact_and_what_replaced_it_return_through_a_merge(history: StoreHistory) -> None:
    draft = RelationDraft("B", "knows", NamedThing("D"), replaces=True)
    graph.relate(history.graphing, GraphBatch((), (draft,)))
    before = state(history.seen())
    merged = history.merge("B", "A")
    cleared = collect.clear(history.tools, collect.CLEAR_PHRASE).id
    collect.undo(history.tools, cleared)
    collect.undo(history.tools, merged)
    assert state(history.seen()) == before
