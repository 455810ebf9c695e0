"""What has expired is silent from that moment on, and there again if the clock goes back."""

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from memsweep.app import App, Memory, called_by
from memsweep.clock import now
from memsweep.model.origin import Origin
from tests.support.commands import Ran
from tests.support.engines import on_every_engine

BEGIN = now()
END = BEGIN + timedelta(hours=1)
ROOM = "The review is in room 12 of the harbour office."
TABLE = "The review table stands in the harbour office."
FACT = {"from": "Review", "relation": "TAKES_PLACE_IN", "to": "Room 12"}


def at(app: App, moment: datetime) -> Memory:
    app.clock = lambda: moment
    return app.memory()


@pytest.fixture
def app(make: Callable[..., App]) -> App:
    made = make()
    memory = at(made, BEGIN)
    memory.remember(ROOM, expires_at=END, tags=["room"], relations=[FACT])
    memory.remember(TABLE, relations=[{"from": "Table", "relation": "STANDS_IN", "to": "Office"}])
    return made


def recalled(memory: Memory) -> dict[str, bool]:
    """By which ways the room is told."""
    everything = memory.search("review room harbour office", mode="deep").hits
    briefing, graph = memory.briefing(), memory.graph
    return {
        "search": ROOM in {hit.passage.text for hit in everything},
        "one kind": ROOM in {hit.passage.text for hit in memory.search("review", filters={"kind": "memory"}).hits},
        "facts": any("Room 12" in hit.passage.text for hit in everything if hit.passage.kind == "fact"),
        "newest": ROOM in {hit.passage.text for hit in memory.search("").hits},
        "tagged": bool(memory.search("", filters={"tags": ["room"]}).hits),
        "list": ROOM in {each.text for each in memory.memories().memories},
        "current": ROOM in {each.text for each in memory.memories(state="current").memories},
        "expiring": bool(memory.memories(state="expiring").memories),
        "briefing": ROOM in {each.text for each in briefing.memories},
        "briefed facts": any(edge.relation == "TAKES_PLACE_IN" for edge in briefing.graph.recent),
        "query": bool(graph.query("Review").walk.edges),
        "related": bool(graph.related("Room 12").walk.edges),
    }


@on_every_engine
def test_it_leaves_everything_that_recalls_and_comes_back_with_the_clock(app: App) -> None:
    for moment, told in ((END - timedelta(seconds=1), True), (END, False), (BEGIN, True)):
        assert recalled(at(app, moment)) == dict.fromkeys(recalled(app.memory()), told), moment
    found = at(app, END).search("table stands harbour office").hits
    assert [hit.passage.text for hit in found][:1] == [TABLE]
    assert app.memory().memories().total == 1


@on_every_engine
def test_who_asks_for_it_is_told_that_it_has_expired(app: App) -> None:
    memory = at(app, END)
    (listed,) = memory.memories(state="expired").memories
    assert (listed.text, listed.expired) == (ROOM, True)
    found = memory.search("review room harbour", filters={"include_expired": True}).hits
    assert [(hit.passage.text, hit.expired) for hit in found if hit.passage.text == ROOM] == [(ROOM, True)]
    assert {each.text for each in memory.memories(filters={"include_expired": True}).memories} == {ROOM, TABLE}
    assert memory.get(listed.id).expired
    assert memory.graph.query("Review", include_ended=True).walk.edges
    assert [plan.item_count > 0 for plan in [memory.sweep.plan("expired")]] == [True]
    assert not at(app, BEGIN).get(listed.id).expired
    assert not app.memory().memories(state="expired").memories


@on_every_engine
def test_as_of_a_date_it_is_what_had_not_expired_by_then(app: App) -> None:
    memory = at(app, END + timedelta(days=1))
    for moment, told in ((END - timedelta(seconds=1), True), (END + timedelta(hours=1), False)):
        hits = memory.search("review room harbour office", mode="deep", filters={"as_of": moment}).hits
        assert (ROOM in {hit.passage.text for hit in hits}) == told
        assert bool(memory.graph.query("Review", as_of=moment).walk.edges) == told


@on_every_engine
def test_what_somebody_else_states_too_stays(app: App) -> None:
    memory = at(app, BEGIN)
    memory.graph.relate("Review", "TAKES_PLACE_IN", "Room 12")
    assert at(app, END).graph.query("Review").walk.edges
    other = memory.remember("Room 12 it is, for the review.", relations=[FACT], expires_at=END + timedelta(hours=1))
    assert at(app, END + timedelta(hours=2)).graph.query("Review").walk.edges
    assert memory.get(other.memory_id).expired


@on_every_engine
def test_what_is_said_again_after_that_holds_again(app: App) -> None:
    memory = at(app, END)
    (old,) = memory.memories(state="expired").memories
    other = memory.remember("The review is in room 13 of the harbour office.", find_similar=True)
    assert old.id not in {each.memory_id for each in other.similar}
    with called_by(Origin("mcp", "c", session="again", tier="agent")):
        assert memory.remember(ROOM).duplicate_of == old.id
    assert recalled(memory)["search"]
    assert memory.get(old.id).expires_at is None
    assert memory.care.doctor().findings == ()
    memory.sweep.prune("origin", origin={"session": "again"}, confirm=True)
    assert memory.get(old.id).expired


@on_every_engine
def test_it_is_on_no_later_page_either(app: App) -> None:
    memory = at(app, BEGIN)
    for number in range(4):
        memory.remember(f"Note {number} on the harbour office review.", expires_at=END)
    first = memory.search("harbour office review", mode="deep", limit=1)
    rest = at(app, END).search("harbour office review", mode="deep", limit=10, cursor=first.next_cursor).hits
    assert {hit.passage.text for hit in rest if hit.passage.kind == "memory"} <= {TABLE}


def test_it_is_asked_for_on_the_command_line(run: Callable[..., Ran]) -> None:
    run("remember", ROOM, "--expires", "2020-01-01")
    assert run("search", "review room", "--json").json["results"] == []
    (hit,) = run("search", "review room", "--include-expired", "--json").json["results"]
    assert hit["expired"] is True
    assert "expired" in run("list", "--state", "expired").out
    assert run("get", hit["memory_id"], "--json").json["expired"].startswith("It expired on 2020-01-01")
