"""The briefing that was made ahead: told only while it is what would be made now."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from memsweep.hooks import background, handle
from memsweep.hooks.files import HookFiles
from memsweep.project.runs import runs
from tests.hooks.conftest import unframed
from tests.support.commands import Ran
from tests.support.engines import on_every_engine

DECISION = "We decided to use Postgres for orders because of the JSON queries."
START = {"source": "startup"}


@pytest.fixture(autouse=True)
def _one_workspace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMSWEEP_WORKSPACE", "shop")


@pytest.fixture
def hook(run: Callable[..., Ran], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    monkeypatch.setattr(background, "start_draining", lambda files: None)
    (tmp_path / "t.jsonl").write_text("")

    def call(name: str, session: str, said: Mapping[str, Any] = START, **variables: str) -> str:
        data = {"session_id": session, "cwd": str(tmp_path), "transcript_path": str(tmp_path / "t.jsonl"), **said}
        done = run("hook", name, stdin=json.dumps(data).encode(), **variables)
        answer = json.loads(done.out)["hookSpecificOutput"] if done.out else {}
        return str(answer.get("additionalContext", ""))

    return call


def prepared(hook: Callable[..., str], run: Callable[..., Ran], **variables: str) -> None:
    hook("Stop", "s0", {}, **variables)
    run("hook", "Drain", **variables)


def nothing_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*given: Any) -> None:
        raise AssertionError("the store was opened")

    monkeypatch.setattr(handle.HookSession, "opened", refuse)


def test_a_briefing_that_is_ready_is_told_without_a_look_into_the_store(
    hook: Callable[..., str], run: Callable[..., Ran], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("remember", DECISION)
    prepared(hook, run)
    run("search", "Postgres")  # what was seen is noted, and changes nothing
    nothing_is_opened(monkeypatch)
    assert DECISION in hook("SessionStart", "s1")
    HookFiles(home).switch(False, "shop")
    assert hook("SessionStart", "s2") == ""
    assert [run["outcome"] for run in runs(home)][-1] == "off here"


CHANGES = {
    "nothing": [],
    "a memory": [("remember", "Kafka carries the events.")],
    "a personal memory": [("remember", "I prefer tabs.", "--scope", "personal", "--tag", "preference")],
    "a deleted memory": [("delete", "ID", "--yes")],
    "a tag": [("update", "ID", "--tag", "rule")],
    "a fact": [("graph", "relate", "Ada", "LIKES", "Postgres")],
    "another workspace of that name": [("workspace", "delete", "shop", "--yes"), ("remember", "All is new.")],
}


@on_every_engine
@pytest.mark.parametrize("change", CHANGES)
def test_what_is_told_is_what_would_be_made_now(
    hook: Callable[..., str], run: Callable[..., Ran], home: Path, change: str
) -> None:
    own = run("remember", DECISION, "--json").json["memory_id"]
    prepared(hook, run)
    for command in CHANGES[change]:
        assert run(*(own if word == "ID" else word for word in command)).status == 0
    told = hook("SessionStart", "s1")
    for path in (home / "hooks" / "sessions").glob("*.briefing.json"):
        path.unlink()
    assert unframed(told) == unframed(hook("SessionStart", "s2"))
    assert told.startswith("<memsweep-memory-") is (change != "a deleted memory")


def test_other_settings_another_day_and_a_damaged_file_make_it_anew(
    hook: Callable[..., str], run: Callable[..., Ran], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("remember", DECISION)
    prepared(hook, run)
    assert DECISION not in hook("SessionStart", "s1", MEMSWEEP_QUARANTINE_TIERS="person")
    (path,) = (home / "hooks" / "sessions").glob("*.briefing.json")
    kept = json.loads(path.read_text())
    nothing_is_opened(monkeypatch)
    for damaged in (b"", b"[]", json.dumps({**kept, "lines": 7}), json.dumps({**kept, "at": kept["at"] - 2 * 86_400})):
        path.write_bytes(damaged if isinstance(damaged, bytes) else damaged.encode())
        assert hook("SessionStart", "s2") == ""
    assert {run["outcome"] for run in runs(home)[-4:]} == {"failed: AssertionError: the store was opened"}
