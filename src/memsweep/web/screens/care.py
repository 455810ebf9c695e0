"""Care: the doctor, backups, the schedule, sizes, settings in force; the home is for whoever runs memsweep here."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from starlette.responses import Response

from memsweep.care.invariants import next_step, sentence
from memsweep.errors import NotAllowed, StoreCorrupt
from memsweep.report.care import backed_up, checked, compacted
from memsweep.schedule.background import Background
from memsweep.store.drafts import plain_refusals
from memsweep.web.screen import Call, Screen
from memsweep.web.settings_shown import settings_in_force

_BACKUPS = 10


@dataclass(frozen=True, slots=True)
class Copy:
    """A backup that was made, wherever it is now."""

    path: str
    at: datetime
    size: int | None
    """None: it is no longer there, or not to be looked at."""


def care(call: Call) -> Response:
    """What is damaged cannot be counted, and needs the doctor all the more."""
    try:
        stats, trashed = call.memory.stats(), call.memory.sweep.trash(limit=1)[1]
    except StoreCorrupt:
        return doctor(call)
    own = call.session.grant.is_owner
    settings = call.page.app.settings
    return call.show(
        "care.html",
        stats=stats,
        trashed=trashed,
        is_owner=own,
        backups=_backups(call) if own else [],
        folder=_folder(call) if own else "",
        schedule=Background(call.page.app).status() if own else {},
        settings=settings_in_force(settings) if own else [],
        tokens=call.page.app.tokens.all() if own else [],
        revision=call.revision,
    )


def doctor(call: Call) -> Response:
    """Every invariant, read and not changed; it takes its time, so it comes when somebody asks."""
    require_owner(call)
    return call.show("doctor.html", found=checked(call.memory.care.doctor(), sentence, next_step))


def repair(call: Call) -> Response:
    require_owner(call)
    return call.show("doctor.html", found=checked(call.memory.care.doctor(repair=True), sentence, next_step))


def backup(call: Call) -> Response:
    """Into a folder beside the workspaces, under a name that nothing has."""
    require_owner(call)
    folder = _folder(call)
    with plain_refusals(folder):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    made = call.memory.care.backup(folder / f"{call.workspace}-{call.now:%Y%m%d-%H%M%S-%f}.db")
    return call.go("/care", backed_up(made)["message"])


def compact(call: Call) -> Response:
    return call.go("/care", compacted(call.workspace, call.memory.care.compact())["message"])


def require_owner(call: Call) -> None:
    """A token is for workspaces, and this is about the home that they are in."""
    if not call.session.grant.is_owner:
        raise NotAllowed("this is for whoever runs memsweep here.", hint="`memsweep ui` on that machine opens it.")


def _folder(call: Call) -> Path:
    return call.page.app.settings.home / "backups"


def _backups(call: Call) -> list[Copy]:
    events = call.memory.sweep.audit_page(action="backup", limit=_BACKUPS).events
    return [Copy(event.subject, event.at, _size(event.subject)) for event in events]


def _size(path: str) -> int | None:
    try:
        return os.stat(path).st_size
    except (OSError, ValueError):
        return None


SCREEN = Screen(
    "care",
    "Care",
    "/care",
    "care",
    "a",
    shows={"/care": care, "/care/doctor": doctor},
    acts={"/care/repair": repair, "/care/backup": backup, "/care/compact": compact},
    group=1,
)
