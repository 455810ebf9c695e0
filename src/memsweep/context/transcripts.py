"""Session files as segments: Claude Code's JSON lines, a plain list of messages, or our own JSON form."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from memsweep.context.forms import Turn, call_inputs, read_turn
from memsweep.context.segment import segment_from_dict
from memsweep.errors import BadInput
from memsweep.model.segment import ContextSegment
from memsweep.model.tokens import CountTokens

_NOT_STORABLE = re.compile("[\0\ud800-\udfff]")
_DIGEST_CHARS = 12


def read_transcript(text: str, *, now: datetime, count: CountTokens) -> list[ContextSegment]:
    """Recognise the form and read it; empty messages are left out, and the same file gives the same ids again."""
    data = _whole(text)
    if isinstance(data, dict) and isinstance(data.get("segments"), list):
        return [segment_from_dict(row, now=now, count=count) for row in _objects(data["segments"])]
    if isinstance(data, dict) and isinstance(data.get("messages"), list):
        data = data["messages"]
    if isinstance(data, list):
        return _from_messages(_objects(data), now, count)
    return _from_lines(_objects(_lines(text)), now, count)


def _whole(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _lines(text: str) -> list[Any]:
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                rows.append(json.loads(line))
            except (ValueError, RecursionError) as error:
                raise BadInput(
                    f"Line {number} is not JSON: {error}.",
                    hint='Known forms: a Claude Code session (JSON lines), a list of messages, {"segments": [...]}.',
                ) from None
    return rows


def _objects(rows: Sequence[Any]) -> list[dict[str, Any]]:
    if not rows or not all(isinstance(row, dict) for row in rows):
        raise BadInput("There are no messages and no segments in this file.")
    return list(rows)


def _from_messages(messages: Iterable[Mapping[str, Any]], now: datetime, count: CountTokens) -> list[ContextSegment]:
    reading = _Reading(now, count)
    for place, message in enumerate(messages):
        turn = read_turn(message)
        digest = hashlib.blake2b(turn.text.encode("utf-8", "replace"), digest_size=8).hexdigest()[:_DIGEST_CHARS]
        reading.take(f"m{place}-{digest}", message, turn)
    return reading.segments


def _from_lines(lines: Iterable[Mapping[str, Any]], now: datetime, count: CountTokens) -> list[ContextSegment]:
    """A session of Claude Code: what belongs to this window, each line under its own id.

    That a line answers the line before it is no reference here: then everything would lead to everything.
    """
    reading = _Reading(now, count)
    for line in lines:
        if line.get("isSidechain"):
            continue
        message, own = line.get("message"), line.get("uuid")
        if line.get("type") == "summary" and isinstance(line.get("summary"), str):
            reading.put(f"summary-{line.get('leafUuid', len(reading.segments))}", line["summary"], type="summary")
        elif isinstance(message, dict) and isinstance(own, str) and message.get("role"):
            kind = {"type": "summary"} if line.get("isCompactSummary") else {}
            reading.take(own, message, read_turn(message), created_at=line.get("timestamp"), **kind)
    if not reading.segments:
        raise BadInput("There are no messages and no segments in this file.")
    return reading.segments


class _Reading:
    """Collects segments; results are linked to their calls, and reads of files know their files."""

    def __init__(self, now: datetime, count: CountTokens) -> None:
        self.segments: list[ContextSegment] = []
        self._now, self._count = now, count
        self._calls: dict[str, tuple[str, Mapping[str, Any]]] = {}

    def take(self, own: str, message: Mapping[str, Any], turn: Turn, **more: Any) -> None:
        for call, inputs in call_inputs(message):
            self._calls[call] = own, inputs
        answered = [self._calls[call] for call in sorted(turn.answers) if call in self._calls]
        found = {"role": turn.role, "type": "log" if turn.answers else "message"}
        if answered:
            found |= _place_in_file(answered[0][1])
        references = list(dict.fromkeys(call for call, _ in answered))
        self.put(own, turn.text, references=references, **{**found, **more})

    def put(self, own: str, text: str, **more: Any) -> None:
        clean = _NOT_STORABLE.sub("\ufffd", text)
        if clean.strip():
            data = {"segment_id": own, "text": clean, **more}
            self.segments.append(segment_from_dict(data, now=self._now, count=self._count))


def _place_in_file(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The file that a call read, and which lines of it."""
    path = next((inputs[name] for name in ("file_path", "path") if isinstance(inputs.get(name), str)), None)
    if not path:
        return {}
    found: dict[str, Any] = {"file_path": path, "type": "code"}
    first, length = inputs.get("offset"), inputs.get("limit")
    if type(first) is int and type(length) is int and first >= 0 and length > 0:
        found["line_range"] = [first, first + length - 1]
    return found
