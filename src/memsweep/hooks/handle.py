"""Handle each event, and choose what the model gets to see of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from memsweep.hooks import background
from memsweep.hooks.background import HookSession, OpenApp, own_app
from memsweep.hooks.event import DRAIN, Event, is_left_for_later
from memsweep.hooks.files import HookFiles
from memsweep.model.frozen import replace
from memsweep.settings import Settings

Answer = Mapping[str, Any] | None


def handle(event: Event, settings: Settings, open_app: OpenApp = own_app) -> tuple[Answer, str]:
    """The answer, and in a word what was done."""
    files = HookFiles(settings.home)
    if event.name == DRAIN:
        outcome = background.drain(settings, files, open_app)
        if outcome.startswith("did") and files.spooled():  # time was up
            background.start_draining(files)
        return None, outcome
    if not event.is_of_a_person:
        return None, "skipped: no person's"
    if not settings.hooks.enabled or files.off()[0]:
        return None, "off"
    event = replace(event, folder=settings.project or event.folder)  # the client's project, where it names one
    if is_left_for_later(event):
        background.spool(files, event)
        return None, "refreshes the index" if event.name == "PostToolUse" else "reads the transcript"
    if not _has_something_to_do(event, settings):
        return None, "nothing to do"
    if event.name == "SessionStart" and (ready := _ready(event, settings, files)) is not None:
        return ready
    session = HookSession.opened(settings, files, event, open_app)
    try:
        if not files.is_on(session.app.workspace_id):
            return None, "off here"
        return _STEPS[event.name](session)
    finally:
        session.app.close()


def _has_something_to_do(event: Event, settings: Settings) -> bool:
    """Without a look at any store."""
    match event.name:
        case "UserPromptSubmit":
            from memsweep.hooks.prompting import asked

            return bool(asked(event.prompt))
        case "PostToolUse":
            return bool(settings.hooks.shrink_output_chars)
    return event.name in _STEPS


def _ready(event: Event, settings: Settings, files: HookFiles) -> tuple[Answer, str] | None:
    """Return the answer to a session's start, if all of it is there already."""
    from memsweep.hooks import starting

    if event.source == "compact" or files.spooled() or (place := starting.place_of(settings, event.folder)) is None:
        return None
    if not files.is_on(place.workspace_id):
        return None, "off here"
    text = starting.briefing_at_a_glance(settings, files, event, place, time.time())
    return None if text is None else _context(text)


def _session_start(session: HookSession) -> tuple[Answer, str]:
    from memsweep.hooks import starting

    background.catch_up(session.app.settings, session.files, session.event, session.open_app)
    if session.event.source == "compact":
        return _context(starting.after_compaction(session))
    return _context(starting.briefing(session))


def _prompt(session: HookSession) -> tuple[Answer, str]:
    from memsweep.hooks.prompting import recalled

    return _context(recalled(session))


def _tool_used(session: HookSession) -> tuple[Answer, str]:
    from memsweep.hooks.handle import shrunk

    answer = shrunk(session)
    return answer, "shrunk" if answer else "nothing to do"


def _context(text: str) -> tuple[Answer, str]:
    return ({"additionalContext": text}, f"{len(text)} characters") if text else (None, "nothing to say")


_STEPS: Mapping[str, Callable[[HookSession], tuple[Answer, str]]] = {
    "SessionStart": _session_start,
    "UserPromptSubmit": _prompt,
    "PostToolUse": _tool_used,
}


_SHARE_OF_THE_END = 3
"""A third of what is shown is the end: that is where errors stand."""


def shrunk(session: HookSession) -> dict[str, Any] | None:
    """The output in the tool's own shape, if it is on and the output is that long. Stored before it is cut."""
    most = session.app.settings.hooks.shrink_output_chars
    event = session.event
    if not most or event.client != "claude" or event.tool != "Bash" or not isinstance(event.tool_response, Mapping):
        return None  # Codex ignores it, and the shape of other tools' output is not known
    whole = event.tool_response.get("stdout")
    if not isinstance(whole, str) or len(whole) <= most:
        return None
    window = session.window
    (own,) = window.add([{"text": whole, "type": "log", "role": "tool"}]).segment_ids
    window.prune([own], strategy="stash")
    return {"updatedToolOutput": {**event.tool_response, "stdout": _cut(whole, most, own)}}


def _cut(whole: str, most: int, own: str) -> str:
    end = most // _SHARE_OF_THE_END
    note = f"\n[{len(whole) - most:,} characters are in the stash: context_restore(segment_ids=[{own!r}])]\n"
    return f"{whole[: most - end]}{note}{whole[-end:] if end else ''}"
