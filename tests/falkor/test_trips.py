"""What goes over the wire: how often a memory and a search go there and back, and how the vector set follows."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memsweep.app import App, make_app
from memsweep.settings import load_settings
from memsweep.store.falkor import care_cypher, cypher, vectors
from memsweep.store.falkor.transaction import GraphHandle
from memsweep.store.falkor.wire import Query
from tests.support.engines import Home, falkor_server


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    home = Home("falkor", tmp_path)
    yield home
    home.close()


@pytest.fixture
def app(home: Home) -> Iterator[App]:
    app = make_app(load_settings(home.variables))
    yield app
    app.close()


def trips(act: Callable[[], object], times: int) -> float:
    """How often the server had something to read, for one act of many."""
    with falkor_server().client() as client:
        before = client.info("stats")["total_reads_processed"]
        for _ in range(times):
            act()
        return (client.info("stats")["total_reads_processed"] - before - 1) / times  # type: ignore[no-any-return]


def graph_of(app: App) -> GraphHandle:
    return app.engine.open("default")._graph  # type: ignore[attr-defined,no-any-return]


def vectors_of(app: App) -> tuple[int, int]:
    """In the set, and in the graph."""
    graph = graph_of(app)
    size = graph.link.read("VCARD", f"{graph.name}:vectors:0") or 0
    return size, graph.ask("MATCH (e:Embedding) RETURN count(e)")[0][0]


def test_a_memory_goes_to_falkor_and_back_four_times(app: App) -> None:
    memory, numbers = app.memory(), iter(range(100))
    memory.remember("The first makes the workspace.")
    assert trips(lambda: memory.remember(f"the lamp of room {next(numbers)} is broken"), 20) <= 4


def test_the_server_works_off_what_is_new_after_many_keys(app: App) -> None:
    memory = app.memory()
    memory.remember("The first makes the workspace.")
    graph = graph_of(app)

    def queries(text: str) -> int:
        """How often the server is asked to change something, for one memory."""
        with falkor_server().client() as client:
            before = client.info("commandstats")["cmdstat_graph.QUERY"]["calls"]
            memory.remember(text)
            return int(client.info("commandstats")["cmdstat_graph.QUERY"]["calls"] - before)

    graph.link.change(graph.name, care_cypher.PUT_META, meta={"keys": 4_990})
    usual = queries("the lamp of room 1 is broken")
    graph.link.change(graph.name, care_cypher.PUT_META, meta={"keys": 4_999})
    assert queries("the lamp of room 2 is broken") == usual + 1
    assert graph.ask("MATCH (s:Settled) RETURN count(s)") == [[0]]


def test_names_threads_and_facts_cost_falkor_one_way_more_at_most(app: App) -> None:
    memory, numbers = app.memory(), iter(range(100))
    facts = [{"from": "Ann", "relation": "repairs", "to": "Lamp"}]
    memory.remember("The first makes the workspace.", relations=facts)

    def add() -> Any:
        return memory.remember(f"Ann repairs Lamp {next(numbers)}.", thread_id="t", entities=["Room"], relations=facts)

    assert trips(add, 20) <= 5


def test_a_search_goes_to_falkor_and_back_five_times_and_once_more_for_facts(app: App) -> None:
    memory = app.memory()
    for number in range(30):
        memory.remember(f"the lamp of room {number} is broken")
    memory.search("which lamp")
    # One of them looks for the personal workspace.
    assert trips(lambda: memory.search("which lamp is broken in room 7"), 10) <= 5
    memory.graph.relate("Ann", "likes", "Tea")
    memory.search("which lamp")
    assert trips(lambda: memory.search("which lamp is broken in room 7"), 10) <= 6


def test_a_first_fact_on_falkor_is_found_at_once_whoever_states_it(app: App, home: Home) -> None:
    memory = app.memory()
    memory.remember("the lamp of room 1 is broken")
    for _ in range(2):
        assert memory.search("who repairs", filters={"kind": "fact"}).hits == ()
    other = make_app(load_settings(home.variables))
    other.memory().graph.relate("Ann", "repairs", "Lamp")
    other.close()
    assert [hit.passage.text for hit in memory.search("who repairs", filters={"kind": "fact"}).hits] != []


def test_the_vector_set_of_falkor_follows_one_memory_behind_and_nobody_notices(app: App) -> None:
    memory = app.memory()
    for number in range(5):
        memory.remember(f"the lamp of room {number} is broken")
        assert vectors_of(app) == (number, number + 1)
        assert memory.search(f"lamp of room {number}").hits[0].passage.text.endswith(f"{number} is broken")
    assert app.engine.open("default").keeper.examine() == []


def test_a_vector_set_of_falkor_that_another_process_made_anew_is_followed_from_its_beginning(
    app: App, home: Home
) -> None:
    for number in range(4):
        app.memory().remember(f"the lamp of room {number} is broken")
    other = make_app(load_settings(home.variables))
    other.engine.open("default").keeper._vectors.forget(0)  # type: ignore[attr-defined]
    other.close()
    assert vectors_of(app) == (0, 4)
    assert len(app.memory().search("lamp").hits) == 4
    app.memory().remember("the lamp of room 4 is broken")
    assert vectors_of(app) == (4, 5)


def test_a_falkor_workspace_that_was_deleted_and_made_anew_is_not_taken_for_the_old(app: App, home: Home) -> None:
    app.memory().remember("the old lamp")
    other = make_app(load_settings(home.variables))
    other.delete_workspace("default", confirm=True)
    other.memory().remember("the new lamp")
    other.close()
    assert [hit.passage.text for hit in app.memory().search("lamp").hits] == ["the new lamp"]


def test_a_step_spells_out_what_its_rows_have() -> None:
    rows = [{"key": 1, "name": "a"}, {"key": 2, "more": 3}]
    assert cypher.spelled("CREATE (:X {*row})", rows) == (
        "CREATE (:X {key: row.key, name: row.name, more: row.more, ref: toString(row.key)})"
    )
    assert cypher.spelled("CREATE (:X {*row.set})", [{"set": {"key": 1}}]) == (
        "CREATE (:X {key: row.set.key, ref: toString(row.set.key)})"
    )
    assert (
        cypher.spelled("MATCH (n {ref: toString(row)}) DELETE n", [1, 2]) == "MATCH (n {ref: toString(row)}) DELETE n"
    )


def test_what_another_process_writes_to_falkor_is_found_by_one_that_has_searched_before(app: App, home: Home) -> None:
    app.memory().remember("the lamp of room 1 is broken")
    app.memory().search("lamp")
    other = make_app(load_settings(home.variables))
    for number in (2, 3):
        other.memory().remember(f"the lamp of room {number} is broken")
        hits = app.memory().search(f"lamp of room {number}").hits
        assert hits[0].passage.text == f"the lamp of room {number} is broken"
        assert "similarity" in hits[0].why
    other.close()


def test_what_is_superseded_during_a_search_of_falkor_is_not_found(
    app: App, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = app.memory()
    old = memory.remember("the lamp of room 1 is broken")
    memory.search("lamp")
    other = make_app(load_settings(home.variables))
    ask_together = GraphHandle.ask_together

    def late(graph: GraphHandle, *queries: Query) -> Any:
        """Somebody writes between the first look of a search and the second."""
        monkeypatch.setattr(GraphHandle, "ask_together", ask_together)
        other.memory().remember("the lamp of room 1 is repaired", supersedes=[old.memory_id])
        return graph.ask_together(*queries)

    monkeypatch.setattr(GraphHandle, "ask_together", late)
    hits = memory.search("lamp of room 1", mode="deep").hits
    other.close()
    assert "the lamp of room 1 is broken" not in [hit.passage.text for hit in hits]


def test_a_vector_set_of_falkor_that_is_far_behind_catches_up_with_all(
    app: App, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "_TAIL", 3)
    monkeypatch.setattr(vectors, "_BATCH", 2)
    for number in range(11):
        app.memory().remember(f"the lamp of room {number} is broken")
    keeper = app.engine.open("default").keeper
    keeper._vectors.forget(0)  # type: ignore[attr-defined]
    keeper.repair("vector_files", [], actor="test", now=datetime.now(UTC))
    assert vectors_of(app) == (11, 11)


def test_a_vector_set_of_falkor_gets_what_others_left_behind_also_from_one_who_wrote_before(
    app: App, home: Home
) -> None:
    other = make_app(load_settings(home.variables))
    apps = (app, app, other, app, other, other, app, app)
    for number, each in enumerate(apps):
        each.memory().remember(f"the lamp of room {number} is broken")
        assert vectors_of(app) == (number, number + 1)
    app.engine.open("default").keeper._vectors.forget(0)  # type: ignore[attr-defined]
    app.memory().remember("the lamp of the hall is broken")
    assert vectors_of(app) == (len(apps), len(apps) + 1)
    app.memory().remember("the lamp of the hall is broken")  # which adds nothing, and takes the last one along
    app.memory().remember("the lamp of the cellar is broken")
    assert vectors_of(app) == (len(apps) + 1, len(apps) + 2)
    other.close()
    assert app.engine.open("default").keeper.examine() == []


def test_what_is_added_during_a_search_of_falkor_is_found(
    app: App, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = app.memory()
    memory.remember("the lamp of room 1 is broken")
    memory.search("lamp")
    other = make_app(load_settings(home.variables))
    look = GraphHandle.look

    def late(graph: GraphHandle, *asked: Any, **steady: Any) -> Any:
        """Somebody writes between the opening of the workspace and the first look."""
        monkeypatch.setattr(GraphHandle, "look", look)
        other.memory().remember("the lamp of room 2 is broken")
        return graph.look(*asked, **steady)

    monkeypatch.setattr(GraphHandle, "look", late)
    hits = memory.search("lamp of room 2", mode="deep").hits
    other.close()
    assert hits[0].passage.text == "the lamp of room 2 is broken"
    assert "similarity" in hits[0].why


def test_falkor_knows_at_once_that_hits_were_read_though_no_search_waits_for_that(app: App) -> None:
    memory = app.memory()
    made = memory.remember("the lamp of room 1 is broken")
    graph = graph_of(app)
    for number in range(1, 20):
        at = datetime(2100, 1, 1, 0, number, tzinfo=UTC)
        app.engine.open("default").mark_seen({made.memory_id: at})
        assert graph.ask("MATCH (m:Memory) RETURN m.last_seen_at") == [[int(at.timestamp() * 1_000_000)]]
