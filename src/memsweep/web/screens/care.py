"""Care: the doctor, backups, the schedule, sizes, settings, tokens; the home is for whoever runs memsweep here."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from starlette.responses import Response

from memsweep.care.invariants import next_step, sentence
from memsweep.errors import BadInput, NotAllowed, NotFound, StoreCorrupt, Unconfirmed
from memsweep.report.care import backed_up, checked, compacted
from memsweep.schedule.background import Background
from memsweep.settings import Settings
from memsweep.store.drafts import plain_refusals
from memsweep.web.screen import Call, Screen
from memsweep.web.words import counted

_BACKUPS = 10
_NAMED = "%Y%m%d-%H%M%S-%f"
_OWN_NAME = re.compile(r"(.+)-(\d{8}-\d{6}-\d{6})\.db")


@dataclass(frozen=True, slots=True)
class Copy:
    """A backup that was made, wherever it is now."""

    path: str
    at: datetime
    size: int | None
    """None: it is no longer there, or not to be looked at."""


def care(call: Call) -> Response:
    """Show the page of care. Damage cannot be counted: then the doctor is shown."""
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
    made = call.memory.care.backup(folder / f"{call.workspace}-{call.now.astimezone(UTC).strftime(_NAMED)}.db")
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
    """Return the backups of this workspace and of our folder: a restored one may not remember its own."""
    events = call.memory.sweep.audit_page(action="backup", limit=_BACKUPS).events
    found = {event.subject: Copy(event.subject, event.at, _size(event.subject)) for event in events}
    for at, path in _in_folder(call):
        found.setdefault(str(path), Copy(str(path), at, _size(str(path))))
    return sorted(found.values(), key=lambda copy: copy.at, reverse=True)[:_BACKUPS]


def _in_folder(call: Call) -> list[tuple[datetime, Path]]:
    try:
        names = os.listdir(_folder(call))
    except OSError:
        return []
    made = [(at, _folder(call) / name) for name in names if (at := _made_at(name, call.workspace))]
    return sorted(made, reverse=True)[:_BACKUPS]


def _made_at(name: str, workspace: str) -> datetime | None:
    """When a file of ours was made; None if it is another workspace's, or somebody else's."""
    found = _OWN_NAME.fullmatch(name)
    if not found or found[1] != workspace:
        return None
    try:
        return datetime.strptime(found[2], _NAMED).replace(tzinfo=UTC)
    except ValueError:
        return None


def before_restore(call: Call) -> Response:
    """Show a copy beside the workspace that it would replace."""
    require_owner(call)
    return call.show("restore.html", copy=_known(call, call.asked("file")), stats=call.memory.stats())


def restore(call: Call) -> Response:
    """As `memsweep restore --replace`: a file that is not whole changes nothing, and what was here is put aside."""
    require_owner(call)
    if call.given("understood") != "yes":
        raise Unconfirmed("the box that confirms it is not ticked.", hint="Go back and tick it.")
    done = call.page.app.restore(_known(call, call.given("file")).path, call.workspace, replace=True)
    number = counted(done.seal.memories, "memory", "memories")
    return call.go("/care", f"Restored {number}. What was here until now is in the trash, whole.")


def _known(call: Call, path: str) -> Copy:
    """A file is named by the page, and by nobody else."""
    for copy in _backups(call):
        if copy.path == path and copy.size is not None:
            return copy
    raise NotFound(f"{path!r:.200} is not one of the backups listed here.", hint="`memsweep restore FILE` takes any.")


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
    shows={"/care": care, "/care/doctor": doctor, "/care/restore": before_restore},
    acts={"/care/repair": repair, "/care/backup": backup, "/care/restore": restore, "/care/compact": compact},
    group=1,
)


def create(call: Call) -> Response:
    """The answer is the only page that ever shows the secret, and no browser keeps it."""
    require_owner(call)
    where, days = call.given("where"), call.given("days")
    if where not in ("here", "everywhere"):
        raise BadInput("a token gives access to this workspace or to all.", hint="Choose one of them.")
    token, secret = call.page.app.tokens.create(
        call.given("name"),
        [call.workspace] if where == "here" else (),
        read_only=call.given("read_only") == "yes",
        days=_days(days),
    )
    return call.show("token.html", token=token, secret=secret)


def revoke(call: Call) -> Response:
    require_owner(call)
    revoked = call.page.app.tokens.revoke(call.part("token"))
    return call.go("/care", f"Revoked {revoked.name}: no server lets it in any more.")


def _days(text: str) -> float | None:
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 6):
        raise BadInput(f"days {text!r:.20} is not a number of days.", hint="Leave it empty for one that never expires.")
    return float(text)


TOKENS = Screen("care", "Care", "/care", acts={"/care/tokens": create, "/care/tokens/{token}/revoke": revoke})


class SettingRow(NamedTuple):
    name: str
    value: str
    is_set: bool
    """Whether it is another value than the default."""


def settings_in_force(settings: Settings) -> list[SettingRow]:
    """Return the settings, changed ones first, each in the order of the documentation."""
    defaults = dict(_flat(Settings().shown()))
    rows = [
        SettingRow(name, _shown(name, value), value != defaults.get(name) and name != "home")
        for name, value in _flat(settings.shown())
    ]
    return sorted(rows, key=lambda row: not row.is_set)


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _shown(name: str, value: Any) -> str:
    """Return a value to show. Addresses and commands of a notice often contain keys: only who is called is shown."""
    if name == "schedule.notify_url" and value:
        called = urlsplit(str(value))
        return f"{called.scheme}://{called.hostname or ''}/…"
    if name == "schedule.notify_command" and value:
        return f"{value[0]} …"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
