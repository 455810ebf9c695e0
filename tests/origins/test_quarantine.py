"""What comes from a tier that the settings name stays out of search until it is released, or its time is over."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from memsweep.app import App, called_by
from memsweep.clock import now
from memsweep.errors import BadSetting, NotFound
from memsweep.model.origin import UNKNOWN, Origin
from tests.support.commands import Ran
from tests.support.engines import on_every_engine

PAGE = Origin("mcp", "c", session="s", tier="import")
AGENT = Origin("mcp", "c", session="s", tier="agent")
IMPORTS = {"MEMSWEEP_QUARANTINE_TIERS": "import"}
Make = Callable[..., App]


def found(app: App, query: str = "port") -> set[str]:
    return {hit.passage.text for hit in app.memory().search(query, mode="deep").hits}


@on_every_engine
def test_nothing_is_held_back_by_default(make: Make) -> None:
    with called_by(PAGE):
        made = make().memory().remember("The port is 8080.").memory_id
    assert found(make()) == {"The port is 8080."}
    assert make().memory().get(made).quarantine == ""
    assert make().memory().stats().quarantined == 0


@on_every_engine
def test_what_is_held_back_is_found_once_it_is_released(make: Make) -> None:
    app = make(**IMPORTS)
    memory = app.memory()
    with called_by(PAGE):
        page = memory.remember("The port is 8080.").memory_id
    with called_by(AGENT):
        memory.remember("The port was 7070.")
    with called_by(UNKNOWN):
        memory.remember("The port had been 6060.")
    assert found(app) == found(app, "") == {"The port was 7070.", "The port had been 6060."}
    assert "until it is released" in memory.get(page).quarantine
    assert memory.stats().quarantined == 1
    memory.release(page)
    assert "The port is 8080." in found(app)
    assert memory.get(page).quarantine == ""
    assert memory.stats().quarantined == 0
    with pytest.raises(NotFound):
        memory.release("mem_nothing")


@on_every_engine
def test_its_time_is_over_after_some_days(make: Make) -> None:
    app = make(**IMPORTS, MEMSWEEP_QUARANTINE_DAYS="2")
    with called_by(PAGE):
        app.memory().remember("The port is 8080.")
    assert found(app) == set()
    app.clock = lambda: now() + timedelta(days=3)
    assert found(app) == {"The port is 8080."}


def test_without_days_only_a_release_ends_it(make: Make) -> None:
    app = make(**IMPORTS, MEMSWEEP_QUARANTINE_DAYS="0")
    with called_by(PAGE):
        made = app.memory().remember("The port is 8080.").memory_id
    app.clock = lambda: now() + timedelta(days=30_000)
    assert found(app) == set()
    assert app.memory().get(made).quarantine == "until it is released"


def test_a_tier_that_there_is_not_is_refused(make: Make) -> None:
    with pytest.raises(BadSetting, match="tiers"):
        make(MEMSWEEP_QUARANTINE_TIERS="king").settings


def test_the_command_line_releases(run: Callable[..., Ran], home: Path) -> None:
    made = run("remember", "The port is 8080.", "--tier", "import", "--json").json["memory_id"]
    assert run("search", "port", "--json", **IMPORTS).json["results"] == []
    shown = run("get", made, "--json", **IMPORTS).json
    assert shown["quarantine"].startswith("Search leaves it out until ")
    assert run("stats", "--json", **IMPORTS).json["quarantined"] == 1
    assert run("release", made, **IMPORTS).out.startswith(f"Released {made}")
    assert [hit["memory_id"] for hit in run("search", "port", "--json", **IMPORTS).json["results"]] == [made]


@on_every_engine
def test_facts_are_held_back_until_they_are_released_or_somebody_else_says_them(make: Make) -> None:
    app = make(**IMPORTS)
    memory = app.memory()
    with called_by(AGENT):
        memory.graph.relate("Ada", "MAINTAINS", "Kiln")
    with called_by(PAGE):
        lone = memory.graph.relate("Mallory", "MAINTAINS", "Kiln").relations[0].id
        memory.graph.relate("Bob", "MAINTAINS", "Kiln")
        told = memory.remember("Eve has it.", relations=[{"from": "Eve", "relation": "MAINTAINS", "to": "Kiln"}])
    assert known(app) == ({"Ada"}, {"Ada"}, {"Ada", "Kiln"}, {"Ada"})
    with called_by(AGENT):
        memory.graph.reinforce("Bob", "MAINTAINS", "Kiln")
    assert known(app)[0] == {"Ada", "Bob"}
    memory.release(told.memory_id)
    memory.graph.release(lone)
    everybody = {"Ada", "Bob", "Eve", "Mallory"}
    assert known(app) == (everybody, everybody, {*everybody, "Kiln"}, everybody)
    with pytest.raises(NotFound, match="fact 'rel_none' does not exist"):
        memory.graph.release("rel_none")


def known(app: App) -> tuple[set[str], ...]:
    """Who maintains the kiln, by search, by a query and by a briefing; and all entities."""
    memory = app.memory()
    hits = memory.search("kiln", filters={"kind": "fact"}, mode="deep").hits
    names = {each.id: each.name for each in memory.graph.query("Kiln").entities}
    brief = memory.graph.briefing(limit=50)
    return (
        {hit.passage.text.split()[0] for hit in hits},
        set(names.values()),
        {each.name for each in memory.graph.entities()[0]},
        {brief.names[edge.subject] for edge in brief.recent},
    )


@on_every_engine
def test_a_fact_is_found_once_its_time_is_over(make: Make) -> None:
    app = make(**IMPORTS, MEMSWEEP_QUARANTINE_DAYS="2")
    with called_by(PAGE):
        app.memory().graph.relate("Ada", "MAINTAINS", "Kiln")
    assert known(app) == (set(), set(), set(), set())
    app.clock = lambda: now() + timedelta(days=3)
    assert known(app) == ({"Ada"}, {"Ada"}, {"Ada", "Kiln"}, {"Ada"})


@on_every_engine
def test_a_memory_of_two_is_held_back_while_only_who_is_not_trusted_is_left(make: Make) -> None:
    app = make(**IMPORTS)
    memory, page = app.memory(), Origin("mcp", "c", session="page", tier="import")
    for who in (AGENT, page):
        with called_by(who):
            own = memory.remember("The port is 8080.", entities=["Quay"]).memory_id
    assert found(app) == {"The port is 8080."}
    receipt = memory.sweep.prune("origin", origin={"session": "s"}, confirm=True, allow_large=True).id
    assert (found(app), "until it is released" in memory.get(own).quarantine) == (set(), True)
    memory.sweep.undo(receipt)
    assert (found(app), memory.get(own).quarantine) == ({"The port is 8080."}, "")
    memory.sweep.prune("origin", origin={"session": "page"}, confirm=True, allow_large=True)
    assert found(app) == {"The port is 8080."}
