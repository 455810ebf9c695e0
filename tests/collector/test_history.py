"""The history of a memory and of an entity: whole, in order of time, and known by the id when nothing else is left."""

import json
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from random import Random

import pytest

from memsweep.app import App, Memory, make_app
from memsweep.errors import MemsweepError, NotFound
from memsweep.model.audit import AuditQuery
from memsweep.settings import load_settings
from memsweep.store.audit_rows import IDS_IN_A_ROW
from tests.support.client import connected
from tests.support.commands import Ran
from tests.support.counts import rounds
from tests.support.engines import Home, on_every_engine

pytestmark = on_every_engine
LONG_AGO = "2020-01-01"


def actions(memory: Memory, item_id: str) -> list[str]:
    return [event.action for event in memory.sweep.explain(item_id)[2]]


def planned_and_pruned(memory: Memory) -> str:
    plan = memory.sweep.plan("expired")
    return memory.sweep.apply(plan.id, confirm=True, allow_large=True).id


def lived(memory: Memory) -> tuple[str, str]:
    """The ids of a memory and an entity to which everything has happened but a purge."""
    note = memory.remember("Ada wrote the letter.", entities=["Ada"], expires_at=LONG_AGO).memory_id
    ada = memory.graph.entities("Ada")[0][0].id
    memory.delete(note, confirm=True)
    memory.sweep.recover(note)
    memory.sweep.undo(planned_and_pruned(memory))
    planned_and_pruned(memory)
    return note, ada


LIFE = ["add", "delete", "recover", "plan", "prune", "undo", "plan", "prune"]


def test_everything_that_happened_to_a_memory_is_there_in_order(memory: Memory) -> None:
    note, _ = lived(memory)
    events = memory.sweep.explain(note)[2]
    assert [event.action for event in events] == LIFE
    assert [event.at for event in events] == sorted(event.at for event in events)


def test_what_went_and_came_with_it_has_the_same_history(memory: Memory) -> None:
    _, ada = lived(memory)
    assert [each for each in actions(memory, ada) if each != "plan"] == [each for each in LIFE if each != "plan"]


def test_after_the_purge_the_id_still_tells_it_and_no_text_does(memory: Memory) -> None:
    note, ada = lived(memory)
    memory.sweep.purge(0, confirm=True)
    verdict, path, history = memory.sweep.explain(note)
    assert (verdict.kind, verdict.alive, path) == ("memory", False, [])
    assert verdict.because[0].startswith("It is gone for good since ")
    assert [event.action for event in history] == [*LIFE, "purge"]
    assert (memory.sweep.explain(ada)[0].kind, actions(memory, ada)[-1]) == ("entity", "purge")
    said = repr(memory.sweep.audit(limit=200))
    assert "Ada" not in said
    assert "letter" not in said


def test_a_purge_is_told_of_what_it_freed_only(memory: Memory) -> None:
    notes = [memory.remember(f"note {n}").memory_id for n in range(2)]
    receipts = [memory.delete(note, confirm=True).id for note in notes]
    memory.sweep.recover(notes[0])
    memory.sweep.purge(0, confirm=True)
    assert "purge" not in actions(memory, notes[0])
    purges = [event.subject for event in memory.sweep.explain(notes[1])[2] if event.action == "purge"]
    assert purges == [receipts[1]]


def test_what_was_deleted_for_good_is_known_by_its_id(memory: Memory) -> None:
    note = memory.remember("Bob has a boat.", entities=["Bob"]).memory_id
    bob = memory.graph.entities("Bob")[0][0].id
    memory.delete(note, confirm=True, forever=True)
    verdict, _, _ = memory.sweep.explain(note)
    assert verdict.because[1] == "A tombstone keeps the same text from being added again."
    assert actions(memory, note) == actions(memory, bob) == ["add", "delete", "purge"]


def test_a_merge_is_in_the_history_of_all_it_made_one(memory: Memory) -> None:
    for name in ("Ada", "Countess"):
        memory.remember(f"{name} wrote.", entities=[name])
    ids = [memory.graph.entities(name)[0][0].id for name in ("Ada", "Countess")]
    plan = memory.graph.plan_merge(["Countess"], "Ada").plan_id
    merged = memory.graph.merge(plan_id=plan)
    memory.sweep.undo(merged.receipt_id)
    for each in ids:
        assert actions(memory, each) == ["add", "plan", "merge", "undo"]


