"""Session files read into segments: JSON lines of Claude Code and Codex, messages of any provider, our own form."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from types import ModuleType
from typing import Any

from memsweep.context.forms import read_turn
from memsweep.context.segment import segment_from_dict
from memsweep.context.transcripts import claude, codex
from memsweep.context.transcripts.reading import SessionCompaction, SessionReading, Transcript, digest, tier_of
from memsweep.errors import BadInput
from memsweep.model.segment import ContextSegment
from memsweep.model.text import counted
from memsweep.model.tokens import CountTokens

__all__ = ["SessionCompaction", "Transcript", "read_session", "read_transcript", "tier_of"]

_KNOWN_FORMS = 'Known forms: a session of Claude Code or Codex (JSON lines), a list of messages, {"segments": [...]}.'
_NOTHING = "There are no messages and no segments in this file."


def read_transcript(text: str, *, now: datetime, count: CountTokens) -> list[ContextSegment]:
    """The segments of a session file."""
    return read_session(text, now=now, count=count).segments


def read_session(
    text: str, *, now: datetime, count: CountTokens, bookmark: Mapping[str, Any] | None = None
) -> Transcript:
    """Recognise the form and read it; empty messages are left out, and the same file gives the same ids again.

    With the bookmark of an earlier reading, `text` holds the whole lines written since; they may be of no use, and one
    that cannot be read is left out.
    """
    data = _whole(text) if bookmark is None else None
    if isinstance(data, dict) and isinstance(data.get("segments"), list):
        return Transcript([segment_from_dict(row, now=now, count=count) for row in _objects(data["segments"])])
    if isinstance(data, dict) and isinstance(data.get("messages"), list):
        data = data["messages"]
    if isinstance(data, list):
        return _from_messages(_objects(data), SessionReading(now, count, {}))
    reading = SessionReading(now, count, bookmark or {})
    if bookmark is None:
        rows, notes = _lines(text)
        _form(lines := _objects(rows)).read_lines(reading, lines)
        if not reading.segments:
            raise BadInput(_NOTHING)
        return reading.ended(notes)
    found = [_whole(line) for line in text.split("\n") if line.strip("\0 \t\r")]
    lines = [row for row in found if isinstance(row, dict)]
    form, left_out = _form(lines), len(found) - len(lines)
    for line in lines:
        try:
            form.read_lines(reading, [line])
        except (BadInput, RecursionError):
            left_out += 1
    notes = (f"Left out: {counted(left_out, 'line')} that cannot be read.",) if left_out else ()
    return reading.ended(notes)


def _form(lines: Sequence[Mapping[str, Any]]) -> ModuleType:
    return codex if codex.is_rollout(lines) else claude


def _whole(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _lines(text: str) -> tuple[list[Any], tuple[str, ...]]:
    """Every line as JSON. A last one that is half written, as by a program that still writes, is left out and said."""
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip("\0 \t\r")]
    rows: list[Any] = []
    for number, line in lines:
        try:
            rows.append(json.loads(line))
        except (ValueError, RecursionError) as error:
            if rows and number == lines[-1][0] and line.lstrip().startswith("{"):
                read = counted(len(rows), "line")
                return rows, (f"Line {number}, the last one, is half written: {read} before it were read.",)
            raise BadInput(
                f"Line {number} is not JSON: {error}.",
                hint=_KNOWN_FORMS,
            ) from None
    return rows, ()


def _objects(rows: Sequence[Any]) -> list[dict[str, Any]]:
    if not rows or not all(isinstance(row, dict) for row in rows):
        raise BadInput(_NOTHING)
    return list(rows)


def _from_messages(messages: Iterable[Mapping[str, Any]], reading: SessionReading) -> Transcript:
    for place, message in enumerate(messages):
        turn = read_turn(message)
        reading.take(f"m{place}-{digest(turn.text)[:12]}", turn)
    return reading.ended()
