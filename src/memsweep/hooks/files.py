"""The small files of the hooks in the home: the switch, records of sessions, what waits.

Nothing here is worth more than the moment: a file that cannot be read counts as absent.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from memsweep.hooks.event import Client
from memsweep.model.frozen import frozen, replace, values_of
from memsweep.regular import WRITING, json_object, read_regular

_MOST_BYTES = 16 << 20
_SESSIONS_KEPT_SECONDS = 30 * 86_400


Part = Literal["shown", "transcript", "briefing"]
"""What the model was shown, and how far the transcript was read: two hooks of a session may run at once. And what the
next session of a workspace will be told."""


@frozen
class SpoolEntry:
    """Something to do later: a transcript that has grown, or files that were edited."""

    client: Client
    session: str
    folder: str
    transcript: str
    edited: tuple[str, ...] = ()
    tries: int = 0
    until: int | None = None
    """Where to stop in the transcript; None: at its end."""


@frozen
class HookFiles:
    """Below `home/hooks`; folders 0700, files 0600."""

    home: Path

    @property
    def _folder(self) -> Path:
        return self.home / "hooks"

    def is_in_use(self) -> bool:
        """Return whether a hook was ever called; the first one makes the folder."""
        return os.path.isdir(self._folder)  # a home that cannot be looked into is in nobody's use

    def is_on(self, workspace_id: str) -> bool:
        """Off for everything, or for single projects."""
        switch = _read(self._folder / "switch.json")
        return not switch.get("off") and workspace_id not in _names(switch)

    def switch(self, on: bool, workspace_id: str = "") -> None:
        """For one project, or for all of them."""
        path = self._folder / "switch.json"
        switch = _read(path)
        names = set(_names(switch))
        if workspace_id:
            names = names - {workspace_id} if on else names | {workspace_id}
        _write(path, {"off": bool(switch.get("off")) if workspace_id else not on, "projects": sorted(names)})

    def off(self) -> tuple[bool, list[str]]:
        """Return whether all hooks are off, and the projects whose hooks are."""
        switch = _read(self._folder / "switch.json")
        return bool(switch.get("off")), _names(switch)

    def session(self, session_id: str, part: Part) -> dict[str, Any]:
        return _read(self._session(session_id, part))

    def keep_session(self, session_id: str, part: Part, state: Mapping[str, Any]) -> None:
        _write(self._session(session_id, part), state)

    def _session(self, session_id: str, part: Part) -> Path:
        """The id is the client's word, so no path is made of it."""
        digest = hashlib.sha256(session_id.encode("utf-8", "replace")).hexdigest()[:32]
        return self._folder / "sessions" / f"{digest}.{part}.json"

    def forget_old_sessions(self, now_seconds: float) -> None:
        with contextlib.suppress(OSError), os.scandir(self._folder / "sessions") as entries:
            for entry in entries:
                if now_seconds - entry.stat().st_mtime > _SESSIONS_KEPT_SECONDS:
                    os.unlink(entry)

    def spool(self, entry: SpoolEntry) -> None:
        _write(self._folder / "spool" / f"{time.time_ns()}-{os.getpid()}.json", values_of(entry))

    def spooled(self) -> list[Path]:
        """Return the waiting files, the oldest first."""
        try:
            return sorted((self._folder / "spool").glob("*.json"))
        except OSError:
            return []

    def begin(self, path: Path, most_tries: int, *, counting: bool = True) -> SpoolEntry | None:
        """An entry, counted as tried; None if it cannot be read, or has ended too many processes."""
        data = _read(path)
        data["tries"] = data.get("tries", 0) + counting
        try:
            entry = SpoolEntry(**{**data, "edited": tuple(data["edited"])})
        except (TypeError, KeyError):
            return None
        _write(path, data)
        return entry if entry.tries <= most_tries else None

    def go_on(self, path: Path, entry: SpoolEntry) -> None:
        """Count the tries of an entry anew: a part of it is done, and the next one is being tried."""
        _write(path, values_of(replace(entry, tries=1)))

    def finish(self, path: Path) -> None:
        path.unlink(missing_ok=True)

    def servers_folder(self) -> str:
        folder = self._folder / "servers"
        _make_folder(folder)
        return str(folder)

    def lock_file(self) -> Path:
        _make_folder(self._folder)
        return self._folder / "drain.lock"


def _names(switch: Mapping[str, Any]) -> list[str]:
    found = switch.get("projects")
    return [name for name in found if isinstance(name, str)] if isinstance(found, list) else []


def _read(path: Path) -> dict[str, Any]:
    try:
        return json_object(read_regular(path, _MOST_BYTES))
    except OSError:
        return {}


def _write(path: Path, value: Mapping[str, Any]) -> None:
    _make_folder(path.parent)
    _replace(path, json.dumps(value).encode())


def _replace(path: Path, raw: bytes) -> None:
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    file = os.open(draft, WRITING | os.O_TRUNC, 0o600)
    with os.fdopen(file, "wb") as out:
        out.write(raw)
    os.replace(draft, path)


def _make_folder(folder: Path) -> None:
    for part in (folder.parent.parent, folder.parent, folder):
        part.mkdir(mode=0o700, exist_ok=True)
