"""What each event does, and what the model gets to see of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from memsweep.hooks import background
from memsweep.hooks.event import DRAIN, Event, edited_files
from memsweep.hooks.files import HookFiles
from memsweep.hooks.session import Session
from memsweep.settings import Settings, load_settings

Answer = Mapping[str, Any] | None


def handle(event: Event) -> tuple[Answer, str]:
    """The answer, and in a word what was done."""
    settings = load_settings()
    files = HookFiles(settings.home)
    if event.name == DRAIN:
        return None, background.drain(settings, files)
    if not event.is_of_a_person:
        return None, "skipped: no person's"
    if not settings.hooks.enabled or files.off()[0]:
        return None, "off"
    event = replace(event, folder=settings.project or event.folder)  # the client's project, where it names one
    if (later := _for_later(event)) is not None:
        background.spool(files, event, edited=edited_files(event))
        return None, later
    return _now(event, settings, files)


def _for_later(event: Event) -> str | None:
    """What no client should wait for, in a word; None for what has to be done now."""
    match event.name:
        case "PostToolUse" if edited_files(event):
            return "refreshes the index"
        case "Stop" | "SessionEnd" if event.transcript:
            return "reads the transcript"
    return None


def _now(event: Event, settings: Settings, files: HookFiles) -> tuple[Answer, str]:
    if event.name not in _STEPS or (event.name == "PostToolUse" and not settings.hooks.shrink_output_chars):
        return None, "nothing to do"
    session = Session.opened(settings, files, event)
    try:
        if not files.is_on(session.app.workspace_id):
            return None, "off here"
        return _STEPS[event.name](session)
    finally:
        session.app.close()


def _session_start(session: Session) -> tuple[Answer, str]:
    from memsweep.hooks import starting

    background.catch_up(session.app.settings, session.files)
    if session.event.source == "compact":
        return _context(starting.after_compaction(session))
    return _context(starting.briefing(session))


def _prompt(session: Session) -> tuple[Answer, str]:
    from memsweep.hooks.prompting import recalled

    return _context(recalled(session))


def _tool_used(session: Session) -> tuple[Answer, str]:
    from memsweep.hooks.shrinking import shrunk

    answer = shrunk(session)
    return answer, "shrunk" if answer else "nothing to do"


def _before_compaction(session: Session) -> tuple[Answer, str]:
    """Now or never: afterwards the client has forgotten most of it."""
    from memsweep.hooks import listening

    with background.alone(session.files, wait_seconds=2.0) as alone:
        if not alone:
            background.spool(session.files, session.event)
            return None, "reads the transcript"
        listening.take_in(session)
    return None, "took the transcript in"


def _context(text: str) -> tuple[Answer, str]:
    return ({"additionalContext": text}, f"{len(text)} characters") if text else (None, "nothing to say")


_STEPS: Mapping[str, Callable[[Session], tuple[Answer, str]]] = {
    "SessionStart": _session_start,
    "UserPromptSubmit": _prompt,
    "PostToolUse": _tool_used,
    "PreCompact": _before_compaction,
}
