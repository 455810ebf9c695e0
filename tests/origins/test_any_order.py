"""Retractions are undone each by itself: what is left is what the acts of those who are not taken back make."""

import re
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memsweep.app import App, Memory, called_by
from memsweep.errors import MemsweepError
from tests.origins.test_memories_of_several import AMENDED, KEY, TEXT, WORSE, retract, said, state, undone
from tests.origins.test_poisoning import EVIL, GOOD, OTHER
from tests.origins.test_retraction_law import (
    NAMES,
    REDACTION,
    SAID,
    SESSIONS,
    UNSAID,
    Act,
    acts,
    do,
    first_of,
    seen,
    taken_back,
    undo_all,
)
from tests.origins.test_retraction_law import undone as undone_now
from tests.support import store_files
from tests.support.counts import rounds
from tests.support.engines import on_every_engine

DELETION, MERGE = "deletion", "merge"
TURNS = st.lists(st.sampled_from(SESSIONS), min_size=2, max_size=7)
"""Whose turn it is to be taken back, or to be given back if they are."""


@pytest.mark.slow
@on_every_engine
def test_any_retractions_undone_in_any_order_leave_what_the_others_make(
    make: Callable[..., App], engine_kind: str, tmp_path: Path
) -> None:
    """As if those alone had been made that stand; a purge loses nothing that is left; undoing them gives all back."""
    app, numbers = make(), count()

    @settings(max_examples=rounds(12 if engine_kind == "sqlite" else 4, 400))
    @given(acts(*SAID), TURNS, st.booleans())
    def law(acts: list[Act], turns: list[str], purged: bool) -> None:
        number = next(numbers)
        memory, other = app.memory(f"w{number}"), app.memory(f"other{number}")
        for each in (memory, other):
            each.remember("There is something.")
            for place, act in enumerate(acts):
                do(each, act, place)
        before = state(memory, tmp_path / f"{number}-before")
        standing = in_turn(memory, turns)
        for session in standing:
            taken_back(other, session)
        left = seen(memory)
        assert left == seen(other)
        assert not memory.care.doctor().findings
        if purged:
            memory.sweep.purge(0, confirm=True)
            assert seen(memory) == left
        else:
            for receipt in standing.values():
                memory.sweep.undo(receipt)
            assert but_for_owners(state(memory, tmp_path / f"{number}-undone")) == but_for_owners(before)
        assert not memory.care.doctor().findings

    law()


ANYBODY = st.lists(st.sampled_from([*SESSIONS, REDACTION, DELETION]), min_size=2, max_size=9)
ANYTHING = st.lists(st.sampled_from([*SESSIONS, REDACTION, DELETION, MERGE]), min_size=2, max_size=9)


@pytest.mark.slow
@on_every_engine
@pytest.mark.parametrize("last_first", [False, True])
def test_whatever_else_is_done_and_undone_between_retractions_all_comes_back(
    make: Callable[..., App], engine_kind: str, tmp_path: Path, last_first: bool
) -> None:
    """Secrets are redacted, memories deleted and, if the last is undone first, things merged; each when its turn comes.

    In another order a merge can leave a mention behind or lose one, if what it was of was taken back meanwhile.
    """
    app, numbers = make(MEMSWEEP_SECRETS_ACTION="off"), count()

    @settings(max_examples=rounds((8 if last_first else 10) if engine_kind == "sqlite" else 3 - last_first, 300))
    @given(acts(*SAID, *UNSAID), ANYTHING if last_first else ANYBODY)
    def law(acts: list[Act], turns: list[str]) -> None:
        number = next(numbers)
        all_comes_back(app.memory(f"w{number}"), acts, turns, tmp_path / str(number), last_first=last_first)

    law()


