"""Session files read into segments: Claude Code's JSON lines, message lists of any provider, our own form."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from memsweep.context.forms import Piece, Turn, read_turn
from memsweep.context.reads import place_in_file
from memsweep.context.segment import segment_from_dict
from memsweep.errors import BadInput
from memsweep.model.segment import ContextSegment
from memsweep.model.text import counted
from memsweep.model.tokens import CountTokens

_NOT_STORABLE = re.compile("[\0\ud800-\udfff]")
_DIGEST_CHARS = 12


@dataclass(frozen=True, slots=True)
class Transcript:
    """What was read of a session file, and what has to be said of the reading."""

    segments: list[ContextSegment]
    message_of: dict[str, str] = field(default_factory=dict)
    """The id of the message that a segment is a further piece of: where one is known, so are all."""
    notes: tuple[str, ...] = ()


def read_transcript(text: str, *, now: datetime, count: CountTokens) -> list[ContextSegment]:
    """The segments of a session file."""
    return read_session(text, now=now, count=count).segments


def read_session(text: str, *, now: datetime, count: CountTokens) -> Transcript:
    """Recognise the form and read it; empty messages are left out, and the same file gives the same ids again."""
    data = _whole(text)
    if isinstance(data, dict) and isinstance(data.get("segments"), list):
        return Transcript([segment_from_dict(row, now=now, count=count) for row in _objects(data["segments"])])
    if isinstance(data, dict) and isinstance(data.get("messages"), list):
        data = data["messages"]
    if isinstance(data, list):
        return _from_messages(_objects(data), now, count)
    rows, notes = _lines(text)
    return _from_lines(_objects(rows), now, count, notes)


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
                hint='Known forms: a Claude Code session (JSON lines), a list of messages, {"segments": [...]}.',
            ) from None
    return rows, ()


def _objects(rows: Sequence[Any]) -> list[dict[str, Any]]:
    if not rows or not all(isinstance(row, dict) for row in rows):
        raise BadInput("There are no messages and no segments in this file.")
    return list(rows)


def _from_messages(messages: Iterable[Mapping[str, Any]], now: datetime, count: CountTokens) -> Transcript:
    reading = _Reading(now, count)
    for place, message in enumerate(messages):
        turn = read_turn(message)
        digest = hashlib.blake2b(turn.text.encode("utf-8", "replace"), digest_size=8).hexdigest()[:_DIGEST_CHARS]
        reading.take(f"m{place}-{digest}", turn)
    return Transcript(reading.segments, reading.message_of)


def _from_lines(
    lines: Iterable[Mapping[str, Any]], now: datetime, count: CountTokens, notes: tuple[str, ...]
) -> Transcript:
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
            reading.take(own, read_turn(message), created_at=line.get("timestamp"), **kind)
    if not reading.segments:
        raise BadInput("There are no messages and no segments in this file.")
    return Transcript(reading.segments, reading.message_of, notes)


class _Reading:
    """Collects segments; each result is linked to its own call, and reads of files know their files."""

    def __init__(self, now: datetime, count: CountTokens) -> None:
        self.segments: list[ContextSegment] = []
        self.message_of: dict[str, str] = {}
        self._now, self._count = now, count
        self._calls: dict[str, tuple[str, Piece]] = {}

    def take(self, message: str, turn: Turn, **more: Any) -> None:
        """A message; each further call or result in it is a segment of its own."""
        for number, piece in enumerate(turn.pieces, 1):
            own = message if number == 1 else f"{message}#{number}"
            if number > 1:
                self.message_of[own] = message
            if piece.makes is not None:
                self._calls[piece.makes] = own, piece
            self.put(own, piece.text, piece.media_tokens, **{"role": turn.role, **self._result(turn, piece), **more})

    def put(self, own: str, text: str, media_tokens: int = 0, **more: Any) -> None:
        clean = _NOT_STORABLE.sub("\ufffd", text)
        if clean.strip():
            data = {"segment_id": own, "text": clean, "tokens": self._count(clean) + media_tokens, **more}
            self.segments.append(segment_from_dict(data, now=self._now, count=self._count))

    def _result(self, turn: Turn, piece: Piece) -> dict[str, Any]:
        if not turn.answers:
            return {"type": "message"}
        if piece.answers not in self._calls:
            return {"type": "log"}
        own, call = self._calls[piece.answers]
        read = place_in_file(call.name, call.inputs)
        return {"type": "code" if read else "log", "references": [own], **read}
