"""Segments and message lists for the tests, with everything that does not matter filled in."""

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from memsweep.context import ContextSegment

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)


def segment(segment_id: str, text: str = "some words", *, age_hours: float = 0, **values: Any) -> ContextSegment:
    born = NOW - timedelta(hours=age_hours)
    return ContextSegment(
        **{"segment_id": segment_id, "text": text, "type": "message", "created_at": born, "last_touched_at": born}
        | values
    )


WORDS = ("alpha", "beta", "gamma_7", "deploy", "April", "never", "src/app.py", "the", "error", "4711", "I", "?")


@st.composite
def segment_lists(draw: st.DrawFn, max_size: int = 14) -> list[ContextSegment]:
    """Windows with pins, tasks, files and references in any direction, cycles among them."""
    count = draw(st.integers(0, max_size))
    ids = [f"s{number}" for number in range(count)]
    return [
        segment(
            own,
            " ".join(draw(st.lists(st.sampled_from(WORDS), max_size=8))),
            age_hours=draw(st.integers(0, 100)),
            type=draw(st.sampled_from(("message", "code", "log", "note", "decision", "summary"))),
            role=draw(st.sampled_from((None, "user", "assistant", "tool"))),
            pinned=draw(st.integers(0, 5)) == 0,
            task_id=draw(st.sampled_from((None, None, "t1", "t2"))),
            file_path=draw(st.sampled_from((None, None, "a.py", "b.py"))),
            tokens=draw(st.integers(0, 30)),
            references=tuple(draw(st.lists(st.sampled_from(ids), max_size=2))),
        )
        for own in ids
    ]


@st.composite
def turn_lists(draw: st.DrawFn) -> list[tuple[str, int]]:
    """A conversation as a script: who speaks, and how many tools an assistant calls."""
    script: list[tuple[str, int]] = []
    for _ in range(draw(st.integers(1, 6))):
        script.append(("user", 0))
        script += [("assistant", calls) for calls in draw(st.lists(st.integers(1, 3), max_size=2))]
        script.append(("assistant", 0))
    script.append(("user", 0))
    return script


def openai_messages(script: list[tuple[str, int]], system: bool, words: list[int]) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "system", "content": "be brief"}] if system else []
    for number, (role, calls) in enumerate(script):
        message: dict[str, Any] = {"role": role, "content": _say(number, words)}
        ids = [f"call{number}_{each}" for each in range(calls)]
        if ids:
            function = {"name": "look", "arguments": f'{{"n": {number}}}'}
            message |= {
                "content": None,
                "tool_calls": [{"id": i, "type": "function", "function": function} for i in ids],
            }
        messages.append(message)
        messages += [{"role": "tool", "tool_call_id": i, "content": _say(number, words)} for i in ids]
    return messages


def anthropic_messages(script: list[tuple[str, int]], words: list[int]) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    for number, (role, calls) in enumerate(script):
        ids = [f"call{number}_{each}" for each in range(calls)]
        if not ids:
            messages.append({"role": role, "content": _say(number, words)})
            continue
        uses = [{"type": "tool_use", "id": i, "name": "look", "input": {"n": number}} for i in ids]
        messages.append({"role": "assistant", "content": uses})
        said = _say(number, words)
        results = [{"type": "tool_result", "tool_use_id": i, "content": said} for i in ids]
        messages.append({"role": "user", "content": results})
    return messages


def _say(number: int, words: list[int]) -> str:
    size = words[number % len(words)] if words else 3
    return " ".join(WORDS[(number + each) % len(WORDS)] for each in range(size)) or "ok"
