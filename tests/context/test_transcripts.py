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


def test_a_half_written_last_line_is_left_out_and_said(window: ContextWindow) -> None:
    whole = "\n".join(map(json.dumps, SESSION[2:5]))
    for cut in (whole[:-1], whole[:-40], whole + "\n{", whole + '\n{"type": "us\n\n'):
        fresh = read(cut)
        assert [s.segment_id for s in fresh][:2] == ["u1", "u2"]
    added = window.add_transcript(whole[:-40])
    assert added.segment_ids == ("u1", "u2")
    assert added.notes == ("Line 3, the last one, is half written: 2 lines before it were read.",)
    assert window.add_transcript(whole).segment_ids == ("u3",)


def test_a_line_that_is_broken_elsewhere_or_no_object_is_refused() -> None:
    good = json.dumps(SESSION[2])
    for text, number in ((f"{good}\n{good[:-9]}\n{good}", 2), (good[:-9], 1), (f"{good}\nnonsense", 2)):
        with pytest.raises(BadInput, match=f"Line {number} is not JSON"):
            read(text)


def test_a_line_may_have_line_separators_of_unicode_in_it() -> None:
    text = json.dumps(line("u1", "user", "one\u2028two\x85three"), ensure_ascii=False)
    assert next(s.text for s in read(f"{text}\r\n{json.dumps(SESSION[2])}")) == "one\u2028two\x85three"


def read_call(own: str, **inputs: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": own, "name": "Read", "input": inputs}


def result(own: str, text: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": own, "content": text}


PARALLEL = [
    line("u1", "user", "Compare them."),
    line(
        "u2",
        "assistant",
        [{"type": "text", "text": "Both."}, read_call("t1", file_path="a.py"), read_call("t2", file_path="b.py")],
    ),
    line("u3", "user", [result("t2", "text of b"), result("t1", "text of a"), {"type": "text", "text": "Go on."}]),
]


def test_parallel_calls_and_their_results_are_segments_of_their_own() -> None:
    found = {s.segment_id: s for s in read("\n".join(map(json.dumps, PARALLEL)))}
    assert list(found) == ["u1", "u2", "u2#2", "u3", "u3#2"]
    assert [found[own].text.splitlines() for own in ("u2", "u2#2", "u3", "u3#2")] == [
        ["Both.", 'Read {"file_path": "a.py"}'],
        ['Read {"file_path": "b.py"}'],
        ["text of b"],
        ["text of a", "Go on."],
    ]
    assert [(found[own].references, found[own].file_path) for own in ("u3", "u3#2")] == [
        (("u2#2",), "b.py"),
        (("u2",), "a.py"),
    ]


def test_a_message_that_an_earlier_version_took_in_whole_is_known_with_all_its_pieces(window: ContextWindow) -> None:
    window.add([{"segment_id": "u3", "text": "text of b\ntext of a\nGo on.", "role": "tool", "type": "log"}])
    added = window.add_transcript("\n".join(map(json.dumps, PARALLEL)))
    assert (added.segment_ids, added.known) == (("u1", "u2", "u2#2"), ("u3", "u3#2"))


READS = {
    "whole": ("Read", {"file_path": "a.py"}, ("a.py", None)),
    "a part": ("Read", {"file_path": "a.py", "offset": 5, "limit": 10}, ("a.py", (5, 14))),
    "from a line on": ("Read", {"path": "a.py", "offset": 5}, ("a.py", (5, 2**31))),
    "the first lines": ("Read", {"path": "a.py", "limit": 5}, ("a.py", (0, 4))),
    "between lines": ("view_file", {"path": "a.py", "start_line": 3, "end_line": 9}, ("a.py", (3, 9))),
    "a view": ("str_replace_editor", {"command": "view", "path": "a.py", "view_range": [3, -1]}, ("a.py", (3, 2**31))),
    "an edit": ("Edit", {"file_path": "a.py", "old_string": "x", "new_string": "y"}, (None, None)),
    "an edit by command": ("str_replace_editor", {"command": "create", "path": "a.py"}, (None, None)),
    "a new file": ("Write", {"file_path": "a.py", "content": "x"}, (None, None)),
    "a deletion": ("delete_file", {"path": "a.py"}, (None, None)),
    "a search": ("Grep", {"path": "src", "pattern": "x"}, (None, None)),
    "odd lines": ("Read", {"path": "a.py", "offset": -1, "limit": True}, ("a.py", None)),
}


@pytest.mark.parametrize(("name", "inputs", "place"), READS.values(), ids=READS.keys())
def test_only_what_reads_a_file_is_a_read_of_it(name: str, inputs: dict[str, Any], place: tuple[Any, Any]) -> None:
    call = {"type": "tool_use", "id": "t", "name": name, "input": inputs}
    messages = [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result("t", "said")]}]
    _, found = read(json.dumps(messages))
    assert (found.file_path, found.line_range) == place
    assert found.type == ("code" if place[0] else "log")
