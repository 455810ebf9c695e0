"""Every tool of remembering and recalling, as an agent calls it."""

import json
import uuid
from functools import partial
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from mcp.shared.exceptions import MCPError

from memsweep.app import make_app
from memsweep.settings import load_settings
from tests.support.client import ServerClient, ToolFailed, connected
from tests.support.paging import pages_of

DEFAULT_TOOLS = {"add_memory", "search_memory", "get_memory", "get_stats", "create_workspace", "list_workspaces"}
FULL_TOOLS = {*DEFAULT_TOOLS, "delete_workspace"}


@pytest.fixture
def workspace() -> str:
    """A workspace of its own for each test; the server is shared."""
    return f"w{uuid.uuid4().hex[:12]}"


def test_both_generations_of_the_protocol_are_spoken(server: ServerClient, mode: str) -> None:
    assert (server.protocol_version >= "2026") == (mode == "auto")


def test_a_memory_is_added_found_and_read_back(server: ServerClient, workspace: str) -> None:
    text = 'Ada Lovelace – 漢字 🎉\r\nwrote "programs" \\ for the \x01 engine'
    added = server.call(
        "add_memory",
        text=text,
        tags=["history"],
        source="book",
        metadata={"page": 7, "nested": {"a": [None, 1.5]}},
        workspace_id=workspace,
        thread_id="t1",
        entities=["Ada Lovelace", {"name": "Engine", "type": "Machine"}],
        relations=[{"from": "Ada Lovelace", "relation": "programs", "to": "Engine", "to_type": "Machine"}],
        expires_at="2030-01-01",
        pinned=True,
    )
    assert added["chunks_created"] == 1
    assert added["entities_created"] == 2
    assert added["duplicate_of"] is None
    memory = server.call("get_memory", memory_id=added["memory_id"], workspace_id=workspace)
    shown = text.replace("\x01", "[U+0001]")
    assert memory["text"] == shown
    assert memory["metadata"] == {"page": 7, "nested": {"a": [None, 1.5]}}
    assert (memory["pinned"], memory["thread_id"], memory["expires_at"]) == (True, "t1", "2030-01-01T00:00:00Z")
    found = server.call("search_memory", query="who wrote programs", workspace_id=workspace)
    assert found["total"] == 2  # and the fact that it states
    (result,) = (each for each in found["results"] if "memory_id" in each)
    assert (result["memory_id"], result["text"]) == (added["memory_id"], shown)
    assert "; words: wrote, programs; " in result["why"]
    again = server.call("add_memory", text=text, workspace_id=workspace, thread_id="t1")
    assert again["duplicate_of"] == added["memory_id"]
    stats = server.call("get_stats", workspace_id=workspace)
    assert (stats["total_memories"], stats["total_entities"], stats["total_relations"]) == (1, 2, 1)


def test_metadata_as_deep_as_it_may_be_comes_back(server: ServerClient, workspace: str, served_home: Path) -> None:
    deep: dict[str, Any] = {}
    for _ in range(63):
        deep = {"a": deep}
    app = make_app(load_settings({"MEMSWEEP_HOME": str(served_home)}))
    added = app.memory(workspace).remember("deep", metadata=deep)
    app.close()
    assert server.call("get_memory", memory_id=added.memory_id, workspace_id=workspace)["metadata"] == deep


def test_a_memory_takes_the_place_of_another(server: ServerClient, workspace: str) -> None:
    old = server.call("add_memory", text="The office is in Berlin.", workspace_id=workspace)
    new = server.call("add_memory", text="The office is in Paris.", workspace_id=workspace)
    assert "similar" not in old
    ((similar),) = new["similar"]
    assert (similar["memory_id"], similar["kind"]) == (old["memory_id"], "contradicts")
    assert similar["differs"] == [["office is in Paris", "office is in Berlin"]]
    again = server.call(
        "add_memory", text="The office is in Paris.", supersedes=[old["memory_id"]], workspace_id=workspace
    )
    assert (again["duplicate_of"], again["supersedes"]) == (new["memory_id"], [old["memory_id"]])
    found = server.call("search_memory", query="office in Berlin", workspace_id=workspace)
    assert [hit["memory_id"] for hit in found["results"]] == [new["memory_id"]]
    ((link),) = server.call("get_memory", memory_id=old["memory_id"], workspace_id=workspace)["superseded_by"]
    assert link["memory_id"] == new["memory_id"]
    past = server.call("search_memory", query="office", filters={"as_of": "2020-01-01"}, workspace_id=workspace)
    assert past["results"] == []
    explained = server.call("explain_memory", id=old["memory_id"], workspace_id=workspace)
    assert any("superseded it" in said for said in explained["because"])


