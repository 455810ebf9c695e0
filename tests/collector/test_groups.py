"""A plan by cause: a file with what only it mentions is one group, by folder; previews save nothing; plans compared."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memsweep.app import Memory
from memsweep.collector import collect, review
from memsweep.collector.selection import narrow
from memsweep.errors import BadInput
from memsweep.model.plan import Folder
from tests.collector.random_stores import random_stores
from tests.collector.stores import Link, Note, StoreSpec, Thing, store_with
from tests.support.counts import rounds
from tests.support.engines import on_every_engine

FOLDERS = StoreSpec(
    notes=(
        Note("z", path="z.py", stale=True),
        Note("b", path="src/b.py", stale=True, chunks=3),
        Note("a", path="src/a.py", stale=True, chunks=2),
        Note("long ago", expires_days=-1),
    ),
    things=(Thing("f"), Thing("g"), Thing("behind g"), Thing("of both")),
    links=(Link(1, 2),),
    mentions=((1, 0, 0), (1, 0, 1), (1, 0, 3), (2, 0, 3)),
)


def test_files_are_sorted_by_folder_and_what_follows_is_with_the_first_that_causes_it() -> None:
    with store_with(FOLDERS) as place:
        plan = collect.plan(place.tools(), "stale_code")
        found = review.groups(place.tools(), plan.id, 0, 10, 2)
        assert [(group.folder, group.root.relative_path, group.followers) for group in found.groups] == [
            ("", "z.py", 0),
            ("src", "src/a.py", 0),
            ("src", "src/b.py", 4),
        ]
        assert [view.name for view in found.groups[2].first] == ["f", "g"], "some of them"
        assert found.folders == (Folder("/repository/0", "", 1, 1, 0), Folder("/repository/0", "src", 2, 5, 4))
        pages = [review.groups(place.tools(), plan.id, n, 1, 2).groups[0] for n in range(3)]
        assert tuple(pages) == found.groups
        assert found.total == 3


@given(random_stores(), st.sampled_from(["all", "stale_code", "expired"]))
@settings(max_examples=rounds(12, 80))
def test_every_item_is_in_one_group_and_who_spares_a_root_spares_what_follows(spec: StoreSpec, strategy: str) -> None:
    with store_with(spec) as place:
        plan = collect.plan(place.tools(), strategy, 5.0)
        items = {item.id for item in collect.plan_items(place.tools(), plan.id, 0, 1000)}
        found = review.groups(place.tools(), plan.id, 0, 1000, 1000)
        members = [view.id for group in found.groups for view in (group.root, *group.first)]
        assert sorted(members) == sorted(items)
        assert sum(1 + group.followers for group in found.groups) == plan.item_count
        for group in found.groups[:3]:
            part = narrow(place.tools(), plan.id, [group.root.id])
            left = {item.id for item in collect.plan_items(place.tools(), part.id, 0, 1000)}
            assert left.isdisjoint(view.id for view in (group.root, *group.first))


def test_previews_of_several_strategies_are_their_plans_and_save_nothing() -> None:
    strategies = ("stale_code", "expired", "unreachable_entities", "decayed", "superseded", "all")
    with store_with(FOLDERS) as place:
        before = place.memory.revision(), place.memory.sweep.audit()
        shown = review.previews(place.tools(), strategies, 2)
        assert (place.memory.revision(), place.memory.sweep.audit()) == before
        for preview in shown:
            plan = collect.plan(place.tools(), preview.strategy)
            same = (plan.item_count, plan.warnings, plan.share, plan.workspace_memories)
            said = (preview.item_count, preview.warnings, preview.share, preview.workspace_memories)
            assert said == same, preview.strategy
            assert preview.totals.memories == plan.totals.memories
        stale = shown[0]
        assert [(group.root.relative_path, group.followers) for group in stale.groups] == [("z.py", 0), ("src/b.py", 4)]
        assert shown[1].groups[0].root.name == "long ago"
        for wrong in ("origin", "nonsense"):
            with pytest.raises(BadInput):
                review.previews(place.tools(), [wrong], 2)


def test_where_nothing_can_be_planned_the_preview_says_why() -> None:
    with store_with(StoreSpec(things=tuple(Thing(f"t{n}") for n in range(30)))) as place:
        stale, orphaned = review.previews(place.tools(), ["stale_code", "orphaned_entities"], 2)
        assert (stale.problem, orphaned.item_count) == ("", 0)
        assert orphaned.problem.startswith("none of the 30 entities has a root")


@on_every_engine
def test_both_texts_of_a_duplicate_and_a_secret_before_and_after(memory: Memory) -> None:
    for thread in ("a", "b"):
        memory.remember("The demo is on Friday at noon.", thread_id=thread)
    (group,) = memory.sweep.groups(memory.sweep.plan("duplicates").id).groups
    assert group.root.beside is not None
    assert group.root.beside.text == group.root.beside.kept_text == "The demo is on Friday at noon."


def test_a_secret_is_dots_before_and_a_mark_after() -> None:
    key = "AKIA" + "QRSTUVWX23456YZ2"
    with store_with(StoreSpec(notes=(Note(f"{'word ' * 60}the key is {key} and more"),))) as place:
        (group,) = review.groups(place.tools(), collect.plan(place.tools(), "secrets").id, 0, 10, 2).groups
        beside = group.root.beside
        assert beside is not None
        assert "the key is •••••••• and more" in beside.text
        assert "the key is [secret: aws-access-key] and more" in beside.kept_text
        assert key not in repr(group)


@on_every_engine
def test_the_difference_of_two_plans(memory: Memory) -> None:
    one, two = (memory.remember(f"note {n}", expires_at="2020-01-01").memory_id for n in range(2))
    earlier = memory.sweep.plan("expired")
    memory.pin(one)
    three = memory.remember("note 3", expires_at="2020-01-01").memory_id
    later = memory.sweep.plan("expired")
    told = memory.sweep.compare(earlier.id, later.id)
    assert [view.id for view in told.added] == [three]
    assert [view.id for view in told.gone] == [one]
    assert (told.added_count, told.gone_count, told.same_count) == (1, 1, 1)
    assert memory.sweep.compare(earlier.id, earlier.id).same_count == 2
    assert memory.sweep.groups(later.id).total == 2
    assert {group.root.id for group in memory.sweep.preview("expired")[0].groups} == {two, three}
