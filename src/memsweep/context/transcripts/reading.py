"""Segments from the messages of a session, read in one go or piece by piece."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from memsweep.context.forms import MessagePiece, Turn
from memsweep.context.references import place_in_file
from memsweep.context.segment import segment_from_dict
from memsweep.errors import BadInput
from memsweep.model.segment import ContextSegment
from memsweep.model.tokens import CountTokens
from memsweep.secrets.find import find

_NOT_STORABLE = re.compile("[\0\ud800-\udfff]")
_PLAIN_ID = re.compile(r"(?:[a-z]{1,12}[-_])?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""As clients make them: no rule finds a secret in one."""
_NUMBER = re.compile(r"\d{1,6}")
_LONGEST_ID = 200
_MOST_KEPT = 10_000
"""Of a bookmark; what is older than so many segments was collected long ago."""


@dataclass(frozen=True, slots=True)
class SessionCompaction:
    """A summary that the client put in place of segments."""

    summary: str
    replaced: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Transcript:
    """The segments of a session file, and notes on the reading."""

    segments: list[ContextSegment]
    message_of: dict[str, str] = field(default_factory=dict)
    """The id of the message that a segment is a further piece of: where one is known, so are all."""
    notes: tuple[str, ...] = ()
    compactions: tuple[SessionCompaction, ...] = ()
    bookmark: Mapping[str, Any] = field(default_factory=dict)
    """The state with which the lines that follow are read; JSON."""


def tier_of(segment: ContextSegment) -> str:
    """Return who said a segment of a session: the person who prompted, the agent who answered, or a tool."""
    if segment.type == "summary":
        return "agent"
    speakers = {"user": "person", "assistant": "agent"}
    return speakers.get(segment.role or "", "tool") if segment.type == "message" else "tool"


def safe_id(own: str) -> str:
    """The id of a message; a digest in the place of one that holds a secret or is too long."""
    is_safe = _PLAIN_ID.fullmatch(own) or (len(own) <= _LONGEST_ID and own.isprintable() and not find(own))
    return own if is_safe else f"item-{digest(own)}"


def digest(text: str) -> str:
    """Return what stands for a text in an id."""
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()


def version_of(said: object) -> tuple[int, ...]:
    """The numbers of a client's version; none where it says no version."""
    return tuple(map(int, _NUMBER.findall(str(said))[:3]))


class SessionReading:
    """Collects segments; each result is linked to its own call, and reads of files know their files."""

    def __init__(self, now: datetime, count: CountTokens, bookmark: Mapping[str, Any]) -> None:
        self.segments: list[ContextSegment] = []
        self.message_of: dict[str, str] = {}
        self.typist = ""
        """`agent` in a session in which no person types, `named` where the client names each person."""
        self._now, self._count = now, count
        self._compactions: list[SessionCompaction] = []
        self._calls: dict[str, tuple[str, dict[str, Any]]] = {}
        """By the digest of a call's id: its segment, and the lines of a file that it reads."""
        self._answered: set[str] = set()
        self._seen: set[str] = set()
        self._live: dict[str, None] = {}
        """The ids in the client's own window, in order."""
        self._replaced: list[str] = []
        """The ids that the client dropped and has not summarised yet."""
        self._open(bookmark)

    def take(self, message: str, turn: Turn, **more: Any) -> None:
        """A message; each further call or result in it is a segment of its own."""
        message = safe_id(message)
        for number, piece in enumerate(turn.pieces, 1):
            own = message if number == 1 else f"{message}#{number}"
            if number > 1:
                self.message_of[own] = message
            if piece.makes is not None:
                self._calls[digest(piece.makes)] = own, place_in_file(piece.name, piece.inputs)
            self.put(own, piece.text, piece.media_tokens, **{"role": turn.role, **self._result(turn, piece), **more})

    def put(self, own: str, text: str, media_tokens: int = 0, **more: Any) -> None:
        clean = _NOT_STORABLE.sub("\ufffd", text)
        if clean.strip() and own not in self._seen:  # a session that was resumed may say a message twice
            self._seen.add(own)
            data = {"segment_id": own, "text": clean, "tokens": self._count(clean) + media_tokens, **more}
            self.segments.append(segment_from_dict(data, now=self._now, count=self._count))
            self._live[own] = None

    def compact(self, preserved: Collection[str]) -> None:
        """The client dropped what it had, but for these messages; a summary follows."""
        stay = set(map(safe_id, preserved))
        gone = [own for own in self._live if own.partition("#")[0] not in stay]
        self._replaced += gone
        for own in gone:
            del self._live[own]

    def summarise(self, own: str, text: str, **more: Any) -> None:
        """The summary of what was dropped last."""
        own = safe_id(own)
        self.put(own, text, **{"type": "summary", **more})
        if self._replaced:
            self._compactions.append(SessionCompaction(own, tuple(self._replaced)))
            self._replaced = []

    def ended(self, notes: tuple[str, ...] = ()) -> Transcript:
        waiting = [(made, call) for made, call in self._calls.items() if made not in self._answered]
        bookmark: dict[str, Any] = {
            "calls": dict(waiting[-_MOST_KEPT:]),
            "live": list(self._live)[-_MOST_KEPT:],
            "replaced": self._replaced[-_MOST_KEPT:],
        }
        bookmark |= {"typist": self.typist} if self.typist else {}
        return Transcript(self.segments, self.message_of, notes, tuple(self._compactions), bookmark)

    def _result(self, turn: Turn, piece: MessagePiece) -> dict[str, Any]:
        if not turn.answers:
            return {"type": "message"}
        answered = digest(piece.answers or "")
        if answered not in self._calls:
            return {"type": "log"}
        self._answered.add(answered)
        own, read = self._calls[answered]
        return {"type": "code" if read else "log", "references": [own], **read}

    def _open(self, bookmark: Mapping[str, Any]) -> None:
        """Go on where an earlier reading ended."""
        try:
            calls, live, replaced = (bookmark.get(key, ()) for key in ("calls", "live", "replaced"))
            self._calls = {str(made): (str(own), dict(read)) for made, (own, read) in dict(calls).items()}
            self._live = dict.fromkeys(map(str, live))
            self._replaced = [*map(str, replaced)]
            self.typist = str(bookmark.get("typist", ""))
        except (TypeError, ValueError):
            raise BadInput(
                "the bookmark is not one that an earlier reading returned.",
                hint="Leave it out to read from the beginning.",
            ) from None
