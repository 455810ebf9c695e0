"""A client that offers its roots is served with the workspace of its project."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memsweep.server.app import folder_of
from tests.project.conftest import repository
from tests.support.client import RawServer, raw_server


@pytest.fixture
def server(home: Path) -> Iterator[RawServer]:
    with raw_server(home) as server:
        capabilities = {"roots": {"listChanged": True}}
        client = {"name": "test", "version": "1"}
        server.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": client})
        server.notify("notifications/initialized")
        yield server


def call(server: RawServer, roots: Any, name: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool, and answer the question for roots that comes first."""
    number = server.send("tools/call", {"name": name, "arguments": arguments})
    message = json.loads(server.line())
    assert message["method"] == "roots/list"
    server.send_bytes(json.dumps({"jsonrpc": "2.0", "id": message["id"], **roots}).encode())
    answer: dict[str, Any] = server.answer(number)["result"]["structuredContent"]
    return answer


def test_the_first_root_is_the_project_and_is_asked_for_once(server: RawServer, tmp_path: Path) -> None:
    one, two = repository(tmp_path / "one"), repository(tmp_path / "two")
    roots = {"result": {"roots": [{"uri": one.as_uri()}, {"uri": two.as_uri()}]}}
    assert call(server, roots, "list_workspaces")["current"].startswith("one-")
    again = server.call("list_workspaces", {})
    assert again["result"]["structuredContent"]["current"].startswith("one-")
    server.notify("notifications/roots/list_changed")
    roots = {"result": {"roots": [{"uri": two.as_uri()}]}}
    assert call(server, roots, "list_workspaces")["current"].startswith("two-")


@pytest.mark.parametrize(
    "answer",
    [
        {"error": {"code": -32601, "message": "no"}},
        {"result": {"roots": []}},
        {"result": {"roots": [{"uri": "https://example.com/x"}]}},
        {"result": {"roots": [{"uri": "file:///does/not/exist"}]}},
        {"result": {"other": 1}},
    ],
)
def test_an_answer_that_says_nothing_leaves_it_at_the_working_directory(server: RawServer, answer: Any) -> None:
    assert call(server, answer, "list_workspaces")["current"] == "default"


@pytest.mark.parametrize("is_before", [False, True], ids=["serve --project", "--project serve"])
def test_who_started_the_server_with_a_project_knows_better(home: Path, tmp_path: Path, is_before: bool) -> None:
    named = ["--project", str(repository(tmp_path / "mine"))]
    with raw_server(home, *([] if is_before else named), options=named if is_before else ()) as server:
        capabilities = {"roots": {}}
        client = {"name": "test", "version": "1"}
        server.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": client})
        server.notify("notifications/initialized")
        current = server.call("list_workspaces", {})["result"]["structuredContent"]["current"]
        assert current.startswith("mine-")


@pytest.mark.parametrize(
    ("uri", "folder"),
    [
        ("file:///a/b%20c", "/a/b c"),
        ("file://localhost/a", "/a"),
        ("file://elsewhere/a", ""),
        ("http://x/a", ""),
        ("", ""),
    ],
)
def test_only_folders_of_this_machine_count(uri: str, folder: str) -> None:
    assert folder_of(uri) == folder