def all_comes_back(
    memory: Memory, acts: list[Act], turns: list[str], folder: Path, *, last_first: bool = False
) -> None:
    folder.mkdir()
    memory.remember("There is something.")
    for place, act in enumerate(acts):
        do(memory, act, place)
    before = state(memory, folder / "before")
    standing = in_turn(memory, turns, last_first=last_first)
    assert not memory.care.doctor().findings
    if last_first:
        for receipt in reversed(standing.values()):
            memory.sweep.undo(receipt)
    else:
        undo_all(memory, list(standing.values()))
    assert but_for_owners(state(memory, folder / "undone")) == but_for_owners(before)
    assert not memory.care.doctor().findings


def but_for_owners(found: dict[str, Any]) -> dict[str, Any]:
    """Of a mention that several have handed in, the row names one of them: who that is depends on the order."""
    return found | {"mention": [re.sub(r"'origin': \w+", "", row) for row in found["mention"]]}


def in_turn(memory: Memory, turns: list[str], *, last_first: bool = False) -> dict[str, str]:
    """The receipts of what stands in the end, in the order in which it was done."""
    standing: dict[str, str] = {}
    for turn in turns:
        if turn not in standing:
            if (receipt := done(memory, turn)) is not None:
                standing[turn] = receipt
        elif last_first and turn != [*standing][-1]:
            continue
        elif undone_now(memory, standing[turn]):
            del standing[turn]
    return standing


def done(memory: Memory, turn: str) -> str | None:
    with suppress(MemsweepError):
        if turn == DELETION:
            return memory.delete(first_of(memory, 0)[0], confirm=True).id
        if turn == MERGE:
            return memory.graph.merge([NAMES[0]], NAMES[1]).receipt_id
        return taken_back(memory, turn)
    return None


@on_every_engine
def test_a_merge_is_undone_after_a_redaction_that_came_before_it(make: Callable[..., App], tmp_path: Path) -> None:
    """Its undo gives the memory new chunks, and the merge knows its mentions by theirs."""
    memory = make(MEMSWEEP_SECRETS_ACTION="off").memory()
    said(memory, GOOD, f"The key is {KEY}.", entities=["Quay"])
    said(memory, GOOD, entities=["Shop"])
    before = state(memory, tmp_path / "1")
    redaction, merge = memory.sweep.prune("secrets", confirm=True).id, memory.graph.merge(["Quay"], "Shop").receipt_id
    memory.sweep.undo(redaction)
    assert merge is not None
    undone(memory, merge, before, tmp_path / "2")


@on_every_engine
def test_a_merge_and_a_split_that_are_undone_leave_every_mention_whose_it_was(memory: Memory, tmp_path: Path) -> None:
    own = said(memory, GOOD, entities=["Shop"])
    said(memory, EVIL, entities=["Quay"])
    before = state(memory, tmp_path / "1")
    merge = memory.graph.merge(["Quay"], "Shop").receipt_id
    assert merge is not None
    undone(memory, merge, before, tmp_path / "2")
    split = memory.graph.unmerge("Quay", "Wharf", memories=[own]).receipt_id
    undone(memory, split, before, tmp_path / "3")


@on_every_engine
def test_a_mention_given_back_while_its_entity_is_merged_comes_back_with_the_merge(
    memory: Memory, tmp_path: Path
) -> None:
    """The merge could not write it down: it was not there."""
    said(memory, GOOD, entities=["Shop"])
    said(memory, GOOD, "Another text.", entities=["Quay"])
    said(memory, EVIL, entities=["Quay"])
    before = state(memory, tmp_path / "1")
    retraction, merge = retract(memory), memory.graph.merge(["Quay"], "Shop").receipt_id
    memory.sweep.undo(retraction)
    assert merge is not None
    undone(memory, merge, before, tmp_path / "2")


