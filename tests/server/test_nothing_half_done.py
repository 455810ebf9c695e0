"""A call that is refused leaves nothing behind: no workspace, no plan, no line in the audit log."""

from pathlib import Path
from typing import Any

import pytest

from tests.support import contents
from tests.support.client import MODES, ServerClient, ToolFailed
from tests.support.counts import some_of

pytestmark = pytest.mark.soak

BAD_VALUES: dict[str, list[Any]] = {
    "string": ["no such thing", "\0", "", "x" * 5000, "2026-99-99"],
    "integer": [-1, 0, 10**12],
    "number": [-1.0, 1e308, float("nan")],
    "array": [["no such thing"], [""], ["\0"], ["x" * 5000], [{}], [{"from": "a"}]],
    "object": [{"unknown": 1}, {"a": "\0"}, {"entities": [{}]}],
    "boolean": [],
}
GOOD: dict[str, Any] = {
    "text": "Ada works at Acme with Bob.",
    "query": "ada",
    "segments": [{"text": "a note", "type": "note"}],
    "from_entity": "Ada",
    "to_entity": "Acme",
    "relation": "WORKS_AT",
    "entity": "Ada",
    "entities": ["Ada"],
}
SMALL: dict[str, Any] = {"string": "x", "integer": 1, "number": 0.5, "boolean": True, "array": ["x"], "object": {}}


@pytest.fixture(scope="module", params=some_of(MODES, 1))
def mode(request: pytest.FixtureRequest) -> str:
    """One generation of the protocol shows it; a soak takes both."""
    return str(request.param)


def _calls(schema: dict[str, Any], tool: str) -> list[tuple[str, dict[str, Any]]]:
    """A call for each parameter with each bad value, everything else as it should be."""
    fields = {name: field for name, field in schema["properties"].items() if name not in ("workspace_id", "context")}
    wanted = {
        name: GOOD.get(name, SMALL[field.get("type", "string")])
        for name, field in fields.items()
        if name in schema.get("required", []) or (tool == "graph_relate" and name in GOOD)
    }
    return [
        (name, {**wanted, name: value})
        for name, field in fields.items()
        for value in BAD_VALUES.get(field.get("type", "string"), [])
    ]


def test_what_is_refused_makes_no_workspace(server: ServerClient) -> None:
    refused = {}
    for tool in server.tools().values():
        if "workspace_id" not in tool.input_schema["properties"] or tool.name == "create_workspace":
            continue
        for number, (name, arguments) in enumerate(_calls(tool.input_schema, tool.name)):
            workspace = f"w-{tool.name.replace('_', '-')}-{number}"[:60]
            result = server.call_raw(tool.name, {**arguments, "workspace_id": workspace})
            if result.is_error:
                refused[workspace] = f"{tool.name}: {name} {str(arguments[name])[:20]!r}"
    assert [refused[workspace] for workspace in _workspaces(server) & refused.keys()] == []
    assert len(refused) > 200


def test_what_is_refused_writes_nothing(server: ServerClient, served_home: Path) -> None:
    server.call("add_memory", text=GOOD["text"], relations=[{"from": "Ada", "relation": "WORKS_AT", "to": "Acme"}])
    written = []
    with contents.opened(served_home) as memory:
        before = memory.revision()
        for tool in server.tools().values():
            for name, arguments in _calls(tool.input_schema, tool.name):
                result = server.call_raw(tool.name, arguments)
                after = memory.revision()
                if result.is_error and after != before:
                    written.append(f"{tool.name}: {name} {str(arguments[name])[:20]!r}")
                before = after
    assert not written, "\n".join(written)


@pytest.mark.parametrize("tool", ["prune_memory", "graph_prune"])
@pytest.mark.parametrize("bad", [{"cursor": "bad"}, {"limit": 0}, {"limit": 10**9}])
def test_a_page_that_cannot_be_shown_saves_no_plan(
    server: ServerClient, served_home: Path, tool: str, bad: dict[str, Any]
) -> None:
    server.call("add_memory", text="something")
    if not bad.keys() <= server.tools()[tool].input_schema["properties"].keys():
        pytest.skip(f"{tool} has no such parameter")
    with contents.opened(served_home) as memory:
        before = memory.revision()
        with pytest.raises(ToolFailed, match=next(iter(bad))):
            server.call(tool, **bad)
        assert memory.revision() == before


def test_graph_prune_shows_and_applies_no_plan_of_another_strategy(server: ServerClient) -> None:
    server.call("add_memory", text="over", expires_at="2020-01-01T00:00:00Z")
    plan = server.call("prune_memory", strategy="expired")["plan_id"]
    for more in ({}, {"mode": "execute", "confirm": True}):
        with pytest.raises(ToolFailed, match=r"of strategy 'expired', not 'decayed'.* prune_memory applies it"):
            server.call("graph_prune", plan_id=plan, **more)
    assert server.call("prune_memory", plan_id=plan, dry_run=False, confirm=True)["deleted_memories"] == 1


def _workspaces(server: ServerClient) -> set[str]:
    return {each["workspace_id"] for each in server.call("list_workspaces")["workspaces"]}
