"""What a project has, how fresh it is, what would go, and what its hooks did."""

import json
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memsweep.app import App
from memsweep.model.times import iso
from memsweep.project.runs import GIT, note_run, runs, summaries
from memsweep.report import status as report
from tests.project.conftest import repository
from tests.support.commands import Ran
from tests.support.engines import on_every_engine

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@on_every_engine
def test_the_status_of_a_project(at: Callable[..., App], tmp_path: Path) -> None:
    folder = repository(tmp_path / "api")
    app = at(folder)
    empty = report.lines(app.projects.status())
    assert empty == ["git hooks  not installed; `memsweep hooks install`"]
    (folder / "app.py").write_text("def alpha(): pass\n")
    (folder / "old.py").write_text("def omega(): pass\n")
    app.memory().code.index(folder)
    (folder / "old.py").unlink()
    app.memory().code.index(folder)
    app.memory().remember("a note")
    plans_before = app.memory().sweep.audit(limit=50)
    found = app.projects.status()
    answer = report.status(found)
    (root,) = answer["index"]
    assert (root["path"], root["files"], root["verified_at"] is not None) == (str(folder), 1, True)
    assert answer["would_take"]["memories"] == 1
    assert answer["stale_memories"] == 1
    assert answer["newest"] is not None
    assert app.memory().sweep.audit(limit=50) == plans_before, "nothing is saved"
    said = "\n".join(report.lines(found))
    assert "would take 1 memory" in said
    assert "compared with the disk just now" in said


def test_the_command_shows_what_git_hooks_did(
    run: Callable[..., Ran], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = repository(tmp_path / "api")
    (folder / "app.py").write_text("def alpha(): pass\n")
    monkeypatch.chdir(folder)
    run("hooks", "install")
    assert run("index", ".", "--join").status == 0
    assert run("index", "gone", "--join").status != 0
    shown = run("status")
    assert "git hooks  post-commit, post-merge, post-checkout, post-rewrite" in shown.out
    assert "hook       git-index: 2 runs" in shown.out
    assert "1 failed" in shown.out
    (hook,) = run("status", "--json").json["hooks"]
    assert (hook["hook"], hook["runs"], hook["failures"]) == ("git-index", 2, 1)


def test_the_command_shows_what_hooks_of_clients_did_in_every_work_tree_of_this_project_alone(
    run: Callable[..., Ran], tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, other = repository(tmp_path / "api"), repository(tmp_path / "other")
    git = ("git", "-C", folder, "-c", "user.name=a", "-c", "user.email=a@example.org")
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "first"], check=True)
    subprocess.run([*git, "worktree", "add", "-q", tmp_path / "tree"], check=True)
    for cwd in (folder, tmp_path / "tree", other, tmp_path / "gone"):
        said = {"session_id": "s", "cwd": str(cwd), "prompt": "Which database did we choose?"}
        assert run("hook", "UserPromptSubmit", stdin=json.dumps(said).encode()).status == 0
    lost = {"session_id": "s", "cwd": str(folder), "transcript_path": str(tmp_path / "no such transcript")}
    assert run("hook", "PreCompact", stdin=json.dumps(lost).encode()).status == 0
    with (home / "hooks" / "runs.jsonl").open("ab") as out:
        noise = {"at": 1e300, "event": "Stop", "folder": str(folder), "ms": 1, "outcome": ""}
        out.write(b'\xff\n[]\n{"event": "Stop", "folder": 7}\n' + json.dumps(noise).encode() + b"\n")
    monkeypatch.chdir(folder)
    assert "hook       UserPromptSubmit: 2 runs, the last just now, median " in run("status").out
    answer = run("status", "--json").json
    assert [(each["hook"], each["runs"], each["failures"]) for each in answer["hooks"]] == [
        ("PreCompact", 1, 1),
        ("UserPromptSubmit", 2, 0),
    ]
    assert answer["hooks_on"] is True


@pytest.mark.parametrize("where", [(), ("--here",)])
def test_the_command_says_that_hooks_of_clients_are_off(
    run: Callable[..., Ran], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: tuple[str, ...]
) -> None:
    monkeypatch.chdir(repository(tmp_path / "api"))
    assert "are off" not in run("status").out
    run("hooks", "off", *where)
    assert "hooks      those of agents' clients are off" in run("status").out
    assert run("status", "--json").json["hooks_on"] is False
    run("hooks", "on", *where)
    assert "are off" not in run("status").out


def test_outside_of_a_project_there_is_a_status_too(run: Callable[..., Ran]) -> None:
    assert run("status").out.startswith("workspace  default")


def test_the_list_from_before_is_shown_too_and_damage_is_passed_over(tmp_path: Path) -> None:
    old = [{"at": iso(NOON), "hook": GIT, "workspace": name, "ms": ms, "failed": ms > 3} for name, ms in OLD]
    noise = b'\xff\n{}\n[]\n{"at": 5, "hook": "x", "workspace": "api", "ms": 1}\n{"at": "2026-01-0'
    (tmp_path / "hook-runs.jsonl").write_bytes(b"".join(json.dumps(each).encode() + b"\n" for each in old) + noise)
    note_run(tmp_path, GIT, NOON.timestamp() + 60, 0.011, "refreshed the index", workspace="api")
    note_run(tmp_path, GIT, NOON.timestamp(), 0.005, "failed", workspace="other")
    (summary,) = summaries(tmp_path, "api")
    assert summary == (GIT, 4, 1, NOON + timedelta(minutes=1), 4, 11)
    assert [run["ms"] for run in runs(tmp_path)] == [*(ms for _, ms in OLD), 11, 5]


OLD = [("api", 3), ("api", 5), ("other", 2), ("api", 1)]


def test_a_home_that_cannot_be_written_is_no_error_for_a_hook(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    note_run(tmp_path / "file", GIT, 0, 0, "failed", workspace="api")
    assert summaries(tmp_path / "file", "api") == []
