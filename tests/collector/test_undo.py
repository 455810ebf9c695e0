"""Undoing after the world went on: what exists again is left alone and named, and nothing is lost by that."""

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memsweep.collector import collect
from memsweep.errors import Conflict
from memsweep.model.plan import Totals
from tests.collector.oracle import Rows, rows_of
from tests.collector.random_stores import random_stores
from tests.collector.stores import (
    Link,
    Note,
    StoreSpec,
    Thing,
    broken,
    dump,
    store_with,
    trash_of,
    untrash_entity,
    write_rows,
)
from tests.support import contents
from tests.support.counts import rounds
from tests.support.inside import dump_of


def again(spec: StoreSpec, notes: Iterable[int], things: Iterable[int], links: Iterable[int]) -> StoreSpec:
    """The same texts, names and facts once more, as somebody else would write them."""
    notes, things = sorted(notes), sorted(things)
    place_of = {old: new for new, old in enumerate(things)}
    return StoreSpec(
        notes=tuple(spec.notes[n] for n in notes),
        things=tuple(spec.things[n] for n in things),
        links=tuple(
            Link(place_of[link.subject], place_of[link.object], link.relation, link.explicit)
            for link in (spec.links[n] for n in links)
            if link.subject in place_of and link.object in place_of
        ),
        mentions=tuple(
            (notes.index(note), chunk, place_of[thing])
            for note, chunk, thing in spec.mentions
            if note in notes and thing in place_of
        ),
    )


def names(rows: Rows) -> dict[int, tuple[str, str]]:
    return {key: (row["name_key"], row["type_key"]) for key, row in rows.entities.items()}


def facts(rows: Rows, keys: Iterable[int]) -> dict[tuple[Any, ...], int]:
    known = names(rows)
    return {
        (known[row["subject"]], row["relation_key"], known[row["object"]]): key
        for key, row in rows.relations.items()
        if key in set(keys)
    }


@pytest.mark.slow
@given(
    random_stores(),
    st.sampled_from(["clear", "all", "expired"]),
    st.sets(st.integers(0, 5)),
    st.sets(st.integers(0, 8)),
)
@settings(max_examples=rounds(20, 100))
def test_what_exists_again_is_named_and_what_hung_on_it_goes_to_the_new_one(
    spec: StoreSpec, act: str, notes: set[int], things: set[int]
) -> None:
    with store_with(spec) as place:
        rows = rows_of(place.file)
        receipt = (
            collect.clear(place.tools(), collect.CLEAR_PHRASE)
            if act == "clear"
            else collect.plan_and_apply(place.tools(), act, confirm=True, ttl_days=5.0)
        )
        gone = trash_of(place.file, receipt.id)
        remade_notes = {n for n in notes if n + 1 in gone["memory"]}
        remade_things = {n for n in things if n + 1 in gone["entity"]}
        write_rows(place.file, again(spec, remade_notes, remade_things, range(len(spec.links))))
        before = rows_of(place.file)
        try:
            conflicts = dict(collect.undo(place.tools(), receipt.id).conflicts)
        except Conflict:
            assert rows_of(place.file) == before, "where nothing can come back, nothing is changed"
            return
        assert broken(place.file) == []
        after = rows_of(place.file)

        for key in gone["memory"]:
            back = key in after.memories
            assert back == (rows.memories[key]["uid"] not in conflicts)
            assert back == (key - 1 not in remade_notes)
        for key in gone["entity"]:
            assert (key in after.entities) == (rows.entities[key]["uid"] not in conflicts)
            assert names(rows)[key] in names(after).values(), "the name is there, under one id or another"
        known = names(after)
        mentioned = {(memory, known[entity]) for memory, entity in after.mentions}
        for memory, entity in rows.mentions:
            if memory in after.memories:
                assert (memory, names(rows)[entity]) in mentioned
        there = facts(after, after.relations)
        for fact, key in facts(rows, gone["relation"]).items():
            row = rows.relations[key]
            unstated = not row["handed_in"] and rows.sources.get(key) and not rows.sources[key] & after.memories.keys()
            assert fact in there or row["uid"] in conflicts or unstated


