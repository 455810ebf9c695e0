"""Background collection: when it runs, by which of several processes, and what is remembered of it."""

import json
import shlex
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path

import pytest

from memsweep.app import App
from memsweep.errors import MemsweepError
from memsweep.model.times import iso
from memsweep.schedule.background import Background
from memsweep.schedule.chore import due_times
from memsweep.schedule.cron import parse_cron
from memsweep.schedule.runs import (
    MOST_RUNS,
    Run,
    expected_memories,
    has_run,
    last_removal,
    read_runs,
    with_run,
    write_runs,
)
from tests.support import store_files
from tests.support.commands import Ran
from tests.support.engines import on_every_engine
from tests.support.fork_server import ForkServer

NOON = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)
DAY = timedelta(days=1)
SETTINGS = {
    "MEMSWEEP_SCHEDULE_ENABLED": "true",
    "MEMSWEEP_SCHEDULE_STRATEGIES": "expired",
    "MEMSWEEP_SCHEDULE_CRON": "0 2 * * *",
}


def run_of(at: datetime, deleted: int = 0, after: int | None = 5, workspace: str = "default") -> Run:
    outcome = {"workspace_id": workspace, "deleted_memories": deleted, "memories_after": after}
    (run,) = read_runs(json.dumps({"runs": [{"last_run": iso(at), "outcomes": [outcome]}]}))
    return run


# when it is due


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        (None, False),
        (NOON - timedelta(seconds=1), False),
        (NOON, True),
        (NOON + timedelta(seconds=30), True),
        (NOON + timedelta(minutes=4), True),  # clocks differ a little
        (NOON + DAY, False),  # dated by a clock that was a day ahead
        (NOON + 365 * DAY, False),
    ],
)
def test_a_schedule_has_run_if_its_last_run_lies_between_the_due_time_and_now(
    last: datetime | None, expected: bool
) -> None:
    runs = [] if last is None else [run_of(last)]
    assert has_run(runs, NOON, NOON + timedelta(seconds=40)) is expected


def test_after_a_run_in_the_future_the_next_one_is_the_one_that_counts() -> None:
    runs = with_run([run_of(NOON + 365 * DAY)], run_of(NOON + timedelta(seconds=5)))
    assert has_run(runs, NOON, NOON + timedelta(seconds=6))
    assert not has_run(runs, NOON + DAY, NOON + DAY)


class Clock:
    """Says one time after the other, and stops the schedule at the end."""

    def __init__(self, *times: datetime) -> None:
        self._times, self.stop = list(times), threading.Event()

    def __call__(self) -> datetime:
        if len(self._times) == 1:
            self.stop.set()
            return self._times[0]
        return self._times.pop(0)


def dues(*times: datetime) -> list[datetime]:
    clock = Clock(*times)
    clock.stop.wait = lambda timeout=None: False  # type: ignore[method-assign]
    return list(islice(due_times(parse_cron("0 2 * * *"), clock, clock.stop), 10))


TWO = datetime(2026, 11, 17, 2, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ((NOON, TWO - DAY, TWO, TWO, TWO), [TWO]),
        ((NOON, NOON + 365 * DAY, NOON + 365 * DAY, NOON + 365 * DAY), [TWO]),  # a year ahead: once
        ((NOON, NOON - 10 * DAY, *[TWO - 10 * DAY] * 3), [TWO - 10 * DAY]),  # back: it waits for the next
    ],
    ids=["as it should", "ahead", "back"],
)
def test_a_clock_that_jumps_makes_one_run_due_at_most(times: tuple[datetime, ...], expected: list[datetime]) -> None:
    assert dues(*times) == expected


# what is remembered


def test_a_record_keeps_the_last_runs_and_the_last_that_removed_something() -> None:
    runs = [run_of(NOON, deleted=29)]
    for number in range(1, 3 * MOST_RUNS):
        runs = with_run(runs, run_of(NOON + number * DAY))
    assert len(runs) == MOST_RUNS
    assert runs[-1].at == NOON + (3 * MOST_RUNS - 1) * DAY
    removal = last_removal(runs)
    assert removal is not None
    assert (removal.at, removal.outcomes[0]["deleted_memories"]) == (NOON, 29)
    assert read_runs(write_runs(runs)) == runs


def test_what_a_workspace_had_is_known_from_the_last_run_that_counted_it() -> None:
    runs = [run_of(NOON, after=7), run_of(NOON, after=3, workspace="other"), run_of(NOON + DAY, after=None)]
    assert expected_memories(runs) == {"default": 7, "other": 3}


OLD = json.dumps({"last_run": iso(NOON), "outcomes": [{"workspace_id": "default", "memories_after": 4}]})
DAMAGED = {
    "empty": b"",
    "half": b'{"runs": [{"last_run": "2026',
    "no text": b"\xff\xfe\x00",
    "a list": b"[1, 2]",
    "a number": b"5",
    "runs that are none": b'{"runs": 5}',
    "a run that is none": b'{"runs": [1, null, {}, {"last_run": 5}, {"last_run": "tomorrow", "outcomes": []}]}',
    "no zone": b'{"runs": [{"last_run": "2026-01-01T00:00:00", "outcomes": []}]}',
    "no outcomes": b'{"runs": [{"last_run": "2026-01-01T00:00:00Z", "outcomes": null}]}',
    "odd outcomes": b'{"runs": [{"last_run": "2026-01-01T00:00:00Z", "outcomes": [5, {"workspace_id": 1}, '
    b'{"workspace_id": "default", "memories_after": "many", "receipts": 3, "stopped": null}]}]}',
    "deep": b"[" * 100_000,
}


