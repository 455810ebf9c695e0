"""What was said in a session goes into the project's context window, and decisions among it become memories."""

from __future__ import annotations

import os
from typing import Any

from memsweep.context.transcripts import read_session
from memsweep.errors import BadInput, MemsweepError, NotFound
from memsweep.hooks.decisions import find_decisions
from memsweep.hooks.session import Session
from memsweep.model.tokens import estimate_tokens
from memsweep.regular import open_regular

_MOST_BYTES = 64 << 20
"""Of one reading; the rest is for the next."""


def take_in(session: Session, until: int | None = None) -> None:
    """Read what was written since the last time. Where it ends is kept last: a crash in between reads it again."""
    state = session.state("transcript")
    lines, (first, last) = _new_lines(session.event.transcript, state.get("offset"), until)
    bookmark = state.get("bookmark") if first else {}
    known = bookmark if isinstance(bookmark, dict) else {}
    if lines:
        try:
            added = session.window.add_transcript(lines, bookmark=known)
            state["remembered"] = _remember(session, lines, known, state)
            known = dict(added.bookmark)
            if not added.compacted:  # what the client has in its window, until it compacts that
                state["before_compaction"] = list(known.get("live", ()))
        except BadInput:  # a line that is no JSON is not better the next time
            pass
    session.keep("transcript", {**state, "offset": last, "bookmark": known})


def _remember(session: Session, lines: str, bookmark: dict[str, Any], state: dict[str, Any]) -> int:
    """How many memories of this session there are now."""
    done, most = _count(state.get("remembered")), session.app.settings.hooks.memories_a_session
    if done >= most:
        return done
    said = read_session(lines, now=session.app.clock(), count=estimate_tokens, bookmark=bookmark).segments
    texts = (each.text for each in said if each.role == "user" and each.type == "message")
    for found in find_decisions(texts, most - done):
        try:
            session.memory.remember(found.text, tags=[found.kind], source="hook")
        except MemsweepError:  # a secret that is refused, or a text that was forgotten for good
            continue
        done += 1
    return done


def _new_lines(path: str, seen: Any, until: int | None) -> tuple[str, tuple[int, int]]:
    """The whole lines after the last reading, and from where to where they go; a file that shrank is a new one."""
    try:
        handle = open_regular(path)
    except OSError:
        raise NotFound(f"the transcript {path!r:.200} cannot be read.") from None
    with os.fdopen(handle, "rb") as file:
        size = os.fstat(handle).st_size
        first = _count(seen) if _count(seen) <= size else 0
        file.seek(first)
        raw = file.read(min(_MOST_BYTES, max(0, (size if until is None else until) - first)))
    whole = raw[: raw.rfind(b"\n") + 1]
    return whole.decode("utf-8", "replace"), (first, first + len(whole))


def _count(value: Any) -> int:
    return value if type(value) is int and value >= 0 else 0