def test_searches_are_filtered_and_paged(server: ServerClient, workspace: str) -> None:
    for number in range(12):
        server.call(
            "add_memory", text=f"note number {number}", tags=["even"] if number % 2 == 0 else [], workspace_id=workspace
        )
    filters = {"tags": ["even"], "date_from": "2020-01-01"}
    search = partial(server.call, "search_memory", query="note", limit=4, workspace_id=workspace, detail="full")
    pages = list(pages_of(search, filters=filters))
    ids = [result["memory_id"] for page in pages for result in page["results"]]
    assert len(ids) == len(set(ids)) == pages[-1]["total"] == 6
    assert pages[-1]["results"][0]["lines"] == [1, 1]


def test_an_answer_stays_small(server: ServerClient, workspace: str) -> None:
    for number in range(50):
        tags = [f"{number} {at} " + "t" * 150 for at in range(20)]
        server.call("add_memory", text=f"{number} " + "long words " * 200, tags=tags, workspace_id=workspace)
    for detail in ("concise", "full"):
        for limit in (10, 50):
            found = server.call("search_memory", query="long words", limit=limit, workspace_id=workspace, detail=detail)
            assert len(json.dumps(found, ensure_ascii=False)) < 25_000
            assert "note" in found


def test_workspaces_are_created_listed_and_deleted(server: ServerClient, workspace: str) -> None:
    made = server.call("create_workspace", workspace_id=workspace, description="a test")
    assert (made["workspace_id"], made["description"]) == (workspace, "a test")
    with pytest.raises(ToolFailed, match=f"'{workspace}' exists already"):
        server.call("create_workspace", workspace_id=workspace)
    listed = server.call("list_workspaces")
    assert listed["current"] == "default"
    assert workspace in {item["workspace_id"] for item in listed["workspaces"]}
    with pytest.raises(ToolFailed, match="confirm=true"):
        server.call("delete_workspace", workspace_id=workspace)
    assert server.call("delete_workspace", workspace_id=workspace, confirm=True)["workspace_id"] == workspace
    with pytest.raises(ToolFailed, match=f"workspace '{workspace}' does not exist; known workspaces"):
        server.call("get_stats", workspace_id=workspace)


def test_an_id_of_another_workspace_is_not_found(server: ServerClient, workspace: str) -> None:
    added = server.call("add_memory", text="a secret", workspace_id=workspace)
    server.call("create_workspace", workspace_id=f"{workspace}-2")
    with pytest.raises(ToolFailed, match="does not exist in workspace"):
        server.call("get_memory", memory_id=added["memory_id"], workspace_id=f"{workspace}-2")


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("add_memory", {}, "text is required"),
    ("add_memory", {"text": ""}, "text is empty"),
    ("add_memory", {"text": "a\0b"}, "NUL character at position 1"),
    ("add_memory", {"text": 5}, "text: Input should be a valid string, not 5"),
    ("add_memory", {"text": None}, "text"),
    ("add_memory", {"text": ["x"]}, "text"),
    ("add_memory", {"text": "x", "tags": "a"}, "tags"),
    ("add_memory", {"text": "x", "tags": [5]}, "tags.0"),
    ("add_memory", {"text": "x", "metadata": "x"}, "metadata"),
    ("add_memory", {"text": "x", "metadata": [1]}, "metadata"),
    ("add_memory", {"text": "x", "entities": [5]}, "entities"),
    ("add_memory", {"text": "x", "entities": [{"type": "x"}]}, "an entity must be a name"),
    ("add_memory", {"text": "x", "relations": [{"from": "a"}]}, "a relation must be"),
    ("add_memory", {"text": "x", "expires_at": "2026-02-30"}, "expires_at '2026-02-30'"),
    ("add_memory", {"text": "x", "pinned": "maybe"}, "pinned"),
    ("add_memory", {"text": "x", "workspace_id": "../../escape"}, "'../../escape' is not valid"),
    ("add_memory", {"text": "x", "workspace_id": "a" * 64}, "is not valid"),
    ("add_memory", {"text": "x", "workspace_id": 5}, "workspace_id"),
    ("add_memory", {"text": "x", "source": "code_indexer"}, "kept for indexed code"),
    ("search_memory", {}, "query is required"),
    ("search_memory", {"query": "x", "limit": 0}, "limit must be from 1 to 50, not 0"),
    ("search_memory", {"query": "x", "limit": 51}, "limit must be from 1 to 50, not 51"),
    ("search_memory", {"query": "x", "limit": "many"}, "limit"),
    ("search_memory", {"query": "x", "limit": 2.5}, "limit"),
    ("search_memory", {"query": "x", "filters": {"tag": ["a"]}}, "filters has no field 'tag'"),
    ("search_memory", {"query": "x", "filters": {"tags": "a"}}, "filters.tags must be a list"),
    ("search_memory", {"query": "x", "filters": {"date_from": "soon"}}, "date_from 'soon'"),
    ("search_memory", {"query": "x", "cursor": "zzz"}, "cursor 'zzz' does not belong"),
    ("search_memory", {"query": "x", "detail": "some"}, "detail"),
    ("search_memory", {"query": "x", "workspace_id": "nowhere"}, "known workspaces"),
    ("get_memory", {}, "memory_id is required"),
    ("get_memory", {"memory_id": "mem_nothing"}, "'mem_nothing' does not exist"),
    ("get_memory", {"memory_id": ["x"]}, "memory_id"),
    ("get_stats", {"workspace_id": "nowhere"}, "'nowhere' does not exist"),
    ("create_workspace", {"workspace_id": ""}, "workspace id '' is not valid"),
    ("create_workspace", {"workspace_id": "Upper"}, "'Upper' is not valid"),
    ("create_workspace", {"workspace_id": "x", "description": "y" * 1001}, "description"),
    ("delete_workspace", {"workspace_id": "nowhere", "confirm": True}, "'nowhere' does not exist"),
]


