"""What hooks did and how long it took: a small file in the home that they write and `memsweep status` reads."""

from __future__ import annotations

import contextlib
import json
import os
import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from memsweep.errors import BadInput
from memsweep.model.times import iso, parse_time
from memsweep.regular import WRITING, read_regular

NAME = "hook-runs.jsonl"
_MOST_BYTES = 256 * 1024
_KEPT = 500


@dataclass(frozen=True, slots=True)
class HookRun:
    """One run of a hook, such as `git-index`, for a workspace."""

    at: datetime
    hook: str
    workspace_id: str
    milliseconds: int
    failed: bool = False


@dataclass(frozen=True, slots=True)
class HookSummary:
    hook: str
    runs: int
    failures: int
    last_at: datetime
    median_ms: int
    slowest_ms: int


def note_run(home: Path, run: HookRun) -> None:
    """One line, written at once; a hook never fails because it cannot be noted."""
    line = {"at": iso(run.at), "hook": run.hook, "workspace": run.workspace_id, "ms": run.milliseconds}
    text = json.dumps({**line, "failed": True} if run.failed else line) + "\n"
    path = home / NAME
    with contextlib.suppress(OSError):
        handle = os.open(path, WRITING | os.O_APPEND, 0o600)
        with os.fdopen(handle, "ab", buffering=0) as out:
            out.write(text.encode())
            too_long = os.fstat(out.fileno()).st_size > _MOST_BYTES
        if too_long:
            _shorten(path)


def read_runs(home: Path, workspace_id: str) -> list[HookRun]:
    """The last runs for a workspace, the oldest first; lines that are none are passed over."""
    try:
        lines = read_regular(home / NAME, 2 * _MOST_BYTES).splitlines()
    except OSError:
        return []
    return [run for line in lines if (run := _run(line)) is not None and run.workspace_id == workspace_id]


def summaries(runs: Iterable[HookRun]) -> list[HookSummary]:
    by_hook: dict[str, list[HookRun]] = {}
    for run in runs:
        by_hook.setdefault(run.hook, []).append(run)
    return [
        HookSummary(
            hook,
            len(group),
            sum(run.failed for run in group),
            max(run.at for run in group),
            round(statistics.median(run.milliseconds for run in group)),
            max(run.milliseconds for run in group),
        )
        for hook, group in sorted(by_hook.items())
    ]


def _run(line: bytes) -> HookRun | None:
    try:
        found = json.loads(line)
        at = parse_time(found["at"], "at")
        return HookRun(at, str(found["hook"]), str(found["workspace"]), int(found["ms"]), found.get("failed") is True)
    except (ValueError, TypeError, KeyError, AttributeError, BadInput):
        return None


def _shorten(path: Path) -> None:
    """Keep the last lines. A run that is noted in the same moment may be lost, which nobody misses."""
    lines = path.read_bytes().splitlines(keepends=True)[-_KEPT:]
    draft = path.with_suffix(f".{os.getpid()}")
    handle = os.open(draft, WRITING | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "wb") as out:
        out.write(b"".join(lines))
    os.replace(draft, path)
