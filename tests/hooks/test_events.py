"""What clients say to a hook, hostile and odd input among it."""

from typing import Any

import pytest

from memsweep.hooks.event import edited_files, read_event


def event(name: str = "PostToolUse", **said: Any) -> Any:
    return read_event(name, said)


def test_codex_is_told_by_what_only_it_says() -> None:
    assert event(turn_id="t").client == "codex"
    assert event(transcript_path="/home/x/.codex/sessions/r.jsonl").client == "codex"
    assert event(transcript_path="/home/x/.claude/projects/s.jsonl").client == "claude"


@pytest.mark.parametrize(
    ("said", "of_a_person"),
    [
        ({"prompt": "x"}, True),
        ({"prompt": "x", "source": "user"}, True),
        ({"prompt": "x", "source": "scheduled"}, False),
        ({"prompt": "x", "agent_id": "a"}, False),
    ],
)
def test_prompts_that_no_person_typed_are_known(said: dict[str, Any], of_a_person: bool) -> None:
    assert event("UserPromptSubmit", **said).is_of_a_person is of_a_person


def test_the_source_of_a_session_is_no_speaker() -> None:
    assert event("SessionStart", source="compact").is_of_a_person


PATCH = "*** Begin Patch\n*** Add File: a/new.py\n+x\n*** Update File: /p/old.py\n@@\n*** End Patch"


@pytest.mark.parametrize(
    ("tool", "inputs", "paths"),
    [
        ("Edit", {"file_path": "/p/a.py"}, ["/p/a.py"]),
        ("Write", {"file_path": "b.py"}, ["/p/b.py"]),
        ("NotebookEdit", {"notebook_path": "n.ipynb"}, ["/p/n.ipynb"]),
        ("apply_patch", {"input": PATCH}, ["/p/a/new.py", "/p/old.py"]),
        ("Read", {"file_path": "/p/a.py"}, []),
        ("Bash", {"command": "echo > a.py"}, []),
        ("Edit", {"file_path": 7}, []),
        ("Edit", {"file_path": "a\0b"}, []),
        ("Edit", {"file_path": "../../etc/passwd"}, ["/etc/passwd"]),
        ("apply_patch", {}, []),
    ],
)
def test_the_files_that_a_tool_wrote(tool: str, inputs: dict[str, Any], paths: list[str]) -> None:
    assert edited_files(event(cwd="/p", tool_name=tool, tool_input=inputs)) == paths


@pytest.mark.parametrize("said", [None, [], 7, "x", {"session_id": {}, "cwd": 7, "tool_input": "x", "prompt": []}])
def test_odd_input_is_empty(said: Any) -> None:
    found = read_event("UserPromptSubmit", said)
    assert (found.session, found.folder, found.prompt, found.tool_input) == ("", "", "", {})
