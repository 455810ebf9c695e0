"""Whatever several sessions have done, without one of them everything is as if it had never been; undo is the identity.

The law leaves out what is decided otherwise (docs/adr/0022 and 0027): ids and dates, when something was last seen,
entities that a second session has handed in, what a merge has set, and what others did to things that only the one who
goes had made.
"""

from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from memsweep.app import App, Memory, called_by
from memsweep.errors import Conflict, MemsweepError, NotFound
from memsweep.model.origin import Origin
from tests.origins.test_memories_of_several import KEY, state
from tests.support.counts import rounds
from tests.support.engines import on_every_engine

SESSIONS = ("ada", "bob", "eve")
GONE = "eve"
REDACTION = "redaction"
TEXTS = [f"The {thing} is kept in room {n}." for n, thing in enumerate(("kiln", "loom", "forge"))]
NAMES = ("Ada", "Quay", "Mallory")  # that no text names: such a mention stays with the text
TAGS = ("ops", "old", "new")


class Act(NamedTuple):
    """What a session does; the numbers choose among what there is."""

    session: str
    what: str
    which: int
    how: int


SAID = ("say", "say", "say", "update", "retag", "supersede", "relate", "reinforce", "replace")
UNSAID = ("merge", "unmerge", "pin", "secret")  # what the first law leaves out


def acts(*what: str) -> st.SearchStrategy[list[Act]]:
    act = st.builds(
        Act,
        session=st.sampled_from(SESSIONS),
        what=st.sampled_from(what),
        which=st.integers(0, 2),
        how=st.integers(0, 2),
    )
    return st.lists(act, min_size=2, max_size=14)


def do(memory: Memory, act: Act, number: int) -> tuple[Any, ...]:
    """An act by what things say, so that it means the same where other things are missing; what came of it."""
    text, tag, name = TEXTS[act.which], TAGS[act.how], NAMES[act.how]
    with called_by(Origin("mcp", act.session, session=act.session, tier="agent")), suppress(MemsweepError):
        match act.what:
            case "say":
                made = memory.remember(text, tags=[tag], metadata={tag: act.session}, entities=[name])
                return ("new" if made.duplicate_of is None else "known",)
            case "update":  # nobody else says such a text
                found = first_of(memory, act.which)
                memory.update(found[0], text=f"{text} Amended {number}.")
                return ("done", found[1])
            case "retag":
                found = first_of(memory, act.which)
                memory.update(found[0], tags=[tag, act.session])
                return ("done", found[1])
            case "supersede":
                older = first_of(memory, (act.which + 1) % len(TEXTS))
                made = memory.remember(text, entities=[], supersedes=[older[0]])
                return ("new" if made.duplicate_of is None else "known", older[1])
            case "relate":
                memory.graph.relate(NAMES[act.which], "KNOWS", name, weight=0.2 + act.how / 10)
            case "reinforce":
                memory.graph.reinforce(NAMES[act.which], "KNOWS", name, amount=0.1)
            case "replace":
                memory.graph.relate(NAMES[act.which], "LIVES_IN", f"City {act.how}", replaces=True)
            case "merge":
                memory.graph.merge([NAMES[act.which]], name)
            case "unmerge":
                merges = [each for each in memory.sweep.receipts().receipts if each.action == "merge"]
                memory.sweep.undo(next((each.id for each in merges if each.undone_at is None), ""))
            case "pin":
                memory.pin(first_of(memory, act.which)[0])
            case "secret":
                memory.remember(f"{text[:-1]} with {KEY}.", tags=[tag], entities=[f"Key {KEY}", name])
        return ("done",)
    return ("refused",)


def first_of(memory: Memory, which: int) -> tuple[str, str]:
    """The oldest memory that is about a thing, and what it says."""
    found = [each for each in memory.memories(limit=100).memories if each.text.startswith(TEXTS[which][:-1])]
    if not found:
        raise NotFound("there is none")
    first = min(found, key=lambda each: (each.created_at, each.id))
    return first.id, first.text