def test_a_split_names_no_entity_but_by_its_id(memory: Memory) -> None:
    note = memory.remember("Ada wrote.", entities=["Ada"]).memory_id
    ada = memory.graph.entities("Ada")[0][0].id
    split = memory.graph.unmerge("Ada", "Countess", memories=[note])
    assert (actions(memory, ada)[-1], actions(memory, split.id)) == ("unmerge", ["unmerge"])
    event = memory.sweep.audit(limit=1)[0]
    assert (event.reason, {*event.ids}) == (split.receipt_id, {ada, split.id})


def test_an_import_is_in_the_history_of_what_it_made_and_changed(memory: Memory) -> None:
    names = ["Same", "Pinned", "Renamed"]
    memory.remember("They wrote.", entities=names)
    ids = {name: memory.graph.entities(name)[0][0].id for name in names}
    file = json.loads(memory.graph.dump("json"))
    by_name = {row["name"]: row for row in file["entities"]}
    by_name["Pinned"]["pinned"] = True
    by_name["Renamed"]["aliases"] = '[["Once", "concept"]]'
    file["entities"].append({**by_name["Same"], "id": "ent_0123456789ab", "name": "Dora"})
    memory.graph.load(json.dumps(file), "json")
    dora = memory.graph.entities("Dora")[0][0].id
    told = {name: actions(memory, own) for name, own in ids.items()}
    assert told == {
        "Same": ["add"],
        "Pinned": ["add", "import_graph"],
        "Renamed": ["add", "import_graph"],
    }
    assert actions(memory, dora) == ["import_graph"]
    assert "Dora" not in repr(memory.sweep.audit())


def test_every_id_of_a_large_act_is_found_and_the_list_of_events_stays_short(memory: Memory) -> None:
    count = 2 * IDS_IN_A_ROW + 1
    things = [{"name": f"Thing {n}", "type": "Concept"} for n in range(count)]
    memory.graph.relate_many({"entities": things, "relations": []})
    memory.sweep.clear("DELETE ALL MEMORIES")
    pages = [memory.sweep.trash(offset=offset, limit=100)[0] for offset in range(0, count, 100)]
    ids = {each.id for page in pages for each in page}
    assert len(ids) == count
    (event,) = [event for event in memory.sweep.audit() if event.action == "clear"]
    assert (len(event.ids), event.counts["entities"]) == (IDS_IN_A_ROW, count)
    assert memory.sweep.audit(subject=event.subject) == [event]
    for item_id in ids:
        found = [each for each in memory.sweep.audit(subject=item_id) if each.action == "clear"]
        assert [(each.subject, each.counts) for each in found] == [(event.subject, event.counts)]


@pytest.mark.parametrize("unknown", ["mem_000000000000", "", "ids", "memories", "=", "é", 'x"', "rcpt_000000000000"])
def test_what_is_no_id_of_the_log_is_not_found(memory: Memory, unknown: str) -> None:
    lived(memory)
    with pytest.raises(NotFound):
        memory.sweep.explain(unknown)


def test_a_receipt_is_neither_a_memory_nor_an_entity(memory: Memory) -> None:
    receipt = memory.delete(memory.remember("gone").memory_id, confirm=True).id
    with pytest.raises(NotFound):
        memory.sweep.explain(receipt)


def test_the_tool_and_the_command_line_tell_it(home: Path, engine_kind: str, run: Callable[..., Ran]) -> None:
    place = Home(engine_kind, home)
    app = make_app(load_settings(place.variables))
    note, _ = lived(app.memory())
    app.memory().sweep.purge(0, confirm=True)
    app.close()
    with connected(home, "legacy", "--profile", "full", **place.settings) as client:
        answer = client.call("explain_memory", id=note)
    assert [event["action"] for event in answer["history"]] == [*LIFE, "purge"]
    assert {"ids", "rest"}.isdisjoint(key for event in answer["history"] for key in event["counts"])
    assert run("explain", note, "--json", **place.variables).json == answer
    shown = run("explain", note, **place.variables)
    assert f"Memory {note} is not live." in shown.out
    assert shown.out.index(": delete") < shown.out.index(": recover") < shown.out.index(": purge")
    place.close()


def test_an_add_is_one_event(memory: Memory) -> None:
    relations = [{"from": "Ada", "relation": "KNOWS", "to": "Bob"}]
    note = memory.remember("Ada knows Bob.", entities=["Ada", "Bob"], relations=relations).memory_id
    (event,) = memory.sweep.audit()
    entities = {entity.id for entity in memory.graph.entities()[0]}
    assert (event.action, event.subject, {*event.ids}) == ("add", note, {note, *entities})
    assert event.counts == {"memories": 1, "chunks": 1, "entities": 2}
    assert event.actor


