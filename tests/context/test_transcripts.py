"""Session files of every known form become segments; what is no session is refused in a sentence."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memsweep.context.service import ContextWindow
from memsweep.context.transcripts import read_transcript
from memsweep.errors import BadInput
from memsweep.model.tokens import estimate_tokens
from tests.context.build import NOW
from tests.context.windows import active


def line(own: str, role: str, content: Any, **more: Any) -> dict[str, Any]:
    message = {"role": role, "content": content}
    return {"type": role, "uuid": own, "timestamp": "2026-04-30T10:00:00.000Z", "message": message, **more}


READ = {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "/src/a.py", "offset": 5, "limit": 10}}
SESSION = [
    {"type": "summary", "summary": "Fixing taxes", "leafUuid": "x"},
    {"type": "file-history-snapshot", "messageId": "y"},
    line("u1", "user", "Totals are wrong."),
    line("u2", "assistant", [{"type": "text", "text": "Reading."}, READ], parentUuid="u1"),
    line("u3", "user", [{"type": "tool_result", "tool_use_id": "t1", "content": "def tax(): 0.19\0"}], parentUuid="u2"),
    line("u4", "user", "of another agent", isSidechain=True),
    line("u5", "user", "   "),
    line("u6", "user", "All of it in short", isCompactSummary=True),
]


def read(text: str) -> list[Any]:
    return read_transcript(text, now=NOW, count=estimate_tokens)


def test_a_claude_code_session_is_read_line_by_line() -> None:
    found = read("\n".join(map(json.dumps, SESSION)))
    assert [(s.segment_id, s.type, s.role, s.text) for s in found] == [
        ("summary-x", "summary", None, "Fixing taxes"),
        ("u1", "message", "user", "Totals are wrong."),
        ("u2", "message", "assistant", found[2].text),
        ("u3", "code", "tool", "def tax(): 0.19\ufffd"),
        ("u6", "summary", "user", "All of it in short"),
    ]
    assert found[2].text.startswith("Reading.\nRead {")
    assert (found[3].references, found[3].file_path, found[3].line_range) == (("u2",), "/src/a.py", (5, 14))
    assert found[1].created_at.isoformat() == "2026-04-30T10:00:00+00:00"
    assert found[1].references == ()


OPENAI = [
    {"role": "system", "content": "be brief"},
    {"role": "user", "content": "look"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c", "type": "function", "function": {"name": "ls", "arguments": '{"path": "src"}'}}],
    },
    {"role": "tool", "tool_call_id": "c", "content": "a.py"},
]


@pytest.mark.parametrize(
    "text", [json.dumps(OPENAI), json.dumps({"messages": OPENAI}), "[" + json.dumps(OPENAI[0]) + "]"]
)
def test_a_list_of_messages_is_read(text: str) -> None:
    found = read(text)
    assert (found[0].role, found[0].text) == ("system", "be brief")
    if len(found) > 1:
        assert (found[3].references, found[3].file_path, found[3].type) == ((found[2].segment_id,), "src", "code")


def test_our_own_form_is_read_as_it_was_written(window: ContextWindow) -> None:
    from memsweep.context import segments_to_json

    window.add_transcript(json.dumps(OPENAI))
    assert read(segments_to_json(window.segments())) == window.segments()


def test_a_file_that_grew_is_read_again_and_only_the_news_are_added(window: ContextWindow) -> None:
    first = window.add_transcript("\n".join(map(json.dumps, SESSION[:5])))
    window.prune(["u1"])
    window.prune(["u2"], strategy="delete", confirm=True)
    again = window.add_transcript("\n".join(map(json.dumps, SESSION)))
    assert again.segment_ids == ("u6",)
    assert set(again.known) == set(first.segment_ids)
    assert active(window) == ["summary-x", "u3", "u6"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no messages"),
        ("[]", "no messages"),
        ("{}", "no messages"),
        ("hello", "Line 1 is not JSON"),
        ('{"a": 1}\nhello', "Line 2 is not JSON"),
        ("[1, 2]", "no messages"),
        ('{"segments": []}', "no messages"),
        ('{"segments": [{"text": "x"}]}', "segment_id"),
        ('[{"role": "king", "content": "x"}]', "role 'king'"),
        ('{"type": "user", "message": "x"}', "no messages"),
    ],
)
def test_what_is_no_session_is_refused(text: str, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        read(text)