def seen(memory: Memory) -> dict[str, Any]:
    """What people see: texts with whose they are, tags, mentions and what supersedes them; and facts."""
    memories = {}
    for each in (memory.get(listed.id) for listed in memory.memories(limit=100).memories):
        newer = sorted(memory.get(link.memory_id).text for link in each.superseded_by)
        said = (each.origin.session, set(each.tags), each.metadata, {thing.name for thing in each.entities}, newer)
        memories[each.text] = said
    names = [entity.name for entity in memory.graph.entities(limit=100)[0]]
    found = memory.graph.query(names, include_ended=True) if names else None
    ends = {entity.key: entity.name for entity in (*found.starts, *found.entities)} if found else {}
    facts = {
        (ends[edge.subject], edge.relation, ends[edge.object], edge.invalid_at is None): round(edge.weight, 3)
        for edge in (found.walk.edges if found else ())
    }
    return {"memories": memories, "facts": facts}


def rests_on(whole: tuple[Any, ...], alone: tuple[Any, ...]) -> bool:
    """Whether what somebody did could not have been done without the one who goes; a text they said first is said."""
    return whole != alone and (whole[0], alone[0], whole[1:]) != ("known", "new", alone[1:])


@pytest.mark.slow
@on_every_engine
def test_without_a_session_everything_is_as_if_it_had_never_been(
    make: Callable[..., App], engine_kind: str, tmp_path: Path
) -> None:
    app, numbers = make(), count()

    @settings(max_examples=rounds(10 if engine_kind == "sqlite" else 3, 300))
    @given(acts(*SAID))
    def law(acts: list[Act]) -> None:
        number = next(numbers)
        memory, other = app.memory(f"w{number}"), app.memory(f"without{number}")
        memory.remember("There is something."), other.remember("There is something.")
        for place, act in enumerate(acts):
            came = do(memory, act, place)
            if act.session != GONE:
                assume(not rests_on(came, do(other, act, place)))
        before = state(memory, tmp_path / f"{number}-before")
        receipt = memory.sweep.prune("origin", origin={"session": GONE}, confirm=True, allow_large=True)
        assert receipt.skipped == ()
        assert seen(memory) == seen(other)
        assert not memory.care.doctor().findings
        memory.sweep.undo(receipt.id)
        assert state(memory, tmp_path / f"{number}-undone") == before
        assert not memory.care.doctor().findings

    law()


STEPS = st.permutations([*SESSIONS, REDACTION]).flatmap(
    lambda steps: st.tuples(st.just(steps[:-1]), st.permutations(steps[:-1]))
)


@pytest.mark.slow
@on_every_engine
def test_whatever_was_taken_back_is_undone_in_any_order(
    make: Callable[..., App], engine_kind: str, tmp_path: Path
) -> None:
    """Also what was merged, pinned, or redacted in between. A purge makes final what came before it."""
    app, numbers = make(MEMSWEEP_SECRETS_ACTION="off"), count()

    @settings(max_examples=rounds(8 if engine_kind == "sqlite" else 3, 300))
    @given(acts(*SAID, *UNSAID), STEPS, st.booleans())
    def law(acts: list[Act], steps: tuple[list[str], list[str]], purged: bool) -> None:
        number = next(numbers)
        memory = app.memory(f"w{number}")
        memory.remember("There is something.")
        for place, act in enumerate(acts):
            do(memory, act, place)
        first, *others = steps[0]
        if purged:
            taken_back(memory, first)
            memory.sweep.purge(0, confirm=True)
        before = state(memory, tmp_path / f"{number}-before")
        receipts = {step: taken_back(memory, step) for step in (others if purged else steps[0])}
        assert not memory.care.doctor().findings
        undo_all(memory, [receipts[step] for step in steps[1] if step in receipts])
        assert state(memory, tmp_path / f"{number}-undone") == before
        assert not memory.care.doctor().findings

    law()


def taken_back(memory: Memory, step: str) -> str:
    if step == REDACTION:
        return memory.sweep.prune("secrets", confirm=True).id
    receipt = memory.sweep.prune("origin", origin={"session": step}, confirm=True, allow_large=True)
    # One that somebody has stated again since stays in the past.
    assert [why for _, why in receipt.skipped if not why.startswith("the same fact holds again")] == []
    return receipt.id


def undo_all(memory: Memory, receipts: list[str]) -> None:
    """In this order; one that has to wait for another says so, and nothing is changed."""
    while receipts:
        waiting = [receipt for receipt in receipts if not undone(memory, receipt)]
        assert waiting != receipts, "one of them can be undone"
        receipts = waiting


def undone(memory: Memory, receipt: str) -> bool:
    try:
        memory.sweep.undo(receipt)
    except Conflict:
        return False
    return True