@on_every_engine
def test_a_mention_of_what_a_merge_kept_stays_if_it_was_given_back_meanwhile(memory: Memory, tmp_path: Path) -> None:
    said(memory, GOOD, entities=["Quay"])
    said(memory, EVIL, entities=["Shop"])
    said(memory, OTHER, "Another text.", entities=["Shop"])
    before = state(memory, tmp_path / "1")
    retraction, merge = retract(memory), memory.graph.merge(["Quay"], "Shop").receipt_id
    memory.sweep.undo(retraction)
    assert merge is not None
    undone(memory, merge, before, tmp_path / "2")


@on_every_engine
@pytest.mark.parametrize("first", ["deletion", "retraction"])
def test_what_only_a_retracted_session_mentioned_in_a_deleted_memory_waits_for_the_retraction(
    memory: Memory, tmp_path: Path, first: str
) -> None:
    own = said(memory, GOOD, entities=["Quay"])
    said(memory, EVIL, entities=["Mallory", "Quay"])
    before = state(memory, tmp_path / "1")
    deleted = memory.delete(own, confirm=True).id
    retracted = retract(memory)
    if first == "deletion":
        memory.sweep.undo(deleted)
        assert [each.name for each in memory.get(own).entities] == ["Quay"]
        assert [each.name for each in memory.graph.entities()[0]] == ["Quay"]
        assert not memory.care.doctor().findings
        undone(memory, retracted, before, tmp_path / "2")
    else:
        memory.sweep.undo(retracted)
        assert memory.graph.entities()[0] == []
        undone(memory, deleted, before, tmp_path / "2")


@on_every_engine
@pytest.mark.parametrize("purged_first", [True, False])
def test_an_entity_that_waits_for_a_retraction_is_purged_with_it_and_with_the_deletion(
    memory: Memory, tmp_path: Path, purged_first: bool
) -> None:
    own = said(memory, GOOD)
    said(memory, EVIL, entities=["Mallory"])
    deleted = memory.delete(own, confirm=True).id
    retract(memory)
    if not purged_first:
        memory.sweep.undo(deleted)
    memory.sweep.purge(0, confirm=True)
    memory.care.backup(tmp_path / "b")
    assert b"Mallory" not in (tmp_path / "b").read_bytes()
    assert memory.stats().total_memories == (0 if purged_first else 1)
    assert not memory.care.doctor().findings


@on_every_engine
def test_what_both_have_said_comes_back_with_either_and_a_purge_of_the_other_loses_nothing(
    memory: Memory, tmp_path: Path
) -> None:
    memory.remember("There is something.")
    for who, tag, weight in ((GOOD, "good", 0.3), (EVIL, "bad", 0.8)):
        own = said(memory, who, tags=[tag], entities=["Quay", tag.title()])
        with called_by(who):
            memory.graph.relate("Ada", "KNOWS", "Bob", weight=weight)
    for first, second in (("ses_good", "ses_evil"), ("ses_evil", "ses_good")):
        before = state(memory, tmp_path / f"{first}-1")
        taken = [retract(memory, {"session": each}) for each in (first, second)]
        assert memory.stats().total_memories == 1
        answer = memory.sweep.undo(taken[0])
        assert (answer.conflicts, answer.totals.memories, answer.totals.relations) == ((), 1, 1)
        found, kept = memory.get(own), {"ses_good": "good", "ses_evil": "bad"}[first]
        assert (found.origin.session, found.tags) == (first, (kept,))
        assert {each.name for each in found.entities} == {"Quay", kept.title()}
        assert [hit.passage.memory_id for hit in memory.search("approvals").hits] == [own]
        (edge,) = memory.graph.related("Ada").walk.edges
        assert edge.weight == pytest.approx({"ses_good": 0.3, "ses_evil": 0.8}[first], abs=1e-3)
        undone(memory, taken[1], before, tmp_path / f"{first}-2")
    taken = [retract(memory, {"session": each}) for each in ("ses_good", "ses_evil")]
    memory.sweep.undo(taken[0])
    memory.sweep.purge(0, confirm=True)
    assert (memory.get(own).tags, memory.graph.related("Ada").walk.edges != ()) == (("good",), True)
    memory.care.backup(tmp_path / "b")
    assert b"Bad" not in (tmp_path / "b").read_bytes()
    assert not memory.care.doctor().findings


