"""What a person can ask for by a command of the client."""

import re
from typing import Any

import anyio
import pytest
from mcp.shared.exceptions import MCPError

from memsweep.app import App
from memsweep.server.app import make_server
from memsweep.server.start import PROFILES, Profile
from tests.support.client import ServerClient


def _prompt(server: ServerClient, name: str, **arguments: Any) -> str:
    found = server.result_of(server.client.get_prompt, name, arguments)
    (message,) = found.messages
    assert message.role == "user"
    return str(message.content.text)


def test_the_four_are_there_and_say_what_they_are_asked_about(server: ServerClient) -> None:
    listed = server.result_of(server.client.list_prompts).prompts
    assert [each.name for each in listed] == ["brief_me", "what_do_you_know", "clean_up", "forget"]
    assert all(each.description for each in listed)
    assert "briefing" in _prompt(server, "brief_me")
    assert "dry run" in _prompt(server, "clean_up")
    assert "the build 🎉" in _prompt(server, "what_do_you_know", about="the build 🎉")
    assert "Ada's address" in _prompt(server, "forget", what="Ada's address")


@pytest.mark.parametrize(("name", "arguments"), [("forget", {}), ("what_do_you_know", {"what": "x"}), ("nothing", {})])
def test_what_a_prompt_does_not_take_is_refused_in_a_sentence(
    server: ServerClient, name: str, arguments: dict[str, str]
) -> None:
    with pytest.raises(MCPError) as refused:
        _prompt(server, name, **arguments)
    assert refused.value.code == -32602
    assert "Traceback" not in str(refused.value)


@pytest.mark.parametrize("profile", PROFILES)
def test_every_tool_that_a_prompt_cannot_do_without_is_in_the_profile(app: App, profile: Profile) -> None:
    server = make_server(app, profile)
    tools = {tool.name for tool in anyio.run(server.list_tools)}
    prompts = {prompt.name for prompt in anyio.run(server.list_prompts)}
    assert ("forget" in prompts) is ("delete_memory" in tools)
    assert ("clean_up" in prompts) is ("prune_memory" in tools)
    assert {"brief_me", "what_do_you_know"} <= prompts


@pytest.mark.slow
def test_what_a_prompt_names_is_a_tool(app: App) -> None:
    server = make_server(app, "full")
    tools = {tool.name for tool in anyio.run(server.list_tools)}
    for prompt in anyio.run(server.list_prompts):
        given = {each.name: "x" for each in prompt.arguments or ()}
        (message,) = anyio.run(server.get_prompt, prompt.name, given).messages
        said = re.findall(r"\b(?:search|prune|delete|graph)_\w+|\bbriefing\b", message.content.text)
        assert said
        assert set(said) <= tools
