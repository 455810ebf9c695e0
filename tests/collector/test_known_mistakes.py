"""Mistakes that a collector is prone to, each shown not to happen here."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from memsweep import clock
from memsweep.app import App, Memory
from memsweep.collector import collect
from memsweep.errors import StoreBusy
from memsweep.model.plan import Totals
from tests.collector.stores import Link, Note, StoreSpec, Thing, broken, dump, live, set_stale, store_with, write_rows
from tests.support import contents, store_files


def test_what_is_deleted_is_what_was_shown_not_what_the_rule_finds_by_then() -> None:
    with store_with(StoreSpec(notes=(Note("a", path="a.py", stale=True), Note("b", path="b.py")))) as place:
        plan = collect.plan(place.tools(), "stale_code")
        shown = [view.relative_path for view in collect.plan_items(place.tools(), plan.id, 0, 10)]
        set_stale(place.file, 2)
        receipt = collect.apply(place.tools(), plan.id, confirm=True)
        assert (shown, receipt.totals.memories) == (["a.py"], 1)
        assert [each.path for each in contents.listed(place.memory)] == ["b.py"]


def test_a_wrong_prune_is_not_final(memory: Memory, home: Path, tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    repo.mkdir()
    for name in ("a", "b", "c"):
        (repo / f"{name}.py").write_text(f"class {name.upper()}:\n    def run(self):\n        return helper_{name}()\n")
    memory.remember("Ada Lovelace keeps the keys", tags=["people"], entities=["Ada Lovelace"], thread_id="talk")
    memory.code.index(repo)
    for name in ("a", "b"):
        (repo / f"{name}.py").unlink()
    memory.code.index(repo)
    file = store_files.file_of(home)
    before, seen, hits = dump(file), live(file), memory.search("class run helper", limit=50).hits
    receipt = memory.sweep.prune("stale_code", confirm=True)
    assert receipt.totals.memories == 2
    left = memory.search("class run helper", limit=50, filters={"include_stale": True}).hits
    assert {hit.passage.code.path for hit in left if hit.passage.code} == {"c.py"}
    assert memory.sweep.undo(receipt.id).totals == receipt.totals
    assert dump(file) == before
    assert live(file) == seen
    assert memory.search("class run helper", limit=50).hits == hits
    assert store_files.problems(file) == []


@pytest.mark.parametrize("length", [1, 2, 3, 50])
def test_a_dead_cycle_is_collected_however_long(length: int) -> None:
    ring = tuple(Link(n, (n + 1) % length) for n in range(length))
    spec = StoreSpec(
        notes=(Note("n"),),
        things=(*(Thing(f"Dead {n}") for n in range(length)), Thing("Alive")),
        links=ring,
        mentions=((0, 0, length),),
    )
    with store_with(spec) as place:
        assert collect.plan(place.tools(), "orphaned_entities").item_count == 0, "it has relations"
        receipt = collect.plan_and_apply(place.tools(), "unreachable_entities", confirm=True)
        assert receipt.totals == Totals(entities=length, relations=length)
        assert place.names() == ["Alive"]


def test_what_is_deeper_than_ten_hops_lives() -> None:
    depth = 60
    spec = StoreSpec(
        notes=(Note("n"),),
        things=tuple(Thing(f"Step {n}") for n in range(depth)),
        links=tuple(Link(n, n + 1) for n in range(depth - 1)),
        mentions=((0, 0, 0),),
    )
    with store_with(spec) as place:
        assert collect.plan(place.tools(), "all").item_count == 0


def test_a_relation_without_a_weight_protects() -> None:
    spec = StoreSpec(
        notes=(Note("n"),),
        things=(Thing("Known"), Thing("Unweighted")),
        links=(Link(0, 1, weight=None),),
        mentions=((0, 0, 0),),
    )
    with store_with(spec) as place:
        assert collect.plan(place.tools(), "all").item_count == 0


def test_the_plan_already_holds_what_the_removal_of_relations_will_orphan() -> None:
    """Only the stale file says that f calls g; g is joined to what lives by nothing else."""
    spec = StoreSpec(
        notes=(Note("def f(): g()", path="f.py", stale=True), Note("def h(): pass", path="h.py")),
        things=(Thing("f"), Thing("g"), Thing("h")),
        links=(Link(0, 1, "calls", sources=(0,)), Link(1, 2, "near", sources=(0,))),
        mentions=((0, 0, 0), (1, 0, 2)),
    )
    with store_with(spec) as place:
        plan = collect.plan(place.tools(), "stale_code")
        assert plan.totals == Totals(memories=1, chunks=1, entities=2, relations=2)
        receipt = collect.apply(place.tools(), plan.id, confirm=True)
        assert receipt.totals == plan.totals
        assert place.names() == ["h"]
        assert collect.plan(place.tools(), "all").item_count == 0, "nothing waits for the next run"
        assert broken(place.file) == []


def test_what_the_settings_say_applies_when_a_call_says_nothing(make: Callable[..., App], home: Path) -> None:
    app = make(MEMSWEEP_GC_GRACE_DAYS="7", MEMSWEEP_GC_PLAN_HOURS="2", MEMSWEEP_GC_APPLY_SECONDS="0")
    app.create_workspace("default")
    write_rows(
        store_files.file_of(home), StoreSpec(notes=(Note("a", path="a.py", stale=True, age_days=1),)), clock.now()
    )
    plan = app.memory().sweep.plan()
    assert plan.expires_at - plan.created_at == timedelta(hours=2)
    assert [item["reason"] for item in plan.protected] == ["within the grace period"]
    with pytest.raises(StoreBusy, match="took longer than 0 s"):
        app.memory().sweep.prune(confirm=True)