def test_a_record_of_an_earlier_version_is_read() -> None:
    (run,) = read_runs(OLD)
    assert run.at == NOON
    assert expected_memories([run]) == {"default": 4}


@pytest.mark.parametrize("case", DAMAGED)
def test_a_damaged_record_stops_nothing(
    make: Callable[..., App], home: Path, run: Callable[..., Ran], case: str
) -> None:
    app = make(**SETTINGS)
    app.memory().remember("old", expires_at=NOON - DAY)
    (home / "schedule.json").write_bytes(DAMAGED[case])
    background = Background(app, lambda: NOON)
    background.status()
    done = background.run(NOON)
    assert done is not None
    assert done["outcomes"][0]["deleted_memories"] == 1
    assert background.status()["last_run"] == iso(NOON)
    assert run("schedule", "show").status == 0


# who runs it


def fill(app: App, expired: int) -> None:
    for number in range(expired):
        app.memory().remember(f"expired {number}", expires_at=NOON - DAY)
    for number in range(40):
        app.memory().remember(f"kept {number}")


def ran_by(fork_server: ForkServer, home: Path, due: datetime, processes: int = 6) -> list[int]:
    """What each run of so many processes deleted that all find it due at the same moment."""
    order = {"due": iso(due), "settings": SETTINGS}
    children = [fork_server.fork("run_schedule", home, **order) for _ in range(processes)]
    assert [child.said() for child in children] == ["ready"] * processes
    for child in children:
        child.go()
    return [done["outcomes"][0]["deleted_memories"] for child in children if (done := child.report())]


def test_a_record_that_is_refused_is_not_replaced(make: Callable[..., App], home: Path) -> None:
    background = Background(make(**SETTINGS))
    assert background.run() is not None
    record = home / "schedule.json"
    before = record.read_bytes()
    record.unlink()
    record.mkdir()
    with pytest.raises(MemsweepError, match=r"schedule\.json"):
        background.run()
    assert background.status()["last_run"] is None
    record.rmdir()
    record.write_bytes(before)
    assert background.run() is not None
    assert len(read_runs(record.read_text("utf-8"))) == 2


@pytest.mark.slow
def test_of_many_processes_one_runs_what_is_due_and_no_record_is_lost(
    fork_server: ForkServer, make: Callable[..., App], home: Path, run: Callable[..., Ran]
) -> None:
    app = make(**SETTINGS)
    fill(app, 29)
    assert ran_by(fork_server, home, datetime.now(UTC) - timedelta(minutes=1)) == [29]
    assert ran_by(fork_server, home, datetime.now(UTC)) == [0]
    status = Background(app).status()
    assert status["last_outcomes"][0]["deleted_memories"] == 0
    assert status["last_removal"]["outcomes"][0]["deleted_memories"] == 29
    assert len(read_runs((home / "schedule.json").read_text("utf-8"))) == 2
    shown = run("schedule", "show", **SETTINGS).out
    assert "last run that removed something" in shown
    assert "29 memories" in shown
    assert not list(home.glob("*.draft")) + list(home.glob(".*"))
    assert (home / "schedule.json").stat().st_mode & 0o777 == 0o600


@on_every_engine
def test_a_schedule_whose_last_run_lies_in_the_future_runs(make: Callable[..., App], engine_kind: str) -> None:
    app = make(**SETTINGS)
    app.memory().remember("old", expires_at=NOON - DAY)
    assert Background(app, lambda: NOON + 400 * DAY).run(NOON + 400 * DAY) is not None
    app.memory().remember("another old one", expires_at=NOON - DAY)
    done = Background(app, lambda: NOON).run(NOON)
    assert done is not None
    assert done["outcomes"][0]["deleted_memories"] == 1
    assert Background(app, lambda: NOON).run(NOON) is None


def test_a_run_that_fails_in_one_workspace_is_recorded(make: Callable[..., App], home: Path) -> None:
    app = make(**SETTINGS)
    fill(app, 3)
    app.memory("broken").remember("x")
    app.close()
    store_files.file_of(home, "broken").write_bytes(b"no database" * 1000)
    done = Background(make(**SETTINGS), lambda: NOON).run(NOON)
    assert done is not None
    outcomes = {item["workspace_id"]: item for item in done["outcomes"]}
    assert "damaged" in outcomes["broken"]["stopped"]
    assert outcomes["default"]["deleted_memories"] == 3


# who is told


def test_a_command_with_arguments_gets_the_summary(make: Callable[..., App], tmp_path: Path) -> None:
    told = tmp_path / "told it"
    script = "import sys; open(sys.argv[1], 'w').write(sys.stdin.read())"
    line = shlex.join([sys.executable, "-c", script, str(told)])
    app = make(**SETTINGS, MEMSWEEP_SCHEDULE_NOTIFY_COMMAND=line)
    app.memory().remember("old", expires_at=NOON - DAY)
    done = Background(app, lambda: NOON).run()
    assert json.loads(told.read_text()) == done


@pytest.mark.parametrize("settings", [{"COMMAND": "no-such-program --now"}, {"URL": "http://[bad"}, {"URL": "ftp://x"}])
def test_a_notification_that_fails_stops_nothing(
    make: Callable[..., App], settings: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    app = make(**SETTINGS, **{f"MEMSWEEP_SCHEDULE_NOTIFY_{name}": value for name, value in settings.items()})
    app.memory().remember("old", expires_at=NOON - DAY)
    done = Background(app, lambda: NOON).run()
    assert done is not None
    assert done["outcomes"][0]["deleted_memories"] == 1
    assert "the notification" in caplog.text
