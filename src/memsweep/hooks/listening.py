"""Read a session into the project's context window, and remember the decisions in it."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, BinaryIO, NamedTuple

from memsweep.context.transcripts import read_session, tier_of
from memsweep.errors import BadInput, Conflict, NotFound
from memsweep.hooks.background import HookSession
from memsweep.hooks.event import without_injected
from memsweep.model.tokens import estimate_tokens
from memsweep.regular import open_regular

_SLICE_BYTES = 1 << 20
"""About as much as is read at once: a second or two of work, after which the place is kept."""
_LONGEST_LINE = 16 << 20
"""Some hold pictures; a longer one is passed over."""
_MARK_BYTES = 256
_MOST_LAST_TRIES = 3


class _Slice(NamedTuple):
    """Whole lines of a transcript, and where the reading goes on."""

    lines: str
    first: int
    offset: int
    mark: str
    """A digest of what stands before the offset: it is another file where something else does."""
    is_in_line: bool
    """The offset is in the middle of a line that is passed over."""
    is_last: bool


def take_in(session: HookSession, until: int | None = None, *, again: bool = False, last_try: bool = False) -> bool:
    """Take the next lines of the transcript in; False at its end, or at `until`.

    Where they end is kept after they were learned: after a crash in between they are read `again`. At the last try only
    few are read at once, and what ended a few of those is passed over.
    """
    before = session.state("transcript")
    read = _next_lines(session.event.transcript, before, until, _SLICE_BYTES >> 4 if last_try else _SLICE_BYTES)
    state = {**before, "offset": read.offset, "mark": read.mark, "in_line": read.is_in_line, "last_tries": 0}
    bookmark = state.get("bookmark") if read.first else {}
    known = bookmark if isinstance(bookmark, dict) else {}
    last_tries = _count(before.get("last_tries")) + last_try
    is_passed_over = last_try and last_tries > _MOST_LAST_TRIES
    if last_try and not is_passed_over:
        session.keep("transcript", {**before, "last_tries": last_tries})
    if read.lines and not is_passed_over:
        again = again or last_tries > 0
        with contextlib.suppress(BadInput):  # what cannot be read is not better the next time
            added = session.window.add_transcript(read.lines, bookmark=known)
            state["remembered"] = _remember(session, read.lines, known, state, () if again else added.known)
            known = dict(added.bookmark)
            if not added.compacted:  # what the client has in its window, until it compacts that
                state["before_compaction"] = list(known.get("live", ()))
    session.keep("transcript", {**state, "bookmark": known})
    return not read.is_last


def _remember(
    session: HookSession, lines: str, bookmark: dict[str, Any], state: dict[str, Any], learned: Collection[str]
) -> int:
    """Remember the decisions of new lines; return how many memories of this session there are now."""
    done, most = _count(state.get("remembered")), session.app.settings.hooks.memories_a_session
    if done >= most:
        return done
    said = read_session(lines, now=session.app.clock(), count=estimate_tokens, bookmark=bookmark).segments
    before = set(learned)
    texts = (each.text for each in said if tier_of(each) == "person" and each.segment_id not in before)
    for found in find_decisions(texts, most - done):
        try:
            session.memory.remember(found.text, tags=[found.kind], source="hook")
        except (BadInput, Conflict):  # a secret that is refused, or a text that was forgotten for good
            continue
        done += 1
    return done


def _next_lines(path: str, state: Mapping[str, Any], until: int | None, most: int) -> _Slice:
    """Read whole lines from where the last reading ended; a file that shrank or was replaced is a new one."""
    try:
        handle = open_regular(path)
    except OSError:
        raise NotFound(f"the transcript {path!r:.200} cannot be read.") from None
    with os.fdopen(handle, "rb") as file:
        size = os.fstat(handle).st_size
        end, first = size if until is None else min(size, until), _count(state.get("offset"))
        if first > size or state.get("mark") not in (None, _mark(file, first)):
            first = 0
        file.seek(first)
        raw = file.read(max(0, min(most, end - first)))
        if not raw.endswith(b"\n"):
            raw += file.readline(max(0, min(_LONGEST_LINE, end - file.tell())))
        skipped = (raw.find(b"\n") + 1 or len(raw)) if first and state.get("in_line") is True else 0
        last = max(skipped, raw.rfind(b"\n") + 1)
        is_in_line = not raw.endswith(b"\n") and (0 < skipped == len(raw) or len(raw) - last > _LONGEST_LINE)
        whole, offset = raw[skipped:last], first + (len(raw) if is_in_line else last)
        mark = _mark(file, offset)
    return _Slice(whole.decode("utf-8", "replace"), first, offset, mark, is_in_line, offset in (first, end))


def _mark(file: BinaryIO, offset: int) -> str:
    first = max(0, offset - _MARK_BYTES)
    file.seek(first)
    return hashlib.blake2b(file.read(offset - first), digest_size=8).hexdigest()


def _count(value: Any) -> int:
    return value if type(value) is int and value >= 0 else 0


_FENCED = re.compile(r"^(```|~~~).*?(?:^\1|\Z)", re.M | re.S)
_QUOTED = re.compile(r"^[^\S\n]*+(?:>|\||\$ |#!|at |File \"|Traceback|\d+[:|]).*$", re.M)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_LEAST_WORDS, _LEAST_CHARS, _MOST_CHARS = 4, 16, 400

_KINDS = (
    (
        "remember",
        r"^(?:please )?(?:remember|keep in mind|for the record|note for later|memo)\b(?! (?:when|how|if|to)\b)",
    ),
    (
        "decision",
        r"\b(?:we|i)(?:'ve| have)?(?: just| finally| all)? (?:decided|agreed|settled on|opted|chose)\b",
        r"^(?:decision|decided)\s*:",
        r"\b(?:we|let)(?:'s|'re| are| will|'ll)?"
        r" (?:go(?:ing)? with|stick(?:ing)? with|switch(?:ing)? to|standardi[sz]e on)\b",
        r"^(?:ok(?:ay)?,? |so )?let'?s use .*"
        r"\b(?:instead|rather than|for (?:all|every|our|the whole)|everywhere)\b",
        r"\bwe (?:no longer|don't|do not) (?:use|support|deploy|ship|run)\b",
    ),
    (
        "rule",
        r"^(?:please |and |but |also |so )*(?:always|never)\b",
        r"\b(?:from now on|going forward)\b",
        r"\bin this (?:repo|repository|project|codebase),? (?:we|always|never|use)\b",
        r"\b(?:must|should) (?:always|never)\b",
    ),
    (
        "correction",
        r"^(?:no|nope|wrong|incorrect|actually|not quite)\b[,.:;!—-]+ *"
        r"(?:it|we|the|that|this|use|you|don't|do)\b",
        r"\b(?:should be|is|are|use) .{2,60}(?:, not |, instead of | instead of | rather than )",
        r"\bi (?:told|asked) you (?:to|not|that)\b",
    ),
    ("preference", r"\bi (?:strongly |really )?prefer\b"),
)
_PATTERNS = [(kind, re.compile(pattern, re.I)) for kind, *patterns in _KINDS for pattern in patterns]
_ASKING = re.compile(r"\?\s*$|^(?:can|could|would|should|what|why|how|when|where|who|which|is|are|does|do|did)\b", re.I)
_ABOUT_NOW = re.compile(
    r"\b(?:this (?:error|time|test|line|output)|right now|for now|just this once|the above|below)\b", re.I
)
_ORDER = ("remember", "decision", "rule", "correction", "preference")


class FoundDecision(NamedTuple):
    """A sentence that is worth a memory, and why."""

    kind: str
    text: str


def find_decisions(texts: Iterable[str], most: int) -> list[FoundDecision]:
    """The `most` clearest of them: what was asked to be remembered first, then as they were said."""
    found = dict.fromkeys(each for text in texts for each in _in_text(text))
    return sorted(found, key=lambda each: _ORDER.index(each.kind))[:most]


def _in_text(text: str) -> Iterator[FoundDecision]:
    prose = _QUOTED.sub("", _FENCED.sub("\n", without_injected(text)))
    for raw in _SENTENCE.split(prose):
        sentence = " ".join(raw.split()).strip("-*• ")
        if _LEAST_CHARS <= len(sentence) <= _MOST_CHARS and len(sentence.split()) >= _LEAST_WORDS:
            kind = _kind_of(sentence)
            if kind is not None:
                yield FoundDecision(kind, sentence)


def _kind_of(sentence: str) -> str | None:
    if _ASKING.search(sentence) or _ABOUT_NOW.search(sentence):
        return None
    return next((kind for kind, pattern in _PATTERNS if pattern.search(sentence)), None)
