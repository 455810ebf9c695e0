"""Background collection in this process: waits for its time, and runs unless another process does."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import threading
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memsweep.clock import local_now, now
from memsweep.errors import BadSetting, MemsweepError
from memsweep.gc.cron import parse_cron
from memsweep.gc.schedule import Chore, Outcome, describe_failure, due_times, notify, run_chore
from memsweep.gc.strategies import resolve
from memsweep.model.times import iso

if TYPE_CHECKING:
    from memsweep.app import App

logger = logging.getLogger("memsweep.schedule")


class Background:
    """The schedule of one home. Its record says what the last run did, for every process to read."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._settings = app.settings.schedule
        self._record = app.settings.home / "schedule.json"
        self._stop = threading.Event()

    def start(self) -> None:
        """Wait and run in a thread of its own, if the settings say so."""
        if self._settings.enabled:
            self.check()
            threading.Thread(target=self._loop, name="schedule", daemon=True).start()

    def stop(self) -> None:
        self._stop.set()

    def check(self) -> None:
        """Refuse settings that cannot work."""
        parse_cron(self._settings.cron)
        for strategy in self._settings.strategies:
            resolve(strategy)
        if not self._settings.strategies:
            raise BadSetting("schedule.strategies is empty.", hint="Name at least one strategy.")

    def status(self) -> dict[str, Any]:
        record = self._read()
        settings = self._settings
        following = parse_cron(settings.cron).next_after(local_now()) if settings.enabled else None
        return {
            "enabled": settings.enabled,
            "cron": settings.cron,
            "strategies": list(settings.strategies),
            "last_run": record.get("last_run"),
            "next_run": None if following is None else iso(following),
            "last_outcomes": record.get("outcomes", []),
        }

    def times(self) -> dict[str, Any] | None:
        """The last run and the next, for `get_stats`; None where there is neither."""
        status = self.status()
        return {name: status[name] for name in ("last_run", "next_run")} if status["enabled"] else None

    def run(self) -> dict[str, Any] | None:
        """One run over the workspaces of the schedule, or None where another process is at it."""
        with self._alone() as alone:
            if not alone:
                return None
            before = {item["workspace_id"]: item for item in self._read().get("outcomes", [])}
            outcomes = [self._one(workspace, before.get(workspace, {})) for workspace in self._workspaces()]
            record = {"last_run": iso(now()), "outcomes": outcomes}
            self._write(record)
        for item in outcomes:
            level = logging.WARNING if item["stopped"] else logging.INFO
            logger.log(level, "collected in the background: %s", json.dumps(item, ensure_ascii=False))
        notify(tuple(self._settings.notify_command), self._settings.notify_url, record)
        return record

    def _loop(self) -> None:
        for due in due_times(parse_cron(self._settings.cron), local_now, self._stop):
            if not self._ran_since(due):
                with contextlib.suppress(MemsweepError, OSError):
                    self.run()

    def _ran_since(self, due: datetime) -> bool:
        last = self._read().get("last_run")
        return last is not None and datetime.fromisoformat(last) >= due

    def _workspaces(self) -> list[str]:
        known = [workspace.id for workspace in self._app.workspaces()]
        chosen = self._settings.workspaces
        return [workspace for workspace in known if workspace in chosen] if chosen else known

    def _one(self, workspace_id: str, before: dict[str, Any]) -> dict[str, Any]:
        settings = self._settings
        chore = Chore(
            tuple(settings.strategies),
            settings.ttl_days if settings.ttl_days > 0 else None,
            settings.purge_days if settings.purge_days > 0 else None,
        )
        memory = self._app.memory(workspace_id)
        try:
            there = memory.stats().total_memories
            outcome: Outcome = run_chore(memory.collecting("schedule"), chore, there, before.get("memories_after"))
        except MemsweepError as error:
            outcome, there = describe_failure(workspace_id, error), 0
        after = memory.stats().total_memories if there else 0
        # A workspace that was found shrunken stays suspicious until a person has pruned or cleared the record.
        kept = before.get("memories_after", after) if outcome.stopped else after
        return {**outcome.shown(), "memories_after": kept}

    @contextlib.contextmanager
    def _alone(self) -> Iterator[bool]:
        from filelock import FileLock, Timeout

        folder = self._app.settings.home / "locks"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = FileLock(folder / "schedule.lock", mode=0o600)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            yield False
            return
        try:
            yield True
        finally:
            lock.release()

    def _read(self) -> dict[str, Any]:
        try:
            found: dict[str, Any] = json.loads(self._record.read_text("utf-8"))
            return found
        except (OSError, ValueError):
            return {}

    def _write(self, record: dict[str, Any]) -> None:
        draft = Path(f"{self._record}.{os.getpid()}.draft")
        with os.fdopen(os.open(draft, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            json.dump(record, file, ensure_ascii=False, indent=1)
        draft.replace(self._record)
