"""The log of hooks, of git and of agents' clients: one list in the home, a line each, for `memsweep status`.

A hook never fails because it cannot be noted, and a line that is none is passed over: anybody can have damaged it.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from memsweep.errors import BadInput
from memsweep.model.times import parse_time
from memsweep.project.locate import locate
from memsweep.regular import WRITING, json_object, read_regular

GIT = "git-index"
_MOST_BYTES = 256 << 10
_KEPT = 1000
_FAILED = ("failed", "out of time")


class HookSummary(NamedTuple):
    hook: str
    runs: int
    failures: int
    last_at: datetime
    median_ms: int
    slowest_ms: int


class _Run(NamedTuple):
    hook: str
    at: datetime
    milliseconds: int
    failed: bool


def list_in(home: Path) -> Path:
    return home / "hooks" / "runs.jsonl"


def note_run(home: Path, event: str, at: float, seconds: float, outcome: str, **more: str) -> None:
    """One line, written at once. It names the folder that the hook ran for, or the workspace."""
    run = {"at": round(at, 3), "event": event, "ms": round(seconds * 1000), "outcome": outcome, **more}
    path = list_in(home)
    with contextlib.suppress(OSError):
        for folder in (home.parent, home, path.parent):
            folder.mkdir(mode=0o700, exist_ok=True)
        with os.fdopen(os.open(path, WRITING | os.O_APPEND, 0o600), "ab", buffering=0) as out:
            out.write(json.dumps(run).encode() + b"\n")
            is_long = os.fstat(out.fileno()).st_size > _MOST_BYTES
        if is_long:
            _shorten(path)


def runs(home: Path) -> list[dict[str, Any]]:
    """The last runs, the oldest first; before them those of git from when they had a list of their own."""
    return [*filter(None, map(_of_old, _lines(home / "hook-runs.jsonl"))), *_lines(list_in(home))]


def summaries(home: Path, workspace_id: str, identity: str | None = None) -> list[HookSummary]:
    """By hook: what ran for a workspace, and in any work tree of a project; empty: in folders that are in none."""
    by_hook: dict[str, list[_Run]] = {}
    for run in _of_place(runs(home), workspace_id, identity):
        by_hook.setdefault(run.hook, []).append(run)
    return [_summary(hook, group) for hook, group in sorted(by_hook.items())]


def _summary(hook: str, group: list[_Run]) -> HookSummary:
    times = sorted(run.milliseconds for run in group)
    median = round((times[len(times) // 2] + times[(len(times) - 1) // 2]) / 2)
    return HookSummary(
        hook, len(group), sum(run.failed for run in group), max(run.at for run in group), median, times[-1]
    )


def _of_place(noted: Iterable[Mapping[str, Any]], workspace_id: str, identity: str | None) -> Iterator[_Run]:
    identities: dict[str, str | None] = {}
    for run in noted:
        folder = run.get("folder")
        if not isinstance(folder, str) or not folder:
            is_here = run.get("workspace") == workspace_id
        else:
            if folder not in identities:
                identities[folder] = _identity(folder)
            is_here = identity is not None and identities[folder] == identity
        if is_here and (read := _read(run)) is not None:
            yield read


def _identity(folder: str) -> str | None:
    """Empty outside of every project; None for a folder that cannot be looked at."""
    try:
        found = locate(folder)
    except (OSError, ValueError):
        return None
    return found.identity if found else ""


def _read(run: Mapping[str, Any]) -> _Run | None:
    try:
        at, hook, outcome = datetime.fromtimestamp(run["at"], UTC), str(run["event"]), str(run["outcome"])
        return _Run(hook, at, int(run["ms"]), outcome.startswith(_FAILED))
    except (KeyError, TypeError, ValueError, OverflowError, OSError):
        return None


def _of_old(run: Mapping[str, Any]) -> dict[str, Any] | None:
    try:
        at, outcome = parse_time(run["at"], "at").timestamp(), "failed" if run.get("failed") is True else "done"
        return {"at": at, "event": run["hook"], "workspace": run["workspace"], "ms": run["ms"], "outcome": outcome}
    except (KeyError, TypeError, BadInput):
        return None


def _lines(path: Path) -> list[dict[str, Any]]:
    try:
        lines = read_regular(path, 4 * _MOST_BYTES).split(b"\n")
    except OSError:
        return []
    return [run for line in lines if (run := json_object(line))]


def _shorten(path: Path) -> None:
    """Keep the last lines. A run that is noted in the same moment may be lost, which nobody misses."""
    lines = path.read_bytes().splitlines(keepends=True)[-_KEPT:]
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    with os.fdopen(os.open(draft, WRITING | os.O_TRUNC, 0o600), "wb") as out:
        out.write(b"".join(lines))
    os.replace(draft, path)
