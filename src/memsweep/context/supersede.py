"""Find the segment that replaces another: repeated, read again, retried, corrected, or changed."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from memsweep.model.segment import ContextSegment

Subject = tuple[str, str, str]
"""The words before the thing, its name, and the words after the value, with its unit."""


class Stated(NamedTuple):
    """A subject with its value; one that is told as past may be outdated, and makes nothing else so."""

    subject: Subject
    value: str
    past: bool = False


_AMOUNT = r"[$€£]?\d[\w.,:%/-]*+"
_DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?"
_MONTHS = "january|february|march|april|june|july|august|september|october|november|december"
_MONTH = rf"(?:(?:{_MONTHS})(?: \d{{1,2}})?|may \d{{1,2}})"
_SWITCH = r"(?:on|off|true|false|enabled|disabled|yes|no)"
_VALUE = re.compile(rf"(?:{_AMOUNT}|(?:{_DAY}|{_MONTH}|{_SWITCH})(?![\w-]))", re.I)
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_STATED = re.compile(
    r"\b((?:my|our|the) (?:[a-z][\w'-]* ){0,4}[a-z][\w'-]*) (is|are|was|were|has|have)"
    r"(?: now| been| recently| just| currently)*"
    r"( (?:changed|increased|decreased|moved|updated|set|improved|reduced|raised|lowered|extended) to)?"
    r"(?: about| around| over| only| at| on)? ",
    re.I,
)
_LINE = re.compile(r"^[^\S\n]*+(?:[-*]\s*+)?([A-Za-z_][\w .-]{0,40}?)[^\S\n]*+([:=])[^\S\n]*+(\S[^\n]{0,80})$", re.M)
_ASSIGNED = re.compile(r"[A-Za-z0-9][_.-][A-Za-z0-9]|[a-z][A-Z]")
"""A name of a program's, not of a person's."""
_FILLERS = re.compile(
    r"\b(?:now|currently|today|instead|so|ok|okay|and|also|but|then|update|fyi|note|please|remember|that|well"
    r"|by the way|as of \w+|since \w+|from now on|i think|i said)\b|[^\w\s%$€£°]",
    re.I,
)
_INSTEAD = re.compile(r",? (?:up from|down from|instead of|rather than|and not|not|no longer) .*", re.I | re.S)
"""The older statement, which is no longer so."""
_MOST_CHARS = 300
"""A longer sentence says more than one value."""
_LABELS = frozenset(
    "decision note notes todo fixme user users file files name id title task tasks step steps issue issues ticket"
    " bug pr commit branch line lines page pages chapter section item items row column date time day author from"
    " to subject question answer q a result results status error errors warning info debug output input example"
    " case test tests run attempt number no part phase week month year key value type option idea goal summary"
    " update edit reason cause fix action next see ref link url path folder directory class function method module"
    " package host server client customer person contact owner reviewer assignee team project sprint milestone"
    " epic story episode round level message comment reply context topic tag tags label category group role state"
    " country city address location event meeting call order invoice account room table figure appendix slide job"
    " worker thread process pid request response session entry record log build revision hash sha index offset"
    " position rank score point points total count problem solution hint tip warnings feature change changes risk"
    " assumption requirement rule fact plan meaning remark remarks lesson blocker finding findings conclusion"
    " hypothesis experiment candidate choice".split()
)
"""Words that name an entry of a list, of which there may be many at the same time."""
_WHICH = frozenset("next current last first second third previous other another new old same following main".split())


def stated_values(text: str, *, settings: bool) -> Iterator[Stated]:
    """Every subject with its value, in lower case; lines of settings only where the text is more than a message."""
    for sentence in _SENTENCE.split(text):
        if len(sentence) <= _MOST_CHARS and (found := _in_sentence(sentence)):
            yield found
    if settings:
        for name, sign, value in _LINE.findall(text):
            if found := _in_line(name.strip(), sign, value.strip()):
                yield found


def _in_sentence(sentence: str) -> Stated | None:
    """A sentence that says what one thing is; with a second value in it, nobody knows which one it is about."""
    stated = _STATED.search(sentence)
    value = _VALUE.match(sentence, stated.end()) if stated else None
    if stated is None or value is None or _names_an_entry(stated[1].split()[1:]):
        return None
    before, after = sentence[: stated.start()], _INSTEAD.sub("", sentence[value.end() :])
    if _VALUE.search(after) or _STATED.search(after) or "?" in after:
        return None
    past = stated[2].lower() in ("was", "were") and not stated[3]
    return Stated((_plain(before), stated[1].lower(), _plain(after)), _plain_value(value[0]), past)


def _names_an_entry(words: list[str]) -> bool:
    """ "The step", "the next step"; not "the retry step", which is a thing of its own."""
    specific = [word for word in words if word.lower() not in _WHICH]
    return len(specific) == 1 and _is_label(specific[0])


def _in_line(name: str, sign: str, value: str) -> Stated | None:
    if " " not in name and (sign == "=" or _ASSIGNED.search(name)):
        if " " in value or _is_label(name):
            return None
        return Stated(("", name.lower(), ""), value.rstrip(".,;").lower())
    found = _VALUE.match(value)
    after = _INSTEAD.sub("", value[found.end() :]) if found else ""
    if found is None or _is_label(name.split()[-1]) or _VALUE.search(after):
        return None
    return Stated(("", name.lower(), _plain(after)), _plain_value(found[0]))


def _is_label(word: str) -> bool:
    return word.lower().rstrip(".") in _LABELS


def _plain(text: str) -> str:
    return " ".join(_FILLERS.sub(" ", text).lower().split())


def _plain_value(value: str) -> str:
    return value.lower().rstrip(".,:;/-")


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
"""Reasons that make an output of a tool outdated as a whole."""

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