def test_a_text_that_was_added_again() -> None:
    with store_with(StoreSpec(notes=(Note("remember the milk", tags=("red",)),))) as place:
        receipt = collect.delete(place.tools(), "mem_000000000001", confirm=True)
        write_rows(place.file, StoreSpec(notes=(Note("remember the milk"),)))
        with pytest.raises(Conflict, match="of mem_000000000001, the same text was added again as mem_000000000002"):
            collect.undo(place.tools(), receipt.id)
        collect.delete(place.tools(), "mem_000000000002", confirm=True)
        assert collect.undo(place.tools(), receipt.id).totals.memories == 1
        (only,) = contents.listed(place.memory)
        assert (only.id, only.tags) == ("mem_000000000001", ("red",))


def test_the_same_text_in_another_thread_is_no_conflict() -> None:
    with store_with(StoreSpec(notes=(Note("yes", thread="a"),))) as place:
        receipt = collect.delete(place.tools(), "mem_000000000001", confirm=True)
        write_rows(place.file, StoreSpec(notes=(Note("yes", thread="b"),)))
        assert collect.undo(place.tools(), receipt.id).conflicts == ()
        assert len(rows_of(place.file).memories) == 2


def test_a_file_that_was_indexed_again_keeps_its_new_memory() -> None:
    spec = StoreSpec(
        notes=(Note("def old(): pass", path="a.py", stale=True), Note("def b(): pass", path="b.py", stale=True))
    )
    with store_with(spec) as place:
        receipt = collect.plan_and_apply(place.tools(), "stale_code", confirm=True)
        write_rows(place.file, StoreSpec(notes=(Note("def new(): pass", path="a.py"),)))
        undone = collect.undo(place.tools(), receipt.id)
        assert undone.conflicts == (("mem_000000000001", "its file was indexed again as mem_000000000003"),)
        assert undone.totals.memories == 1
        assert [item.id for item in place.memory.sweep.trash()[0]] == ["mem_000000000001"]
        assert broken(place.file) == []


def test_the_same_file_name_in_another_root_is_no_conflict() -> None:
    with store_with(StoreSpec(notes=(Note("one", path="a.py", root=0, stale=True),))) as place:
        receipt = collect.plan_and_apply(place.tools(), "stale_code", confirm=True)
        write_rows(place.file, StoreSpec(notes=(Note("two", path="a.py", root=1),)))
        assert collect.undo(place.tools(), receipt.id).conflicts == ()


MEETING = StoreSpec(
    notes=(Note("Ada met Bob"),),
    things=(Thing("Ada"), Thing("Bob"), Thing("Carol")),
    links=(Link(0, 1, "met", sources=(0,)), Link(1, 2, "likes")),
    mentions=((0, 0, 0), (0, 0, 1)),
)


def test_an_entity_that_was_made_again_takes_over_mentions_and_relations() -> None:
    with store_with(MEETING) as place:
        receipt = collect.delete(place.tools(), "mem_000000000001", confirm=True)
        assert receipt.totals == Totals(1, 1, 3, 2)
        write_rows(place.file, StoreSpec(things=(Thing("Bob"),)))
        undone = collect.undo(place.tools(), receipt.id)
        said = "it exists again as ent_000000000004, which has its mentions and relations now"
        assert undone.conflicts == (("ent_000000000002", said),)
        assert undone.totals == Totals(1, 1, 2, 2)
        assert {each.name for each in place.memory.get("mem_000000000001").entities} == {"Ada", "Bob"}
        ada, bob, carol = (f"ent_{number:012}" for number in (1, 4, 3))
        graph = dump_of(place.memory)
        assert {each.id for each in graph.entities} == {ada, bob, carol}
        assert {(fact.source, fact.target) for fact in graph.relations} == {(ada, bob), (bob, carol)}


def test_a_name_made_again_by_rule_stays_handed_in_if_it_was() -> None:
    with store_with(StoreSpec(things=(Thing("Ada", explicit=True),))) as place:
        receipt = collect.clear(place.tools(), collect.CLEAR_PHRASE)
        write_rows(place.file, StoreSpec(things=(Thing("Ada"),)))
        collect.undo(place.tools(), receipt.id)
        (only,) = dump_of(place.memory).entities
        assert only.handed_in
        assert collect.plan(place.tools(), "unreachable_entities").item_count == 0


