"""Mistakes that a durable context window is prone to, each shown not to happen here."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from memsweep.app import App
from memsweep.context.service import ContextWindow
from memsweep.errors import BadInput
from tests.context.windows import active, some, stashed
from tests.support import store_files
from tests.support.commands import Ran, memsweep


def test_pins_are_roots_and_counters_are_kept_up(window: ContextWindow) -> None:
    window.add([some("pin", pinned=True, references=["base"]), some("base", tokens=10), some("loose", tokens=10)])
    window.analyze(budget=5)
    seen = window.analyze(target_tokens=10)
    assert seen.planned == {"loose"}
    window.prune(plan_id=seen.plan_id)
    base = next(segment for segment in window.segments() if segment.segment_id == "base")
    assert (base.refcount, base.gc_survival_count) == (1, 1)


def test_times_without_a_zone_are_utc_and_zones_are_understood(window: ContextWindow) -> None:
    there = datetime(2026, 5, 1, 3, tzinfo=timezone(timedelta(hours=-9)))
    times = ["2026-05-01T12:00:00", "2026-05-01T20:00:00+08:00", there, datetime(2026, 5, 1, 12)]
    window.add([some(f"s{number}", created_at=time) for number, time in enumerate(times)])
    for kept in window.segments():
        assert kept.created_at == datetime(2026, 5, 1, 12, tzinfo=UTC)
        assert kept.created_at.utcoffset() == timedelta(0)


@pytest.mark.parametrize("project", ["../../escape", "a/b", "/etc", "..", "", "A", "a\0b", "con.txt", "x" * 64])
def test_a_project_id_is_never_a_path(app: App, home: Path, project: str) -> None:
    with pytest.raises(BadInput, match="project id"):
        app.memory().context(project)
    assert not home.exists()


@pytest.mark.slow
def test_a_restart_loses_no_stash(window: ContextWindow, app: App, home: Path) -> None:
    """The stash that does not survive a full disk is in test_faults."""
    window.add([some("a", "precious words"), some("b")])
    window.prune(["a"])
    app.close()
    said = memsweep("context", "search", "precious", "-p", "session", "--json", home=home)
    assert [hit["segment_id"] for hit in said.json["results"]] == ["a"]


def test_one_more_write_does_not_rewrite_what_is_stored(window: ContextWindow, home: Path) -> None:
    """Bytes, not seconds: one more costs as much of the log in a large window as in a small one."""
    window.configure(soft_tokens=10**9, hard_tokens=10**9)
    written = []
    for size in (50, 1000):
        window.add([some(f"{size}-{n}", f"words of {n} " * 20) for n in range(size)])
        file = store_files.file_of(home)
        store_files.checkpoint(home)
        window.add([some(f"{size}-more", "words of more " * 20)])
        window.prune([f"{size}-more"])
        window.restore([f"{size}-more"])
        written.append(file.with_name(file.name + "-wal").stat().st_size)
    assert written[1] <= 2 * written[0]


def test_two_doors_on_one_window_lose_nothing(window: ContextWindow, app: App, run: Callable[..., Ran]) -> None:
    """Several writers at the same moment are in test_faults."""
    window.add([some("a")])
    exported = run("context", "export", "-p", "session")
    assert run("context", "import", "-", "-p", "other", stdin=exported.raw).status == 0
    run("context", "prune", "a", "-p", "session")
    window.add([some("b")])
    assert (active(window), stashed(window)) == (["b"], ["a"])
    assert active(app.memory().context("other")) == ["a"]
