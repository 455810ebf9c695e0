"""Between plan and apply the world goes on: what changed is skipped and listed, and what it holds stays."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memsweep.collector import collect
from memsweep.model.memory import MemoryDraft
from memsweep.model.text import content_hash
from memsweep.store.adding import touch
from tests.collector.oracle import Rows, held_by, reached_now, relations_left, rows_of, spread
from tests.collector.random_stores import random_stores
from tests.collector.stores import NOW, Link, Note, Place, StoreSpec, Thing, broken, dump, store_with, trash_of
from tests.support import store_files
from tests.support.counts import rounds
from tests.support.inside import dump_of

changes = st.lists(
    st.tuples(
        st.sampled_from(["pin memory", "pin entity", "touch", "freshen", "mention", "relate", "remember", "delete"]),
        st.integers(0, 8),
        st.integers(0, 8),
    ),
    min_size=1,
    max_size=4,
)


def _change(place: Place, what: str, first: int, second: int) -> None:
    """One change that somebody else makes; nothing where there is nothing to change."""
    rows = rows_of(place.file)
    memories, entities = list(rows.memories.values()), list(rows.entities.values())
    if what in ("pin memory", "touch", "freshen", "delete", "mention") and not memories:
        return
    if what in ("pin entity", "mention", "relate", "remember") and not entities:
        return
    memory = memories[first % len(memories)] if memories else {}
    entity = entities[second % len(entities)] if entities else {}
    match what:
        case "pin memory":
            place.memory.pin(memory["uid"])
        case "pin entity":
            place.memory.pin(entity["uid"])
        case "touch":
            thread = place.query("select uid from thread where id = ?", memory["thread"])
            draft = MemoryDraft(memory["text"], thread_id=thread[0] if thread else None)
            touch(place.app.engine.open("default"), draft, NOW)
        case "freshen":
            _write(place, "update memory set stale = 0, version = version + 1 where id = ?", memory["id"])
        case "mention":
            chunk = place.query("select id from chunk where memory = ? and trash is null", memory["id"])
            if chunk:
                _write(place, "insert or ignore into mention (chunk, entity) values (?, ?)", chunk[0], entity["id"])
        case "relate":
            other = entities[first % len(entities)]
            _write(
                place,
                "insert or ignore into relation (uid, subject, object, relation, relation_key, created_at, last_seen)"
                " values (?, ?, ?, 'new', 'new', 1, 1)",
                f"rel_new_{first}_{second}_{entity['id']}_{other['id']}", entity["id"], other["id"],
            )  # fmt: skip
        case "remember":
            _write(
                place,
                "insert or ignore into memory (uid, text, created_at, updated_at, content_hash) values (?, ?, 1, 1, ?)",
                f"mem_new_{first}_{second}", f"new {first} {second}", content_hash(f"new {first} {second}"),
            )  # fmt: skip
        case "delete" if not memory["pinned"]:
            collect.delete(place.tools(), memory["uid"], confirm=True)


def _write(place: Place, statement: str, *values: object) -> None:
    with store_files.open_file(place.file) as db:
        db.execute(statement, values)


def _still_doomed(rows: Rows, planned: dict[tuple[str, int], int]) -> tuple[set[int], set[int]]:
    """What of a plan may go, now: unchanged, not pinned, and (entities) with no way to anything that lives."""

    def unchanged(kind: str, table: dict[int, dict[str, object]]) -> set[int]:
        return {key for key, row in table.items() if planned.get((kind, key)) == row["version"] and not row["pinned"]}

    memories = unchanged("memory", rows.memories)
    candidates = unchanged("entity", rows.entities)
    alive = (rows.entities.keys() - candidates) | (candidates & held_by(rows, memories))
    return memories, candidates - spread(alive, relations_left(rows, memories))


@pytest.mark.slow
@given(random_stores(), st.sampled_from(["stale_code", "all", "expired", "unreachable_entities"]), changes)
@settings(max_examples=rounds(30, 150))
def test_what_changed_since_the_plan_is_skipped_and_listed_and_what_it_keeps_alive_stays(
    spec: StoreSpec, strategy: str, happening: list[tuple[str, int, int]]
) -> None:
    with store_with(spec) as place:
        plan = collect.plan(place.tools(), strategy, 5.0)
        items = place.query("select kind, key, version from plan_item order by position")
        ids = [view.id for view in collect.plan_items(place.tools(), plan.id, 0, 1000)]
        for change in happening:
            _change(place, *change)
        rows, before = rows_of(place.file), dump(place.file)
        memories, entities = _still_doomed(rows, {(kind, key): version for kind, key, version in items})
        receipt = collect.apply(place.tools(), plan.id, confirm=True)
        taken = trash_of(place.file, receipt.id)
        assert taken["memory"] == memories
        assert taken["entity"] == entities
        assert not entities & reached_now(rows, memories), "nothing with a root is taken"
        went = {(kind, key) for kind in ("memory", "entity", "chunk") for key in taken[kind]}
        left = [uid for (kind, key, _), uid in zip(items, ids, strict=True) if (kind, key) not in went]
        assert [uid for uid, _ in receipt.skipped] == left
        assert all(reason.endswith("since the plan was made") for _, reason in receipt.skipped)
        assert broken(place.file) == []
        collect.undo(place.tools(), receipt.id)
        assert dump(place.file) == before


# The same, one change at a time, by name

# 0 is stale and the only one that mentions Thing 0, which a ring of relations joins to Things 1 and 2.
RING = StoreSpec(
    notes=(Note("the stale file", path="a.py", stale=True), Note("a note that lives")),
    things=(Thing("Zero"), Thing("One"), Thing("Two"), Thing("Elsewhere", explicit=True)),
    links=(Link(0, 1), Link(1, 2), Link(2, 0)),
    mentions=((0, 0, 0),),
)
FILE, NOTE = "mem_000000000001", "mem_000000000002"
ZERO, ONE, TWO, ELSEWHERE = (f"ent_{n:012}" for n in (1, 2, 3, 4))
CHANGED, PINNED = "changed since the plan was made", "pinned since the plan was made"
GONE, IN_USE = "gone since the plan was made", "in use again since the plan was made"

CASES: dict[str, tuple[Callable[[Place], object], dict[str, str]]] = {
    "nothing": (lambda place: None, {}),
    "the file is back": (
        lambda place: _write(place, "update memory set stale = 0, version = version + 1 where id = 1"),
        {FILE: CHANGED, ZERO: IN_USE, ONE: IN_USE, TWO: IN_USE},
    ),
    "the file is pinned": (
        lambda place: place.memory.pin(FILE),
        {FILE: PINNED, ZERO: IN_USE, ONE: IN_USE, TWO: IN_USE},
    ),
    "the file is deleted": (
        lambda place: collect.delete(place.tools(), FILE, confirm=True),
        {FILE: GONE, ZERO: GONE, ONE: GONE, TWO: GONE},
    ),
    "an entity of the ring is pinned": (
        lambda place: place.memory.pin(ONE),
        {ONE: PINNED, ZERO: IN_USE, TWO: IN_USE},
    ),
    "an entity of the ring is named again": (
        lambda place: _write(place, "update entity set version = version + 1 where id = 3"),
        {TWO: CHANGED, ZERO: IN_USE, ONE: IN_USE},
    ),
    "the note mentions one of the ring": (
        lambda place: _write(place, "insert into mention (chunk, entity) values (2, 2)"),
        {ZERO: IN_USE, ONE: IN_USE, TWO: IN_USE},
    ),
    "the ring is related to what lives": (
        lambda place: _write(
            place,
            "insert into relation (uid, subject, object, relation, relation_key, created_at, last_seen)"
            " values ('rel_x', 4, 2, 'likes', 'likes', 1, 1)",
        ),
        {ZERO: IN_USE, ONE: IN_USE, TWO: IN_USE},
    ),
    "what lives is unpinned": (lambda place: place.memory.pin(NOTE, pinned=False), {}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_change_since_the_plan(name: str) -> None:
    change, skipped = CASES[name]
    with store_with(RING) as place:
        plan = collect.plan(place.tools(), "stale_code")
        assert {view.id for view in collect.plan_items(place.tools(), plan.id, 0, 10)} == {FILE, ZERO, ONE, TWO}
        change(place)
        receipt = collect.apply(place.tools(), plan.id, confirm=True)
        assert dict(receipt.skipped) == skipped
        gone = {FILE, ZERO, ONE, TWO} - skipped.keys()
        there = {*place.live_ids(), *(entity.id for entity in dump_of(place.memory).entities)}
        assert not gone & there
        assert {uid for uid, reason in skipped.items() if reason != GONE} <= there
        assert {NOTE, ELSEWHERE} <= there
        events = [(event.action, event.subject, event.reason) for event in place.memory.sweep.audit(limit=50)]
        assert {(uid, reason) for action, uid, reason in events if action == "skip"} == set(skipped.items())


def test_a_duplicate_stays_when_what_it_repeats_has_gone_since_the_plan() -> None:
    spec = StoreSpec(notes=(Note("the same words", age_days=3), Note("the same words", thread="other")))
    with store_with(spec) as place:
        plan = collect.plan(place.tools(), "duplicates")
        (view,) = collect.plan_items(place.tools(), plan.id, 0, 10)
        assert view.id == FILE, "the younger one of the two"
        collect.delete(place.tools(), NOTE, confirm=True)
        receipt = collect.apply(place.tools(), plan.id, confirm=True)
        assert receipt.skipped == ((FILE, IN_USE),)
        assert place.live_ids() == [FILE]


def test_the_cap_counts_what_is_there_at_the_apply_not_at_the_plan() -> None:
    notes = tuple(Note(f"stale {n}", path=f"{n}.py", stale=True) for n in range(12))
    notes += tuple(Note(f"note {n}") for n in range(18))
    with store_with(StoreSpec(notes=notes)) as place:
        plan = collect.plan(place.tools(), "stale_code")
        assert plan.share == 0.4
        for number in range(8):
            collect.delete(place.tools(), f"mem_{13 + number:012}", confirm=True)
        with pytest.raises(collect.Conflict, match=r"12 of 22 memories \(67% .* with 8 that went"):
            collect.apply(place.tools(), plan.id, confirm=True)
        assert len(rows_of(place.file).memories) == 22
        assert collect.apply(place.tools(), plan.id, confirm=True, allow_large=True).totals.memories == 12
