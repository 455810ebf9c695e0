"""A transcript is taken in by slices, and the place is kept after each: nothing is lost, and nothing learned twice."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from memsweep.app import App
from memsweep.hooks import background, listening
from memsweep.hooks.files import HookFiles, SpoolEntry
from memsweep.settings import load_settings
from tests.support.commands import environment
from tests.support.waiting import PATIENCE

SLICE = 4096
Drained = Callable[[], str]


def line(own: str, text: str, role: str = "user", **more: Any) -> str:
    message = {"role": role, "content": text}
    at = {"timestamp": "2026-11-17T10:00:00Z"}
    return json.dumps({"type": role, "uuid": own, "message": message, **at, **more}) + "\n"


def written(path: Path, numbers: Iterable[int]) -> None:
    """Answers, and every fortieth line a rule of the person's."""
    with path.open("a") as file:
        for number in numbers:
            if number % 40 == 7:
                file.write(line(f"u{number}", f"Never touch the file part{number}.py again."))
            else:
                file.write(line(f"u{number}", f"step {number} of the work " * 8, "assistant"))


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    return tmp_path / "t.jsonl"


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How often a process was started that goes on."""
    calls: list[int] = []
    monkeypatch.setattr(background, "start_draining", lambda files: calls.append(1))
    return calls


@pytest.fixture
def drained(home: Path, project: Path, transcript: Path, monkeypatch: pytest.MonkeyPatch) -> Drained:
    monkeypatch.setattr(listening, "_SLICE_BYTES", SLICE)

    def drain() -> str:
        HookFiles(home).spool(SpoolEntry("claude", "s1", str(project), str(transcript)))
        return background.drain(load_settings({"MEMSWEEP_HOME": str(home)}), HookFiles(home), wait_seconds=60)

    return drain


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    return folder


def known(home: Path, project: Path) -> tuple[list[str], list[str]]:
    """The segments of the window, and the memories."""
    with App(load_settings({"MEMSWEEP_HOME": str(home)}), project=str(project)).memory() as memory:
        window = memory.context()
        texts = sorted(hit.passage.text for hit in memory.search("", limit=50).hits)
        return [each.segment_id for each in window.segments(stashed=True)], texts


def offset(home: Path) -> int:
    return int(HookFiles(home).session("s1", "transcript").get("offset", 0))


@pytest.mark.slow
def test_all_of_a_transcript_of_many_slices_is_learned(
    drained: Drained, home: Path, project: Path, transcript: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(transcript, range(200))
    places: list[int] = []
    keep = HookFiles.keep_session

    def noted(self: HookFiles, session: str, part: Any, state: Any) -> None:
        keep(self, session, part, state)
        if part == "transcript":
            places.append(state["offset"])

    monkeypatch.setattr(HookFiles, "keep_session", noted)
    assert drained() == "did 1"
    slices = -(-transcript.stat().st_size // SLICE)
    assert slices - slices // 10 - 1 <= len(places) <= slices + 1
    assert places == sorted(set(places))
    assert places[-1] == transcript.stat().st_size
    segments, memories = known(home, project)
    assert segments == [f"u{number}" for number in range(200)]
    assert memories == sorted(f"Never touch the file part{number}.py again." for number in range(7, 200, 40))


@pytest.mark.slow
def test_where_time_is_up_another_process_goes_on(
    drained: Drained,
    home: Path,
    project: Path,
    transcript: Path,
    started: list[int],
    run: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    written(transcript, range(60))
    HookFiles(home).spool(SpoolEntry("claude", "s1", str(project), str(transcript)))
    monkeypatch.setattr(background, "drain", partial(background.drain, most_seconds=0.0))
    before, rounds = 0, 0
    while HookFiles(home).spooled():
        assert run("hook", "Drain").status == 0
        rounds += 1
        assert offset(home) > before
        assert len(started) == rounds - (not HookFiles(home).spooled())
        before = offset(home)
    assert rounds > 3
    assert known(home, project)[0] == [f"u{number}" for number in range(60)]


@pytest.mark.slow
def test_a_long_line_is_read_and_one_that_is_too_long_is_passed_over(
    drained: Drained, home: Path, project: Path, transcript: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listening, "_LONGEST_LINE", 5 * SLICE)
    texts = {"a": "one", "b": "long " * SLICE, "c": "two", "d": "huge " * 8 * SLICE, "e": "three", "f": "wide " * SLICE}
    transcript.write_text("".join(line(own, text, "assistant") for own, text in texts.items()))
    drained()
    assert known(home, project)[0] == ["a", "b", "c", "e", "f"]
    with transcript.open("a") as file:
        file.write(line("g", "huge " * 8 * SLICE)[:-5])
    drained()
    with transcript.open("a") as file:
        file.write(line("g", "")[-5:] + line("h", "four", "assistant"))
    drained()
    assert known(home, project)[0] == ["a", "b", "c", "e", "f", "h"]
    assert offset(home) == transcript.stat().st_size


@pytest.mark.slow
@pytest.mark.parametrize("longer", [False, True])
def test_a_file_that_was_replaced_is_read_from_its_beginning(
    drained: Drained, home: Path, project: Path, transcript: Path, longer: bool
) -> None:
    written(transcript, range(30))
    drained()
    with App(load_settings({"MEMSWEEP_HOME": str(home)}), project=str(project)).memory() as memory:
        memory.delete(memory.search("part7").hits[0].passage.memory_id, confirm=True)
    size = transcript.stat().st_size
    transcript.write_text(line("n1", "Always run the linter before you commit."))
    written(transcript, range(8))
    while longer and transcript.stat().st_size <= size:
        written(transcript, [8 + len(transcript.read_text().splitlines())])
    drained()
    segments, memories = known(home, project)
    assert "n1" in segments
    assert len(segments) == len(set(segments))
    assert memories == ["Always run the linter before you commit."]
    assert offset(home) == transcript.stat().st_size


def test_a_line_that_is_broken_costs_no_other(drained: Drained, home: Path, project: Path, transcript: Path) -> None:
    deep = '{"type": "user", "uuid": "d", "origin": ' + "[" * 2000 + "]" * 2000 + "}\n"
    dated = line("t", "when", timestamp="yesterday")
    long_id = line("x" * 5000, "with a long id", "assistant")
    transcript.write_text(line("a", "one") + '{"type": "us\n[]\n' + deep + dated + long_id + line("b", "two"))
    drained()
    first, digest, last = known(home, project)[0]
    assert (first, last) == ("a", "b")
    assert digest.startswith("item-")


KILLED = """
import os, signal, sys
from memsweep.hooks import background, listening
from memsweep.hooks.files import HookFiles
from memsweep.context.service import ContextWindow
from memsweep.settings import load_settings
from pathlib import Path
listening._SLICE_BYTES = {slice}
def dies(self, *args, **kwargs):
    {when}
    os.kill(os.getpid(), signal.SIGKILL)
{what} = dies
background.drain(load_settings(os.environ), HookFiles(Path(os.environ["MEMSWEEP_HOME"])))
"""


def killed(home: Path, what: str, when: str = "pass") -> bool:
    """Whether a process that works off what waits died, as it does when it gets there."""
    code = KILLED.format(slice=SLICE, what=what, when=when)
    done = subprocess.run([sys.executable, "-c", code], env=environment(home), timeout=PATIENCE, check=False)
    return done.returncode == -signal.SIGKILL


@pytest.mark.slow
def test_a_kill_before_the_place_is_kept_learns_nothing_twice(
    drained: Drained, home: Path, project: Path, transcript: Path
) -> None:
    written(transcript, range(60))
    HookFiles(home).spool(SpoolEntry("claude", "s1", str(project), str(transcript)))
    assert killed(home, "listening.HookSession.keep")
    assert offset(home) == 0
    first = known(home, project)
    assert first[0]
    drained()
    segments, memories = known(home, project)
    assert segments == [f"u{number}" for number in range(60)]
    assert memories == ["Never touch the file part47.py again.", "Never touch the file part7.py again."]


@pytest.mark.slow
def test_a_kill_before_a_slice_is_learned_from_loses_no_rule(
    drained: Drained, home: Path, project: Path, transcript: Path
) -> None:
    written(transcript, range(20))
    HookFiles(home).spool(SpoolEntry("claude", "s1", str(project), str(transcript)))
    assert killed(home, "listening.find_decisions")
    drained()
    assert known(home, project)[1] == ["Never touch the file part7.py again."]


@pytest.mark.slow
def test_what_ends_every_process_is_passed_over_and_the_rest_is_learned(
    drained: Drained, home: Path, project: Path, transcript: Path
) -> None:
    written(transcript, range(30))
    transcript.write_text(transcript.read_text() + line("poison", "poison", "assistant"))
    written(transcript, range(30, 60))
    HookFiles(home).spool(SpoolEntry("claude", "s1", str(project), str(transcript)))
    when = "if 'poison' not in args[0]: return taken(self, *args, **kwargs)"
    what = "taken = ContextWindow.add_transcript\nContextWindow.add_transcript"
    what, deaths = f"listening._MOST_LAST_TRIES = 1\n{what}", 0
    while offset(home) < transcript.stat().st_size:
        HookFiles(home).spool(SpoolEntry("claude", "s1", str(project), str(transcript)))
        deaths += killed(home, what, when)
        assert deaths <= 6
    assert deaths > 3, "a few kills are no reason to pass anything over"
    segments, _ = known(home, project)
    assert segments[0] == "u0"
    assert segments[-1] == "u59"
    assert "poison" not in segments
    assert len(segments) > 57, "few are read at once by then"


def test_what_is_kept_between_two_readings_does_not_grow_with_the_transcript(
    drained: Drained, home: Path, transcript: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from memsweep.context.transcripts import reading

    monkeypatch.setattr(reading, "_MOST_KEPT", 20)
    sizes = []
    for round_ in range(3):
        written(transcript, range(round_ * 50, round_ * 50 + 50))
        drained()
        sizes.append(len(json.dumps(HookFiles(home).session("s1", "transcript"))))
    assert sizes[2] <= sizes[0] * 1.1


@pytest.mark.skipif(os.name == "nt", reason="no such names there")
def test_no_secret_of_a_transcript_is_kept_beside_it(drained: Drained, home: Path, transcript: Path) -> None:
    key = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
    call = {"type": "tool_use", "id": key, "name": "Read", "input": {"file_path": f"/src/{key}.py"}}
    transcript.write_text(
        line(key, "Look at it.")
        + json.dumps({**json.loads(line("u2", "", "assistant")), "message": {"role": "assistant", "content": [call]}})
        + "\n"
    )
    drained()
    assert not [path for path in home.rglob("*") if path.is_file() and key.encode() in path.read_bytes()]
    result = {"type": "tool_result", "tool_use_id": key, "content": "text of it"}
    with transcript.open("a") as file:
        answered = json.loads(line("u3", "")) | {"message": {"role": "user", "content": [result]}}
        file.write(json.dumps(answered) + "\n")
    drained()
    assert HookFiles(home).session("s1", "transcript")["bookmark"]["calls"] == {}