@pytest.mark.parametrize(
    ("tool", "arguments", "said"), WRONG, ids=[f"{tool} {ascii(given)[:40]}" for tool, given, _ in WRONG]
)
def test_a_mistake_is_one_sentence_that_names_it(
    server: ServerClient, tool: str, arguments: dict[str, Any], said: str
) -> None:
    server.call("add_memory", text="so that there is a workspace")
    result = server.call_raw(tool, arguments)
    (content,) = result.content
    text = content.text  # type: ignore[union-attr]
    assert result.is_error
    assert text.startswith("Error: ")
    assert said in text
    assert "pydantic" not in text
    assert "Traceback" not in text
    assert len(text) < 600
    assert server.call("get_stats")["total_memories"] == 1


@pytest.mark.slow
def test_unknown_arguments_are_refused_by_every_tool(server: ServerClient) -> None:
    tools = server.tools()
    assert len(tools) >= len(FULL_TOOLS)
    for name, tool in tools.items():
        assert tool.input_schema["additionalProperties"] is False, name
        required = dict.fromkeys(tool.input_schema.get("required", []), "x")
        for unknown in ("nonsense", "Text", "text ", "workspace", "", "self", "ctx", "🎉"):
            result = server.call_raw(name, {**required, unknown: 1})
            (content,) = result.content
            assert result.is_error, name
            assert f"unknown argument {unknown!r}" in content.text, name  # type: ignore[union-attr]


def test_an_unknown_tool_is_refused(server: ServerClient) -> None:
    try:
        refused = server.call_raw("nonsense", {}).is_error
    except MCPError as error:  # as one of the generations says it
        refused = "nonsense" in str(error)
    assert refused


def test_every_tool_says_what_it_does_to_the_world(server: ServerClient) -> None:
    tools = server.tools()
    reads = {"search_memory", "get_memory", "get_stats", "list_workspaces"}
    for name in FULL_TOOLS:
        annotations = tools[name].annotations
        assert annotations is not None
        assert annotations.read_only_hint == (name in reads)
        assert bool(annotations.destructive_hint) == (name == "delete_workspace")
        assert annotations.open_world_hint is False
    assert tools["add_memory"].annotations.idempotent_hint  # type: ignore[union-attr]
    for name, tool in tools.items():
        assert tool.annotations is not None, name
        assert tool.description, name
        assert len(tool.description) < 300, name


@pytest.mark.slow
def test_every_schema_is_one_and_every_answer_fits_it(server: ServerClient, workspace: str) -> None:
    tools = server.tools()
    added = server.call("add_memory", text="x", workspace_id=workspace)
    calls: dict[str, dict[str, Any]] = {
        "add_memory": {"text": "y", "workspace_id": workspace},
        "search_memory": {"query": "x", "workspace_id": workspace},
        "get_memory": {"memory_id": added["memory_id"], "workspace_id": workspace},
        "get_stats": {"workspace_id": workspace},
        "create_workspace": {"workspace_id": f"{workspace}-s"},
        "list_workspaces": {},
        "delete_workspace": {"workspace_id": f"{workspace}-s", "confirm": True},
    }
    assert set(calls) == FULL_TOOLS
    for tool in tools.values():
        jsonschema.Draft202012Validator.check_schema(tool.input_schema)
        assert tool.output_schema is not None
        jsonschema.Draft202012Validator.check_schema(tool.output_schema)
    for name, arguments in calls.items():
        jsonschema.validate(arguments, tools[name].input_schema)
        server.call(name, **arguments)


@pytest.mark.slow
def test_the_default_profile_has_the_default_tools(tmp_path: Path, mode: str) -> None:
    with connected(tmp_path / "home", mode) as server:
        names = set(server.tools())
    assert names >= DEFAULT_TOOLS
    assert "delete_workspace" not in names


@pytest.mark.slow
def test_the_workspace_of_the_settings_is_the_current_one(tmp_path: Path, mode: str) -> None:
    with connected(tmp_path / "home", mode, MEMSWEEP_WORKSPACE="chosen") as server:
        server.call("add_memory", text="x")
        assert server.call("get_stats")["workspace_id"] == "chosen"
        assert server.call("list_workspaces")["current"] == "chosen"
