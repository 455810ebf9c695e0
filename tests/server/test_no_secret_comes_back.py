"""Through the server and the command line: what is redacted is said, and no answer or error repeats it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.secrets.test_ways_in import AWS, AWS_MARK
from tests.server.test_long_values import SMALL
from tests.support.client import MODES, ServerClient, ToolFailed, connected
from tests.support.commands import Ran
from tests.support.counts import some_of

VALUES: list[Any] = [AWS, [AWS], [{"name": AWS, "text": AWS}]]
NAMES = {("create_workspace", "workspace_id"), ("create_workspace", "name")}
"""What is called so on purpose."""


@pytest.fixture(scope="module", params=some_of(MODES, 1))
def mode(request: pytest.FixtureRequest) -> str:
    """One generation of the protocol shows it; a soak takes both."""
    return str(request.param)


def test_each_door_says_what_it_redacted(server: ServerClient) -> None:
    remembered = server.call("add_memory", text=f"The deploy key is {AWS}.")
    assert remembered["redacted"] == ["aws-access-key"]
    assert server.call("get_memory", memory_id=remembered["memory_id"])["text"] == f"The deploy key is {AWS_MARK}."
    assert "redacted" not in server.call("add_memory", text="Nothing to hide.")
    related = server.call("graph_relate", from_entity="Ada", relation="HAS", to_entity=f"Key {AWS}")
    assert related["redacted"] == ["aws-access-key"]
    added = server.call("context_add", project_id="p", segments=[{"text": f"use {AWS}", "segment_id": "s"}])
    assert added["notes"] == ["Redacted: aws-access-key."]
    compressed = server.call("context_compress", project_id="p", segment_ids=["s"], summary=f"It was {AWS}.")
    assert compressed["message"].endswith("Redacted: aws-access-key.")


@pytest.mark.slow
def test_no_tool_answers_with_a_secret(server: ServerClient, log: Path) -> None:
    wrong = []
    for tool in server.tools().values():
        schema = tool.input_schema
        for name in [*schema["properties"], AWS]:
            for value in VALUES:
                others = {
                    other: SMALL[schema["properties"][other].get("type", "string")]
                    for other in schema.get("required", [])
                }
                result = server.call_raw(tool.name, {**others, name: value})
                if (
                    any(AWS in getattr(content, "text", "") for content in result.content)
                    and (tool.name, name) not in NAMES
                ):
                    wrong.append((tool.name, name, value))
    assert wrong == []
    assert AWS not in log.read_text()


def test_a_refusal_is_one_sentence_without_the_secret(tmp_path: Path, mode: str) -> None:
    strict = connected(tmp_path / "home", mode, MEMSWEEP_SECRETS_ACTION="refuse")
    with strict as client, pytest.raises(ToolFailed) as refused:
        client.call("add_memory", text=f"The deploy key is {AWS}.")
    assert str(refused.value).startswith("Error: text holds a secret (aws-access-key); nothing was stored.")
    assert AWS not in str(refused.value)


@pytest.mark.slow
def test_the_command_line_says_it_too(run: Callable[..., Ran], tmp_path: Path) -> None:
    assert "Redacted: aws-access-key." in run("remember", f"The deploy key is {AWS}.").out
    assert json.loads(run("remember", f"Another {AWS}.", "--json").out)["redacted"] == ["aws-access-key"]
    assert "Redacted: aws-access-key." in run("graph", "relate", "Ada", "HAS", f"Key {AWS}").out
    session = tmp_path / "session.json"
    session.write_text(json.dumps([{"role": "user", "content": f"use {AWS}"}]))
    assert "Redacted: aws-access-key." in run("context", "import", str(session)).out
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "a.py").write_text(f'KEY = "{AWS}"\n')
    indexed = run("index", str(tmp_path / "r"))
    assert "a.py: redacted a secret (aws-access-key)" in indexed.out + indexed.err
    for words in (["get", AWS], ["graph", "related", AWS], ["search", "x", "--limit", AWS], [AWS], ["undo", AWS]):
        ran = run(*words)
        assert AWS not in ran.out + ran.err, words
