"""Background collection never takes more than half of a workspace unless a person allows it, once."""

import shlex
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from memsweep.app import App
from memsweep.collector import collect, planner
from memsweep.collector.planner import CAP_FROM, KINDS
from memsweep.errors import Conflict, StoreBusy
from memsweep.model.plan import Kind, Totals
from memsweep.schedule import chore as chores
from memsweep.schedule.background import Background
from memsweep.schedule.chore import Chore, objection, run_chore
from memsweep.services.access import collector, sync_access
from tests.collector.random_stores import random_stores
from tests.collector.stores import NOW, Note, StoreSpec, Thing, live, store_with
from tests.support.commands import Ran
from tests.support.counts import rounds
from tests.support.engines import on_every_engine

LONG_AGO = NOW - timedelta(days=4000)
Make = Callable[..., App]
settings_of_law = hypothesis_settings(max_examples=rounds(12, 60))


def settings(*strategies: str, **more: str) -> dict[str, str]:
    return {
        "MEMSWEEP_SCHEDULE_ENABLED": "true",
        "MEMSWEEP_SCHEDULE_STRATEGIES": ",".join(strategies),
        **{f"MEMSWEEP_SCHEDULE_{name}": value for name, value in more.items()},
    }


def fill(app: App, expired: int, kept: int, workspace: str = "") -> None:
    for number in range(expired):
        app.memory(workspace).remember(f"expired {number}", expires_at=NOW - timedelta(days=1))
    for number in range(kept):
        app.memory(workspace).remember(f"kept {number}")


def outcome_of(app: App, **allowed: Any) -> dict[str, Any]:
    done = Background(app, lambda: NOW).run(**allowed)
    assert done is not None
    (outcome,) = done["outcomes"]
    return outcome  # type: ignore[no-any-return]


def removed(outcome: dict[str, Any]) -> dict[Kind, int]:
    return {
        "memory": outcome["deleted_memories"],
        "entity": outcome["deleted_entities"],
        "relation": outcome["deleted_relations"],
    }


@on_every_engine
def test_a_run_that_would_take_more_than_half_moves_nothing_and_says_what_it_found(
    make: Make, engine_kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chores, "_STEP", 7)  # many steps, each of them small
    app = make(**settings("expired"))
    fill(app, 29, 1)
    for _ in range(2):  # it is not worn down by trying again
        outcome = outcome_of(app)
        assert removed(outcome) == dict.fromkeys(KINDS, 0)
        assert outcome["receipts"] == []
        assert outcome["memories_after"] == app.memory().stats().total_memories == 30
        assert "29 of 30 memories (97% of the workspace, more than 50%)" in outcome["stopped"]
        assert "It found 29 memories" in outcome["stopped"]
    assert app.memory().sweep.trash()[1] == 0


@on_every_engine
def test_half_may_go_in_any_number_of_steps(make: Make, engine_kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chores, "_STEP", 4)
    app = make(**settings("expired"))
    fill(app, 15, 15)
    outcome = outcome_of(app)
    assert (outcome["deleted_memories"], outcome["stopped"], outcome["memories_after"]) == (15, "", 15)
    assert len(outcome["receipts"]) == 4


@on_every_engine
def test_the_share_is_that_of_all_strategies_together(make: Make, engine_kind: str) -> None:
    app = make(**settings("expired", "duplicates"))
    fill(app, 10, 8)
    for number in range(12):
        app.memory().remember("the very same words", thread_id=f"t{number}")
    outcome = outcome_of(app)
    assert removed(outcome)["memory"] == 0
    assert "21 of 30 memories (70% of the workspace" in outcome["stopped"]
    assert "`memsweep prune --workspace default --strategy expired`" in outcome["stopped"]
    assert "`memsweep prune --workspace default --strategy duplicates`" in outcome["stopped"]


