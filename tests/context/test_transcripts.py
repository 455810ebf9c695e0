"""Session files of every known form become segments; what is no session is refused in a sentence."""

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


def boundary(own: str, *preserved: str) -> dict[str, Any]:
    kept = {"preservedMessages": {"uuids": list(preserved)}} if preserved else {}
    return {"type": "system", "subtype": "compact_boundary", "uuid": own, "compactMetadata": kept}


def as_lines(*lines: dict[str, Any]) -> str:
    return "".join(json.dumps(each) + "\n" for each in lines)


COMPACTED = [
    line("u1", "user", "Use Postgres."),
    line("u2", "assistant", [{"type": "text", "text": "I will."}, read_call("t1", file_path="a.py")]),
    line("u3", "user", [result("t1", "text of a")]),
    line("u4", "assistant", "Done."),
    boundary("b1", "u4"),
    line("u5", "user", "Postgres was chosen.", isCompactSummary=True),
    line("u6", "user", "And now?"),
]


def test_what_the_client_compacted_is_in_the_stash(window: ContextWindow) -> None:
    added = window.add_transcript(as_lines(*COMPACTED))
    assert active(window) == ["u4", "u5", "u6"]
    assert added.compacted == ("u1", "u2", "u3")
    assert added.notes[0].startswith("The client had compacted 3 segments away: in the stash, undone by rcpt_")
    assert window.search("postgres").hits[0][0].segment_id == "u1"


def test_a_compaction_that_is_known_takes_nothing_out_again(window: ContextWindow) -> None:
    window.add_transcript(as_lines(*COMPACTED[:4]))
    window.pin(["u1"])
    assert window.add_transcript(as_lines(*COMPACTED)).compacted == ("u2", "u3")
    window.restore(["u3"])
    again = window.add_transcript(as_lines(*COMPACTED, line("u7", "user", "more")))
    assert (again.compacted, again.segment_ids) == ((), ("u7",))
    assert active(window) == ["u1", "u3", "u4", "u5", "u6", "u7"]


@pytest.mark.parametrize("cut", range(1, len(COMPACTED)))
def test_a_session_read_piece_by_piece_gives_the_same_window(window: ContextWindow, cut: int) -> None:
    first = window.add_transcript(as_lines(*COMPACTED[:cut]))
    kept = json.loads(json.dumps(first.bookmark))
    second = window.add_transcript(as_lines(*COMPACTED[cut:]), bookmark=kept)
    assert active(window) == ["u4", "u5", "u6"]
    assert {*first.segment_ids, *second.segment_ids} == {"u1", "u2", "u3", "u4", "u5", "u6"}
    (read_of_a,) = [each for each in window.segments(stashed=True) if each.segment_id == "u3"]
    assert (read_of_a.references, read_of_a.file_path) == (("u2",), "a.py")


def test_new_lines_may_hold_nothing_of_use(window: ContextWindow) -> None:
    kept = window.add_transcript(as_lines(COMPACTED[0])).bookmark
    for news in ("", as_lines({"type": "last-prompt"}), "[1]\n"):
        assert window.add_transcript(news, bookmark=kept).segment_ids == ()


@pytest.mark.parametrize("bookmark", [{"calls": 7}, {"live": 1}, {"calls": {"t": "x"}}, {"replaced": None}])
def test_a_bookmark_that_is_none_is_refused(window: ContextWindow, bookmark: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match="bookmark"):
        window.add_transcript(as_lines(COMPACTED[0]), bookmark=bookmark)


def test_only_what_people_and_models_said_are_messages() -> None:
    queued = {"type": "queued_command", "commandMode": "prompt", "prompt": "Use tabs."}
    note = {"type": "queued_command", "commandMode": "task-notification", "prompt": "a task has ended"}
    found = read(
        as_lines(
            line("u1", "user", "<command-name>/compact</command-name>"),
            line("u2", "user", "<local-command-stdout>Compacted</local-command-stdout>"),
            line("u3", "user", "a caveat", isMeta=True),
            {"type": "attachment", "uuid": "a1", "attachment": queued, "timestamp": "2026-04-30T10:00:00Z"},
            {"type": "attachment", "uuid": "a2", "attachment": note},
            {"type": "attachment", "uuid": "a3", "attachment": {"type": "hook_additional_context", "content": "x"}},
            {"type": "api-request-blob", "hash": "h", "message": {"role": "system", "content": "a prompt"}},
            line("u4", "user", "Is <command-name> a tag?"),
            line("u4", "user", "said twice"),
        )
    )
    assert [(each.segment_id, each.role, each.text) for each in found] == [
        ("a1", "user", "Use tabs."),
        ("u4", "user", "Is <command-name> a tag?"),
    ]