def test_a_relation_that_was_made_again_stays_as_it_is_now() -> None:
    with store_with(MEETING) as place:
        receipt = collect.delete(place.tools(), "mem_000000000001", confirm=True)
        write_rows(place.file, StoreSpec(things=(Thing("Ada"), Thing("Bob")), links=(Link(0, 1, "met", weight=0.5),)))
        undone = collect.undo(place.tools(), receipt.id)
        assert ("rel_000000000001", "the same relation exists again") in undone.conflicts
        assert contents.facts(place.memory)["Ada", "met", "Bob"] == 0.5
        assert broken(place.file) == []


def test_a_relation_waits_for_an_end_that_a_later_receipt_holds() -> None:
    """Between two people whom nothing mentions; first the fact goes by a clear, then they come and go again."""
    spec = StoreSpec(
        notes=(Note("Ada met Bob"),), things=(Thing("Ada"), Thing("Bob")), links=(Link(0, 1),), mentions=((0, 0, 0),)
    )
    with store_with(spec) as place:
        before = dump(place.file)
        first = collect.delete(place.tools(), "mem_000000000001", confirm=True)
        untrash_entity(place.file, 2)
        second = collect.plan_and_apply(place.tools(), "unreachable_entities", confirm=True)
        undone = collect.undo(place.tools(), first.id)
        assert undone.conflicts == (
            ("rel_000000000001", f"an end of it is in the trash; undoing {second.id} brings both back"),
        )
        assert collect.undo(place.tools(), second.id).totals == Totals(entities=1, relations=1)
        assert dump(place.file) == before


def test_what_a_recovered_memory_states_comes_with_it() -> None:
    """An entity at the end of a relation need not be mentioned by any chunk: code calls what it does not define."""
    spec = StoreSpec(
        notes=(Note("def f(): g()", path="f.py", stale=True), Note("def h(): g()", path="h.py", stale=True)),
        things=(Thing("f"), Thing("g"), Thing("h")),
        links=(Link(0, 1, "calls", sources=(0,)), Link(2, 1, "calls", sources=(1,))),
        mentions=((0, 0, 0), (1, 0, 2)),
    )
    with store_with(spec) as place:
        before = dump(place.file)
        receipt = collect.plan_and_apply(place.tools(), "stale_code", confirm=True)
        assert receipt.totals == Totals(2, 2, 3, 2)
        assert collect.recover(place.tools(), "mem_000000000001").totals == Totals(1, 1, 2, 1)
        assert place.names() == ["f", "g"]
        assert collect.undo(place.tools(), receipt.id).totals == Totals(1, 1, 1, 1)
        assert dump(place.file) == before


def test_a_memory_whose_file_was_indexed_again_cannot_be_recovered() -> None:
    with store_with(StoreSpec(notes=(Note("old", path="a.py", stale=True),))) as place:
        collect.plan_and_apply(place.tools(), "stale_code", confirm=True)
        write_rows(place.file, StoreSpec(notes=(Note("new", path="a.py"),)))
        before = dump(place.file)
        words = "mem_000000000001 cannot come back: its file was indexed again as mem_000000000002."
        with pytest.raises(Conflict, match=words):
            collect.recover(place.tools(), "mem_000000000001")
        assert dump(place.file) == before
        assert len(place.memory.sweep.receipts().receipts) == 1, "not even a receipt was left"


def test_forgetting_one_memory_forever_takes_nothing_from_another_in_the_trash() -> None:
    """Both mention Ada; when the first is purged for good, the second can still come back with her."""
    spec = StoreSpec(
        notes=(Note("Ada wrote"), Note("Ada spoke")),
        things=(Thing("Ada"), Thing("Byron")),
        links=(Link(0, 1, "calls", sources=(1,)),),
        mentions=((0, 0, 0), (1, 0, 0)),
    )
    with store_with(spec) as place:
        second = collect.delete(place.tools(), "mem_000000000002", confirm=True)
        collect.delete(place.tools(), "mem_000000000001", confirm=True, forever=True)
        assert place.names() == []
        assert broken(place.file) == []
        assert collect.undo(place.tools(), second.id).totals == Totals(1, 1, 2, 1)
        assert place.names() == ["Ada", "Byron"]
        assert broken(place.file) == []