@on_every_engine
def test_entities_and_relations_are_counted_too(make: Make, engine_kind: str) -> None:
    app = make(**settings("decayed"))
    app.clock = lambda: LONG_AGO
    app.memory().graph.relate_many(
        {
            "entities": [{"name": f"{side}{n}", "type": "Concept"} for n in range(30) for side in "AB"],
            "relations": [{"from": f"A{n}", "relation": "KNOWS", "to": f"B{n}"} for n in range(30)],
        }
    )
    app.clock = lambda: NOW
    outcome = outcome_of(app)
    assert removed(outcome) == dict.fromkeys(KINDS, 0)
    assert "60 of 60 entities (100% of the workspace" in outcome["stopped"]
    stats = app.memory().stats()
    assert (stats.total_entities, stats.total_relations) == (60, 30)
    done = outcome_of(app, allow_large=True)
    assert (removed(done)["entity"], done["stopped"]) == (60, "")


def test_entities_that_only_the_cascade_takes_are_counted_too() -> None:
    """40 of 100 memories, but 30 of 40 entities go with them."""
    notes = tuple(Note(f"n{n}", expires_days=-1 if n < 40 else None) for n in range(100))
    things = tuple(Thing(f"thing {n}") for n in range(40))
    mentions = tuple((n, 0, n) for n in range(30)) + tuple((50 + n, 0, 30 + n) for n in range(10))
    with store_with(StoreSpec(notes=notes, things=things, mentions=mentions)) as place:
        before = live(place.file)
        outcome = run_chore(place.tools(), Chore(("expired",), None, None), None)
        assert "30 of 40 entities (75% of the workspace" in outcome.stopped
        assert live(place.file) == before


# The way out


def hints(sentence: str) -> list[list[str]]:
    return [shlex.split(each)[1:] for each in sentence.split("`")[1::2] if each.startswith("memsweep ")]


