"""Find the segment that replaces another: repeated, read again, retried, corrected, or changed."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from memsweep.context.stated import Subject, stated_values
from memsweep.model.segment import ContextSegment

Kind = Literal["repeated", "reread", "retried", "corrected", "changed"]


@dataclass(frozen=True, slots=True)
class Replacement:
    """A later segment that makes an earlier one redundant, and how far (0 to 1)."""

    by: str
    kind: Kind

    @property
    def redundancy(self) -> float:
        return _KINDS[self.kind][0]

    @property
    def reason(self) -> str:
        return _KINDS[self.kind][1].format(by=self.by)


_KINDS: dict[Kind, tuple[float, str]] = {
    "repeated": (1.0, "the same result again in {by}"),
    "reread": (1.0, "read again in {by}"),
    "retried": (0.9, "failed, then retried in {by}"),
    # What was corrected may still say other things, so it is only half redundant.
    "corrected": (0.5, "corrected by {by}"),
    "changed": (0.5, "a newer value in {by}"),
}

OUTPUT_KINDS: frozenset[Kind] = frozenset(("repeated", "reread", "retried"))
"""What makes an output of a tool outdated as a whole."""

Found = Iterator[tuple[str, Replacement]]


def find_replacements(segments: Sequence[ContextSegment]) -> dict[str, Replacement]:
    """Every replaced segment, given in session order, with what replaced it."""
    found: dict[str, Replacement] = {}
    for rule in _RULES:
        for old, replacement in rule(segments):
            found.setdefault(old, replacement)
    return found


_SHORT_CHARS = 40
"""Repeated results shorter than this (`ok`, `207.0`) say nothing about being the same result."""


def is_output(segment: ContextSegment) -> bool:
    return segment.role == "tool" or (segment.type in ("log", "code") and segment.role != "user")


def _repeated(segments: Sequence[ContextSegment]) -> Found:
    latest: dict[str, str] = {}
    for segment in reversed(segments):
        if is_output(segment) and len(segment.text) >= _SHORT_CHARS:
            later = latest.setdefault(segment.text.strip(), segment.segment_id)
            if later != segment.segment_id:
                yield segment.segment_id, Replacement(later, "repeated")


def newest_reads(segments: Sequence[ContextSegment]) -> Iterator[tuple[str, str]]:
    """Reads of a region of a file, each with the newest read that has all of it; no range means the whole file."""
    regions: dict[str, _Regions] = {}
    for segment in reversed(segments):
        if segment.file_path is None or not is_output(segment):
            continue
        region = segment.line_range or (0, 1 << 62)
        later = regions.setdefault(segment.file_path, _Regions()).cover(region, segment.segment_id)
        if later is not None:
            yield segment.segment_id, later


def _reread(segments: Sequence[ContextSegment]) -> Found:
    return ((old, Replacement(new, "reread")) for old, new in newest_reads(segments))


class _Regions:
    """Regions of one file, the newest first.

    Whether any of them contains another is found by bisection among the widest, of which none contains another:
    both ends ascend.
    """

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._newest: list[tuple[int, int, str]] = []

    def cover(self, region: tuple[int, int], segment_id: str) -> str | None:
        """The newest segment whose region contains this one; without any, the region is added."""
        start, end = region
        at = bisect_right(self._starts, start)
        if at and self._ends[at - 1] >= end:
            return next(own for first, last, own in self._newest if first <= start and end <= last)
        self._newest.append((start, end, segment_id))
        if at and self._starts[at - 1] == start:
            at -= 1
        upto = bisect_right(self._ends, end, lo=at)
        self._starts[at:upto], self._ends[at:upto] = [start], [end]
        return None


_FAILED = re.compile(
    r"\A\W*(?:\w*error|\w*exception|traceback|failed|failure|fatal)\b|exit (?:code|status):? [1-9]|command not found",
    re.I,
)


def _calls_made_again(segments: Sequence[ContextSegment]) -> Found:
    """A call made again replaces its earlier result; a tool that then worked replaces its failures."""
    calls = _calls(segments)
    same_call: dict[tuple[str, int], str] = {}
    worked: dict[str, str] = {}
    for segment in reversed(segments):
        own = segment.segment_id
        if own not in calls:
            continue
        call, number, tool = calls[own]
        if _FAILED.search(segment.text[:200]):
            if tool in worked:
                yield own, Replacement(worked[tool], "retried")
            continue
        later = same_call.setdefault((call, number), own)
        if later != own:
            yield own, Replacement(later, "reread")
        if tool:
            worked[tool] = own


def _calls(segments: Sequence[ContextSegment]) -> dict[str, tuple[str, int, str]]:
    """Return the call that each result answers: its text, the result's number for that text, and the tool.

    Where several results answer one text, which has several calls in it, no tool is told from another.
    """
    texts = {segment.segment_id: segment.text for segment in segments if segment.role == "assistant"}
    asked: dict[str, list[str]] = {}
    for segment in segments:
        call = next((own for own in segment.references if own in texts), None) if segment.role == "tool" else None
        if call is not None and texts[call].strip():
            asked.setdefault(call, []).append(segment.segment_id)
    found: dict[str, tuple[str, int, str]] = {}
    for call, results in asked.items():
        said = texts[call].strip() if len(results) > 1 else _call_in(texts[call].strip())
        tool = said.split(maxsplit=1)[0] if len(results) == 1 else ""
        found |= {own: (said, number, tool) for number, own in enumerate(results)}
    return found


def _call_in(text: str) -> str:
    """The call, without the words before it."""
    last = text.rpartition("\n")[2]
    return last if last.endswith("}") and "{" in last else text


_MARKERS = ("actually", "correction", "scratch that", "i meant", "make that")
_CORRECTION = re.compile(
    # White space is looked at once, from where it begins, however many lines are in it.
    r"(?:\A|[.!?:]\s*+|(?<!\s)[^\S\n]*+\n\s*+)(?:no,? |sorry,? |oh,? |wait,? )*+"
    r"(?:actually,|actually (?:it|that|the|my|we|i)\b|correction\b|scratch that|i meant\b|make that\b)"
)
_WORD = re.compile(r"[\w$%-]{4,}")
_LOOK_BACK = 20
"""A correction is about something said recently; looking further costs time and finds accidents."""


def _corrected(segments: Sequence[ContextSegment]) -> Found:
    said: deque[ContextSegment] = deque(maxlen=_LOOK_BACK)
    for segment in segments:
        if segment.role not in ("user", None) or segment.type in ("log", "code"):
            continue
        text = segment.text.lower()
        if any(marker in text for marker in _MARKERS) and _CORRECTION.search(text):
            old = next((earlier for earlier in reversed(said) if _same_matter(earlier.text.lower(), text)), None)
            if old is not None:
                yield old.segment_id, Replacement(segment.segment_id, "corrected")
        said.append(segment)


def _same_matter(one: str, other: str) -> bool:
    words, other_words = set(_WORD.findall(one)), set(_WORD.findall(other))
    shared = len(words & other_words)
    return shared >= 2 and shared * 3 >= min(len(words), len(other_words))


def _changed(segments: Sequence[ContextSegment]) -> Found:
    """The same thing with another value, said by the user or written into a note."""
    latest: dict[Subject, tuple[str, str]] = {}
    for segment in reversed(segments):
        if segment.type in ("log", "code") or segment.role in ("tool", "assistant", "system"):
            continue
        for subject, value, past in stated_values(segment.text, settings=segment.type != "message"):
            if not past:
                latest.setdefault(subject, (value, segment.segment_id))
            value_now, by = latest.get(subject, (value, segment.segment_id))
            if by != segment.segment_id and value_now != value:
                yield segment.segment_id, Replacement(by, "changed")


_RULES: tuple[Callable[[Sequence[ContextSegment]], Found], ...] = (
    _repeated,
    _reread,
    _calls_made_again,
    _corrected,
    _changed,
)