@on_every_engine
def test_an_earlier_text_comes_back_out_of_the_trash_of_who_has_updated_it(memory: Memory, tmp_path: Path) -> None:
    memory.remember("There is something.")
    own = said(memory, GOOD, tags=["good"])
    said(memory, EVIL, entities=["Mallory"])
    with called_by(EVIL):
        memory.update(own, text=WORSE, tags=["bad"])
    before = state(memory, tmp_path / "1")
    good, evil = retract(memory, {"session": "ses_good"}), retract(memory)
    assert memory.sweep.undo(good).conflicts == ()
    found = memory.get(own)
    assert (found.text, found.tags, found.entities, found.origin.session) == (TEXT, ("good",), (), "ses_good")
    assert [hit.passage.text for hit in memory.search("approvals").hits] == [TEXT]
    assert not memory.care.doctor().findings
    undone(memory, evil, before, tmp_path / "2")
    assert [hit.passage.text for hit in memory.search("approvals").hits] == [WORSE]


@on_every_engine
def test_what_was_said_anew_meanwhile_is_in_the_way_and_both_receipts_leave_all_acts(
    memory: Memory, tmp_path: Path
) -> None:
    memory.remember("There is something.")
    own = said(memory, GOOD, tags=["good"])
    said(memory, EVIL, tags=["bad"])
    good, evil = retract(memory, {"session": "ses_good"}), retract(memory)
    anew = said(memory, OTHER)
    assert memory.sweep.undo(good).conflicts == ((own, f"the same text was added again as {anew}"),)
    assert memory.sweep.undo(evil).conflicts == ((own, f"the same text was added again as {anew}"),)
    memory.delete(anew, confirm=True)
    memory.sweep.recover(own)
    assert (memory.get(own).tags, memory.get(own).origin.session) == (("good", "bad"), "ses_good")
    assert not memory.care.doctor().findings


@on_every_engine
def test_a_memory_that_is_recovered_by_its_id_has_what_its_holder_took_back(memory: Memory, tmp_path: Path) -> None:
    memory.remember("There is something.")
    own, newer = said(memory, GOOD, tags=["good"]), said(memory, OTHER, AMENDED)
    said(memory, EVIL, tags=["bad"])
    said(memory, EVIL, AMENDED, supersedes=[own])
    before = state(memory, tmp_path / "1")
    good, evil = retract(memory, {"session": "ses_good"}), retract(memory)
    memory.sweep.recover(own)
    found = memory.get(own)
    assert (found.tags, found.origin.session, [each.memory_id for each in found.superseded_by]) == (
        ("bad",),
        "ses_evil",
        [newer],
    )
    assert memory.sweep.undo(good).conflicts == ()
    undone(memory, evil, before, tmp_path / "2")


def test_what_was_taken_back_before_acts_went_with_it_waits_for_its_own_receipt(
    make: Callable[..., App], home: Path, tmp_path: Path
) -> None:
    """Files of an earlier version: the acts of what went as a whole were not taken back with it."""
    memory = make().memory()
    memory.remember("There is something.")
    for who in (GOOD, EVIL):
        own = said(memory, who, tags=[who.session])
        with called_by(who):
            memory.graph.relate("Ada", "KNOWS", "Bob")
    before = state(memory, tmp_path / "1")
    good, evil = retract(memory, {"session": "ses_good"}), retract(memory)
    store_files.leave_acts_of(home, evil)
    waiting = dict(memory.sweep.undo(good).conflicts)
    assert waiting.pop(own) == f"it is in the trash; undoing {evil} brings it back"
    assert [*waiting.values()] == [f"it is in the trash; undoing {evil} brings it back"]
    undone(memory, evil, before, tmp_path / "2")