@pytest.mark.parametrize("workspace", ["default", "a-1_x"])
def test_what_the_message_offers_works_as_printed(
    make: Make, run: Callable[..., Ran], workspace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = settings("expired", TTL_DAYS="1000")
    for name, value in chosen.items():
        monkeypatch.setenv(name, value)
    fill(make(**chosen), 29, 1, workspace)
    said = run("schedule", "run").out
    assert "moved 0 memories and 0 entities to the trash" in said
    look, allow = hints(said)
    assert run(*look, "--json").json["nodes_to_delete"] == 29
    assert "moved 29 memories" in run(*allow).out
    shown = run("schedule", "run").out
    assert "stopped" not in shown, "the next run goes on from there"
    assert run("schedule", "run", "-w", "nowhere").status == 3


@on_every_engine
def test_a_workspace_that_shrank_is_left_alone_until_a_person_allows_it(make: Make, engine_kind: str) -> None:
    app = make(**settings("expired"))
    fill(app, 0, 40)
    assert outcome_of(app)["memories_after"] == 40
    app.memory().sweep.clear("DELETE ALL MEMORIES")
    fill(app, 3, 7)
    for _ in range(2):
        outcome = outcome_of(app)
        assert outcome["memories_after"] == 10, "what is there"
        assert "it has 10 memories and had 40 after the last run; nothing was collected." in outcome["stopped"]
        assert "`memsweep schedule run --workspace default --allow-large`" in outcome["stopped"]
    allowed = outcome_of(app, workspace_id="default", allow_large=True)
    assert (allowed["deleted_memories"], allowed["memories_after"], allowed["stopped"]) == (3, 7, "")
    assert outcome_of(app)["stopped"] == ""


def test_what_others_removed_since_the_last_run_counts(make: Make) -> None:
    app = make(**settings("expired"))
    app.clock = lambda: NOW
    fill(app, 0, 34)
    for number in range(6):
        app.memory().remember(f"soon {number}", expires_at=NOW + timedelta(days=1))
    assert outcome_of(app)["memories_after"] == 40
    for hit in app.memory().search("kept", limit=16).hits:
        app.memory().delete(hit.passage.memory_id, confirm=True)
    done = Background(app, lambda: NOW + timedelta(days=2)).run()
    assert done is not None
    (outcome,) = done["outcomes"]
    assert outcome["deleted_memories"] == 0
    assert "it would remove 6 of 24 memories, of 40 that it had after the last run" in outcome["stopped"]


def test_why_it_stopped_is_in_the_statistics(make: Make, home: Path) -> None:
    app = make(**settings("expired"))
    fill(app, 29, 1)
    fill(app, 1, 9, "fine")
    background = Background(app, lambda: NOW)
    background.run()
    assert "29 of 30 memories" in (background.times("default") or {})["stopped"]
    assert "stopped" not in (background.times("fine") or {})


def test_what_was_moved_before_an_error_is_reported(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lock that cannot be had in time ends a run in the middle; its first steps have receipts."""
    monkeypatch.setattr(chores, "_STEP", 5)
    app = make(**settings("expired"))
    fill(app, 12, 20)
    tools = collector(sync_access(app, "default"), "schedule")
    moments = iter([NOW] * 6)  # for the look and a step; then the clock fails

    def clock() -> datetime:
        try:
            return next(moments)
        except StopIteration:
            raise StoreBusy("another process holds the lock.") from None

    outcome = run_chore(replace(tools, clock=clock), Chore(("expired",), None, None), None)
    assert "another process holds the lock." in outcome.stopped
    assert 0 < outcome.totals.memories < 12
    assert len(outcome.receipts) * 5 == outcome.totals.memories
    for receipt in outcome.receipts:
        app.memory().sweep.undo(receipt)
    assert app.memory().stats().total_memories == 32


# The laws


SMALL = 2  # random stores are small, and the cap must hold in them, too


@settings_of_law
@given(random_stores(), st.integers(1, 3), st.booleans())
def test_no_run_takes_more_than_half_or_anything_it_did_not_foresee(
    spec: StoreSpec, step: int, everything: bool
) -> None:
    strategies = ("expired", "stale_code", "duplicates", "unreachable_entities", "superseded", "decayed")
    chosen = strategies if everything else strategies[step : step + 2]
    with store_with(spec) as place, pytest.MonkeyPatch.context() as patch:
        patch.setattr(chores, "_STEP", step)
        patch.setattr(chores, "CAP_FROM", SMALL)
        patch.setattr(planner, "CAP_FROM", SMALL)
        before = live(place.file)
        try:
            outlook = collect.look_ahead(place.tools(), chosen, None)
        except Conflict:  # nothing has a root
            assert live(place.file) == before
            return
        outcome = run_chore(place.tools(), Chore(chosen, None, None), None)
        if outcome.stopped:
            assert live(place.file) == before
            return
        taken = {"memory": outcome.totals.memories, "entity": outcome.totals.entities}
        taken["relation"] = outcome.totals.relations
        for kind, count in taken.items():
            there = len(before[kind])
            assert count <= there // 2 or there < SMALL
        assert outcome.totals.memories <= outlook.going.memories
        assert outcome.totals.entities <= outlook.going.entities


@given(
    there=st.fixed_dictionaries({kind: st.integers(0, 100) for kind in KINDS}),
    shares=st.tuples(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1)),
    expected=st.none() | st.integers(0, 200),
)
def test_a_run_may_begin_exactly_while_it_leaves_half_of_everything(
    there: dict[Kind, int], shares: tuple[float, ...], expected: int | None
) -> None:
    going = {kind: round(share * there[kind]) for kind, share in zip(KINDS, shares, strict=True)}
    totals = Totals(going["memory"], 0, going["entity"], going["relation"])
    outlook = collect.Outlook(going=totals, there=there, named_by={"expired": 1})
    said = objection("w", Chore(("expired",), None, None), outlook, expected)
    too_much = any(there[kind] >= CAP_FROM and going[kind] * 2 > there[kind] for kind in KINDS)
    shrunken = (expected or 0) >= CAP_FROM and (there["memory"] - going["memory"]) * 2 < (expected or 0)
    assert bool(said) == (too_much or shrunken)
