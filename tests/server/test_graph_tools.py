"""Every tool on the graph as a whole, as an agent calls it."""

import json
import os
import uuid
from pathlib import Path

import pytest

from tests.support.client import ServerClient, ToolFailed
from tests.support.engines import ENGINES


@pytest.fixture(scope="module", params=ENGINES)
def served_engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def workspace(server: ServerClient) -> str:
    """A small graph of its own for each test; the server is shared."""
    name = f"w{uuid.uuid4().hex[:12]}"
    relations = [
        {"from": "ada", "to": "engine", "relation": "WORKS_ON"},
        {"from": "ada", "to": "london", "relation": "LIVES_IN"},
        {"from": "ada", "to": "paris", "relation": "LIVES_IN", "weight": 0.5},
    ]
    things = [
        ("ada", "Ada", "Person"),
        ("engine", "Engine", "Project"),
        ("london", "London", ""),
        ("paris", "Paris", ""),
    ]
    entities = [{"local_id": own, "name": shown, "type": kind} for own, shown, kind in things]
    server.call("graph_relate", batch={"entities": entities, "relations": relations}, workspace_id=name)
    return name


def test_a_status_counts_what_is_there(server: ServerClient, workspace: str) -> None:
    found = server.call("graph_status", workspace_id=workspace)
    assert (found["entities"], found["relations"], found["components"], found["orphans"]) == (4, 3, 1, 0)
    assert found["by_type"] == {"Concept": 2, "Person": 1, "Project": 1}
    assert sum(found["decay"]["confidence"].values()) == 4
    assert sum(found["decay"]["weight"].values()) == 3


def test_a_query_goes_outwards(server: ServerClient, workspace: str) -> None:
    found = server.call("graph_query", entities=["Paris", "Engine"], min_weight=0.6, workspace_id=workspace)
    assert [each["name"] for each in found["entities"]] == ["Paris", "Engine"]
    assert {each["name"]: each["hops"] for each in found["related"]} == {"Ada": 1, "London": 2}
    with pytest.raises(ToolFailed, match="'Nobody' is not known"):
        server.call("graph_query", entities=["Nobody"], workspace_id=workspace)


def test_doubts_and_a_briefing_name_the_contradiction(server: ServerClient, workspace: str) -> None:
    found = server.call("graph_validate", workspace_id=workspace)
    assert (found["total"], found["counts"]) == (1, {"contradiction": 1})
    assert found["findings"][0]["why"] == "'Ada' has several current LIVES_IN: 'London', 'Paris'."
    told = server.call("graph_context", limit=2, workspace_id=workspace)
    assert [each["why"] for each in told["contradictory"]] == [found["findings"][0]["why"]]
    assert told["central"][0]["name"] == "Ada"
    assert len(told["recent"]) == 2
    assert told["stale"] == []
    assert told["summary"].startswith("4 entities, 3 current facts")


def test_communities_have_members(server: ServerClient, workspace: str) -> None:
    found = server.call("graph_communities", workspace_id=workspace)
    assert sum(each["size"] for each in found["communities"]) == 4
    assert found["total"] == len(found["communities"])


def test_a_text_becomes_facts(server: ServerClient, workspace: str) -> None:
    text = "Ada works on the Engine.\nMary (Person) -[TEACHES]-> Ada"
    look = server.call("build_graph", text=text, options={"dry_run": True}, workspace_id=workspace)
    assert (look["dry_run"], look["entities_created"]) == (True, 0)
    done = server.call("build_graph", text=text, workspace_id=workspace)
    assert (done["entities_created"], done["relations_created"], done["relations_strengthened"]) == (1, 1, 1)
    assert {(each["from"], each["relation"], each["to"]) for each in done["relations"]} == {
        ("Ada", "WORKS_ON", "Engine"),
        ("Mary", "TEACHES", "Ada"),
    }


@pytest.mark.parametrize("form", ["json", "graphml", "cytoscape", "cypher"])
def test_a_graph_is_exported_into_the_folder_and_imported(
    server: ServerClient, workspace: str, served_home: Path, form: str
) -> None:
    file = f"{workspace}.{form}"
    done = server.call("export_graph", format=form, file=file, workspace_id=workspace)
    written = served_home / "exports" / file
    assert Path(done["path"]) == written.resolve()
    assert (done["entities"], done["relations"], done["bytes"]) == (4, 3, written.stat().st_size)
    assert oct(written.stat().st_mode & 0o777) == "0o600"
    into = f"{workspace}-2"
    made = server.call("import_graph", file=file, workspace_id=into)
    assert (made["entities_created"], made["relations_created"]) == (4, 3)
    again = server.call("import_graph", content=written.read_text("utf-8"), workspace_id=into)
    assert (again["entities_known"], again["relations_known"], again["entities_created"]) == (4, 3, 0)
    with pytest.raises(ToolFailed, match="exists already"):
        server.call("export_graph", format=form, file=file, workspace_id=workspace)
    server.call("export_graph", format=form, file=file, overwrite=True, workspace_id=workspace)


@pytest.mark.parametrize("file", ["../stolen.json", os.path.abspath("stolen.json"), "a/../../stolen.json"])
def test_an_agent_cannot_write_or_read_outside_the_export_folder(
    server: ServerClient, workspace: str, served_home: Path, file: str
) -> None:
    served_home.mkdir(exist_ok=True)  # on FalkorDB there is none yet
    secret = served_home / "stolen.json"
    secret.write_text(json.dumps({"entities": []}))
    for tool in ("export_graph", "import_graph"):
        with pytest.raises(ToolFailed, match="not inside the export folder"):
            server.call(tool, file=file, workspace_id=workspace)
    assert secret.read_text() == json.dumps({"entities": []})


def test_an_undo_names_the_entities_and_relations_that_came_back(server: ServerClient, workspace: str) -> None:
    pruned = server.call("clear_all", confirm_phrase="DELETE ALL MEMORIES", workspace_id=workspace)
    back = server.call("undo_prune", receipt_id=pruned["receipt_id"], workspace_id=workspace)
    assert back["message"] == "Restored 4 entities and 3 relations."
    look = server.call("merge_entities", ids=["Paris"], into="London", workspace_id=workspace)
    done = server.call("merge_entities", plan_id=look["plan_id"], dry_run=False, workspace_id=workspace)
    counts = ("mentions_moved", "relations_moved", "relations_joined")
    assert [look[name] for name in counts] == [done[name] for name in counts] == [0, 1, 1]
    back = server.call("undo_prune", receipt_id=done["receipt_id"], workspace_id=workspace)
    assert back["message"] == "Restored 1 entity and 1 relation."