def item(**payload: Any) -> dict[str, Any]:
    return {"timestamp": "2026-04-30T10:00:00.000Z", "type": "response_item", "payload": payload}


def said(own: str, role: str, text: str) -> dict[str, Any]:
    return {"type": "message", "id": own, "role": role, "content": [{"type": "input_text", "text": text}]}


USER, HISTORY = said("m2", "user", "Use Postgres."), said("m9", "user", "Summary: Postgres.")
ROLLOUT = [
    {"timestamp": "2026-04-30T10:00:00Z", "type": "session_meta", "payload": {"id": "s", "cwd": "/x"}},
    item(**said("m0", "developer", "a prompt of the vendor")),
    item(**said("m1", "user", "<environment_context>\n<cwd>/x</cwd>")),
    item(**USER),
    {"timestamp": "2026-04-30T10:00:01Z", "type": "event_msg", "payload": {"type": "token_count"}},
    item(type="reasoning", id="r1", summary=[{"type": "summary_text", "text": "Look first."}], encrypted_content="x"),
    item(type="reasoning", id="r2", summary=[], encrypted_content="x"),
    item(type="function_call", id="f1", name="read_file", arguments='{"path": "a.py"}', call_id="c1"),
    item(type="function_call_output", id="f2", call_id="c1", output="text of a"),
    item(type="custom_tool_call", id="f3", name="apply_patch", input="*** Begin", call_id="c2"),
    item(type="custom_tool_call_output", id="f4", call_id="c2", output="ok"),
    {
        "timestamp": "2026-04-30T10:00:02Z",
        "type": "compacted",
        "payload": {"message": "Summary: Postgres.", "replacement_history": [USER, HISTORY]},
    },
    item(type="message", role="assistant", content=[{"type": "output_text", "text": "ok"}]),
]


def test_a_rollout_of_codex_is_read(window: ContextWindow) -> None:
    found = {each.segment_id: each for each in read(as_lines(*ROLLOUT))}
    assert list(found)[:6] == ["m2", "r1", "f1", "f2", "f3", "f4"]
    assert (found["f2"].references, found["f2"].file_path, found["f2"].type) == (("f1",), "a.py", "code")
    assert (found["f4"].references, found["f4"].type, found["f4"].text) == (("f3",), "log", "ok")
    assert found["r1"].text == "Look first."
    added = window.add_transcript(as_lines(*ROLLOUT))
    assert added.compacted == ("r1", "f1", "f2", "f3", "f4")
    assert [(each.type, each.text) for each in window.segments()] == [
        ("message", "Use Postgres."),
        ("summary", "Summary: Postgres."),
        ("message", "ok"),
    ]
    assert window.add_transcript(as_lines(*ROLLOUT)).segment_ids == ()


@pytest.mark.parametrize("cut", range(1, len(ROLLOUT)))
def test_a_rollout_read_piece_by_piece_gives_the_same_window(window: ContextWindow, cut: int) -> None:
    first = window.add_transcript(as_lines(item(**said("m", "user", "hi")), *ROLLOUT[:cut]))
    window.add_transcript(as_lines(*ROLLOUT[cut:]), bookmark=first.bookmark)
    assert [each.text for each in window.segments()] == ["Use Postgres.", "Summary: Postgres.", "ok"]


ODD = [
    {"type": "compacted", "payload": {"message": 7, "replacement_history": "x"}},
    {"type": "response_item", "payload": {"type": "message", "role": "user", "content": None}},
    {"type": "response_item", "payload": {"type": "function_call_output", "output": {"content": "x"}}},
    {"type": "response_item", "payload": {"type": "reasoning", "summary": "x"}},
    {"type": "response_item", "payload": {"type": "message", "role": {}, "content": [[]]}},
    {"type": "system", "subtype": "compact_boundary", "compactMetadata": {"preservedMessages": {"uuids": [{}, 1]}}},
    {"type": "system", "subtype": "compact_boundary", "compactMetadata": []},
    {"type": "attachment", "uuid": "a", "attachment": {"type": "queued_command", "prompt": {"x": 1}}},
]


@pytest.mark.parametrize("odd", ODD, ids=[str(number) for number in range(len(ODD))])
def test_an_odd_line_does_no_harm(odd: dict[str, Any]) -> None:
    around = (ROLLOUT[3], ROLLOUT[-1]) if "payload" in odd else (COMPACTED[0], COMPACTED[-1])
    texts = [each.text for each in read(as_lines(around[0], odd, around[1]))]
    assert texts[-1] in ("ok", "And now?")
