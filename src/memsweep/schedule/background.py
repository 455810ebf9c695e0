"""Background collection in this process: waits for its time, and runs unless another process does."""

from __future__ import annotations

import contextlib
import json
import logging
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from memsweep.clock import local_now, now
from memsweep.collector.planner import resolve
from memsweep.errors import BadSetting, MemsweepError
from memsweep.model.times import iso
from memsweep.operation import Sync
from memsweep.schedule import runs
from memsweep.schedule.chore import Chore, Outcome, due_times, notify, run_chore
from memsweep.schedule.cron import parse_cron
from memsweep.services.access import collector, sync_access
from memsweep.store.drafts import draft_of, plain_refusals

if TYPE_CHECKING:
    from memsweep.app import App

logger = logging.getLogger("memsweep.schedule")


class Background:
    """The schedule of one home. Its record says what the last runs did, for every process to read."""

    def __init__(self, app: App, clock: Callable[[], datetime] = now) -> None:
        self._app = app
        self._clock = clock
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
        settings = self._settings
        done: list[runs.Run] = []
        with contextlib.suppress(MemsweepError):  # what cannot be read now is not shown
            done = self._read()
        last, removal = (done[-1] if done else None), runs.last_removal(done)
        following = parse_cron(settings.cron).next_after(local_now()) if settings.enabled else None
        return {
            "enabled": settings.enabled,
            "cron": settings.cron,
            "strategies": list(settings.strategies),
            "last_run": None if last is None else iso(last.at),
            "next_run": None if following is None else iso(following),
            "last_outcomes": [] if last is None else last.shown()["outcomes"],
            "last_removal": None if removal is None else removal.shown(),
        }

    def times(self, workspace_id: str) -> dict[str, Any] | None:
        """The last run, the last that removed something, and the next, for `get_stats`; None if it is off.

        `stopped` says why the last run left this workspace alone.
        """
        status = self.status()
        if not status["enabled"]:
            return None
        stopped = [each["stopped"] for each in status["last_outcomes"] if each["workspace_id"] == workspace_id]
        times = {name: status[name] for name in ("last_run", "next_run", "last_removal")}
        return {**times, **({"stopped": stopped[-1]} if any(stopped) else {})}

    def run(
        self, due: datetime | None = None, *, workspace_id: str = "", allow_large: bool = False
    ) -> dict[str, Any] | None:
        """One run over the workspaces of the schedule; None where another process is at it, or was since it was due.

        A person may have it run in one workspace only, and lift the cap for this time.
        """
        with self._alone() as alone:
            # Only who holds the lock knows: another one may have ended its run a moment ago.
            if not alone or (due is not None and runs.has_run(self._read(), due, self._clock())):
                return None
            done = self._read()
            expected, chore = runs.expected_memories(done), self._chore(allow_large)
            workspaces = [workspace_id] if workspace_id else self._workspaces()
            outcomes = [self._one(workspace, chore, expected.get(workspace)) for workspace in workspaces]
            if chore.purge_days is not None and not workspace_id:
                self._purge_mirrors(chore.purge_days)
            for item in outcomes:
                level = logging.WARNING if item["stopped"] else logging.INFO
                logger.log(level, "collected in the background: %s", json.dumps(item, ensure_ascii=False))
            run = runs.Run(self._clock(), tuple(outcomes))
            self._write(runs.with_run(done, run))
        notify(tuple(self._settings.notify_command), self._settings.notify_url, run.shown())
        return run.shown()

    def _loop(self) -> None:
        for due in due_times(parse_cron(self._settings.cron), local_now, self._stop):
            try:
                self.run(due)
            except (MemsweepError, OSError) as error:
                logger.warning("the background collection failed: %s", error)

    def _purge_mirrors(self, days: float) -> None:
        """Of the files that clients keep: their old versions are trash as well."""
        from memsweep.adopt.clients import CLIENTS
        from memsweep.services.adopt import AdoptService

        adopt: AdoptService[Sync] = AdoptService(self._app.settings, self._clock)
        for client in CLIENTS:
            try:
                adopt.purge(client, days, confirm=True)
            except MemsweepError as error:
                logger.warning("the mirror of %s was not purged: %s", client, error)

    def _workspaces(self) -> list[str]:
        known = [workspace.id for workspace in self._app.workspaces()]
        chosen = self._settings.workspaces
        return [workspace for workspace in known if workspace in chosen] if chosen else known

    def _chore(self, allow_large: bool) -> Chore:
        settings = self._settings
        return Chore(
            tuple(settings.strategies),
            settings.ttl_days if settings.ttl_days > 0 else None,
            settings.purge_days if settings.purge_days > 0 else None,
            allow_large,
        )

    def _one(self, workspace_id: str, chore: Chore, expected: int | None) -> dict[str, Any]:
        after: int | None = None
        try:
            tools = replace(collector(sync_access(self._app, workspace_id), "schedule"), clock=self._clock)
            outcome = run_chore(tools, chore, expected)
            after = self._app.memory(workspace_id).stats().total_memories
        except MemsweepError as error:
            outcome = Outcome(workspace_id, stopped=str(error))
        # One that was found shrunken stays suspicious until a person has allowed a run.
        then = expected if outcome.stopped and expected is not None else after
        return {**outcome.shown(), "memories_after": after, "expected_memories": then}

    @contextlib.contextmanager
    def _alone(self) -> Iterator[bool]:
        from filelock import FileLock, Timeout

        path = self._app.settings.home / "locks" / "schedule.lock"
        lock = FileLock(path, mode=0o600)
        with plain_refusals(path):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with contextlib.suppress(Timeout):
                lock.acquire(timeout=0)
        if not lock.is_locked:
            yield False
            return
        try:
            yield True
        finally:
            lock.release()

    def _read(self) -> list[runs.Run]:
        """Return the runs so far. A refused file is no empty one: the next run would overwrite it."""
        try:
            with plain_refusals(self._record):
                return runs.read_runs(self._record.read_text("utf-8")) if self._record.exists() else []
        except ValueError:  # it is damaged, and there is nothing to lose
            return []

    def _write(self, done: list[runs.Run]) -> None:
        with draft_of(self._record, replace=True) as draft, plain_refusals(self._record):
            draft.write_text(runs.write_runs(done), "utf-8")
