"""What users hold on to: the public names, the errors, the size of the tool surface, the documents."""

import inspect
import json
import re
from functools import cache

import anyio
import pytest
from scripts import record_answers, write_docs

import memsweep
from memsweep import errors
from memsweep.app import App
from memsweep.cli.door import command_line
from memsweep.server.app import INSTRUCTIONS, make_server
from memsweep.server.start import CHOSEN, PROFILES
from memsweep.settings import load_settings
from tests.house.tree import ROOT
from tests.support.answers import explained_names

MOST_SCHEMA_TOKENS = {"default": 5000, "core": 2000, "graph": 5000, "context": 4000, "read-only": 3000, "full": 10000}


@cache
def _tools(profile):
    app = App(load_settings({"MEMSWEEP_HOME": "/nonexistent"}))
    return anyio.run(make_server(app, profile).list_tools)


def test_the_public_names_are_these():
    assert memsweep.__all__ == [
        "AsyncMemory",
        "ContextHeap",
        "Memory",
        "MemsweepError",
        "__version__",
        "open_memory",
        "open_memory_async",
        "sweep_messages",
    ]
    assert all(getattr(memsweep, name) is not None for name in memsweep.__all__)


def test_the_error_tree_is_drawn_as_it_is():
    drawn = dict(re.findall(r"(\w+) +(\d) ", errors.__doc__))
    real = {
        name: str(kind.exit_status)
        for name, kind in inspect.getmembers(errors, inspect.isclass)
        if issubclass(kind, errors.MemsweepError)
    }
    assert drawn == real


def test_every_error_has_a_code_of_its_own():
    kinds = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, Exception)]
    assert len({kind.code for kind in kinds}) == len(kinds)


@pytest.mark.parametrize("profile", PROFILES)
def test_every_profile_stays_under_its_budget_of_tokens_and_the_page_says_so(profile):
    tools = [tool.model_dump(by_alias=True, exclude_none=True, mode="json") for tool in _tools(profile)]
    tokens = len(json.dumps({"tools": tools}, separators=(",", ":"), ensure_ascii=False).encode()) / 4
    assert tokens < MOST_SCHEMA_TOKENS[profile]
    page = (ROOT / "docs" / "tools.md").read_text("utf-8")
    assert re.search(rf"^\| `{profile}` \|.*\| {MOST_SCHEMA_TOKENS[profile]:,} \|$", page, re.MULTILINE)


def test_every_tool_that_a_profile_names_exists():
    known = {tool.name for tool in _tools("full")}
    for profile, names in CHOSEN.items():
        assert set(names) <= known, profile
        assert {tool.name for tool in _tools(profile)} == set(names)


def test_the_read_only_profile_changes_nothing():
    assert all(tool.annotations.read_only_hint for tool in _tools("read-only"))


def test_an_agent_can_read_what_it_can_write():
    names = {tool.name for tool in _tools("default")}
    assert {"briefing", "graph_query", "update_memory", "undo", "undo_prune"} <= names
    loaded = [tool.name for tool in _tools("default") if (tool.meta or {}).get("anthropic/alwaysLoad")]
    assert loaded == ["briefing", "add_memory", "search_memory"]


@pytest.mark.parametrize("profile", PROFILES)
def test_every_argument_has_a_type_and_every_object_its_fields(profile):
    for tool in _tools(profile):
        for name, schema in tool.input_schema["properties"].items():
            assert _untyped(schema, f"{tool.name}.{name}") in FREE, f"{tool.name}.{name} is {schema}"


FREE = {"", "add_memory.metadata", "update_memory.metadata", "import_graph.content"}  # anything may be in them


def _untyped(schema, place):
    """The place of the first part that says nothing about what may be in it."""
    for part in schema.get("anyOf", [schema]):
        kind = part.get("type")
        if kind is None or (kind == "array" and "items" not in part):
            return place
        if kind == "object" and "properties" not in part and not isinstance(part.get("additionalProperties"), dict):
            return place
        below = [*part.get("properties", {}).values(), *([part["items"]] if kind == "array" else [])]
        if found := next((found for each in below if (found := _untyped(each, place))), ""):
            return found
    return ""


def test_the_instructions_are_read_whole():
    assert len(INSTRUCTIONS) < 4000
    for said in ("briefing", "search_memory", "add_memory", "update_memory", "prune_memory", "undo", "data, never"):
        assert said in INSTRUCTIONS


@pytest.mark.parametrize("profile", PROFILES)
def test_every_tool_says_what_it_does_to_the_world(profile):
    for tool in _tools(profile):
        assert tool.description, tool.name
        assert tool.annotations.read_only_hint is not None, tool.name
        assert tool.output_schema == {"type": "object"}, tool.name
        assert "  " not in tool.description, tool.name
        assert tool.input_schema["additionalProperties"] is False, tool.name


def test_every_tool_and_argument_is_documented():
    """The fields of answers are compared in every call of a test (tests/support/client.py)."""
    for tool in _tools("full"):
        assert tool.name in explained_names(), f"docs/tools.md has no section for {tool.name}"
        unexplained = tool.input_schema["properties"].keys() - explained_names()[tool.name]
        assert unexplained == set(), f"docs/tools.md does not explain them at {tool.name}"


def test_every_documented_tool_exists():
    page = (ROOT / "docs" / "tools.md").read_text("utf-8")
    assert set(re.findall(r"^### `(\w+)`", page, re.MULTILINE)) == {tool.name for tool in _tools("full")}


def _commands(app, prefix=""):
    for command in app.registered_commands:
        yield f"{prefix}{command.name or command.callback.__name__}", command.callback
    for group in app.registered_groups:
        yield from _commands(group.typer_instance, f"{prefix}{group.name} ")


def test_every_command_is_documented_and_says_what_it_does():
    page = (ROOT / "docs" / "cli.md").read_text("utf-8")
    for name, callback in _commands(command_line()):
        assert f"`memsweep {name}" in page, name
        assert callback.__doc__, name


def test_what_the_documents_say_of_the_code_is_up_to_date():
    assert [name for name, _ in write_docs.out_of_date()] == [], "run `make docs`"


def test_what_the_server_says_first_is_up_to_date():
    assert record_answers.is_current(), "run `make docs`"


def test_links_between_documents_lead_somewhere():
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *ROOT.glob("docs/**/*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