def test_a_known_text_is_an_event_only_if_it_says_something_new(memory: Memory) -> None:
    note = memory.remember("the boat is in the harbour").memory_id
    memory.remember("the boat is in the harbour", tags=["people"])
    assert actions(memory, note) == ["add"]
    memory.remember("the boat is in the harbour", entities=["Boat"])
    assert actions(memory, note) == ["add", "add"]
    assert actions(memory, memory.graph.entities("Boat")[0][0].id) == ["add"]


def test_an_entity_begins_with_the_fact_it_was_given_with(memory: Memory) -> None:
    memory.graph.relate("Boat", "LIES_IN", "Harbour")
    memory.graph.relate("Boat", "LIES_IN", "Harbour")
    (event,) = memory.sweep.audit()
    assert event.subject.startswith("rel_")
    assert actions(memory, memory.graph.entities("Boat")[0][0].id) == ["relate"]


def test_an_index_run_is_one_event_and_none_if_it_found_nothing_new(memory: Memory, tmp_path: Path) -> None:
    code = tmp_path / "code"
    code.mkdir()
    for name in ("a", "b", "c"):
        (code / f"{name}.py").write_text(f"def {name}():\n    return {name!r}\n")
    memory.code.index(code)
    memory.code.index(code)
    (code / "a.py").unlink()
    memory.code.index(code)
    memory.code.index(code)
    gone, first = memory.sweep.audit()
    assert [(event.action, event.subject) for event in (gone, first)] == [("index", "")] * 2
    assert (len(first.ids), first.counts["memories"]) == (3, 3)
    assert (len(gone.ids), gone.counts["stale"]) == (1, 1)
    assert actions(memory, gone.ids[0]) == ["index", "index"]
    memory.sweep.prune("stale_code", confirm=True, allow_large=True)
    memory.sweep.purge(0, confirm=True)
    assert actions(memory, gone.ids[0]) == ["index", "index", "prune", "purge"]


def test_events_of_one_kind_are_found_behind_others(app: App) -> None:
    """Backups are named by a purge however much was added since."""
    app.memory().graph.relate("Boat", "LIES_IN", "Harbour")
    app.memory().remember("one")
    app.memory().remember("two")
    ((_, event),) = app.engine.open("default").collector.audit(1, AuditQuery(action="relate"))
    assert event.action == "relate"


GONE_BY = {"live": {"add", "relate", "undo", "recover"}, "trashed": {"delete", "prune", "clear"}, "lost": {"purge"}}
MOVES = set[str]().union(*GONE_BY.values())


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(rounds(2, 8)))
def test_after_any_history_the_last_move_says_where_a_thing_is(app: App, seed: int) -> None:
    chance, memory = Random(seed), app.memory()
    memory.remember("note of the beginning")
    known: dict[str, None] = {}
    for number in range(25):
        _act(memory, chance, number)
        with app.engine.open("default").collector.reading() as rows:
            known |= dict.fromkeys(each for event in memory.sweep.audit(limit=100) for each in event.ids)
            found = {each: rows.items.find(each) for each in known}
        for item_id, row in found.items():
            state = "lost" if row is None else "live" if row[2] is None else "trashed"
            moves = [event.action for event in memory.sweep.audit(subject=item_id) if event.action in MOVES]
            assert moves[0] in GONE_BY[state], (number, item_id, state, moves)


def _act(memory: Memory, chance: Random, number: int) -> None:
    """Something that may happen; what is refused changes nothing."""
    names = chance.sample(["Ada", "Bob", "Cy", "Dee"], 2)
    trashed, _ = memory.sweep.trash(limit=100)
    live = [hit.passage.memory_id for hit in memory.search("note", limit=50).hits]
    receipts = sorted({each.receipt_id for each in trashed})
    notes = sorted(each.id for each in trashed if each.kind == "memory")
    expires = LONG_AGO if chance.random() < 0.3 else None
    fact = [{"from": names[0], "relation": "KNOWS", "to": names[1]}]
    add = partial(memory.remember, f"note {number}", entities=names, relations=fact, expires_at=expires)
    acts: list[Callable[[], object]] = [add, add, partial(memory.graph.relate, names[0], "SEES", names[1])]
    if live:
        acts.append(partial(memory.delete, chance.choice(live), confirm=True))
        acts.append(partial(memory.delete, chance.choice(live), confirm=True, forever=True))
        acts.append(partial(memory.sweep.prune, "all", confirm=True, allow_large=True))
    if receipts:
        acts += [partial(memory.sweep.undo, chance.choice(receipts))] * 2
        acts.append(partial(memory.sweep.purge, 0, confirm=True))
    if notes:
        acts.append(partial(memory.sweep.recover, chance.choice(notes)))
    with suppress(MemsweepError):
        chance.choice(acts)()
