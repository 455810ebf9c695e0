"""A prompt that no server answers, in a process that has no numpy, where something is in its way."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from memsweep.project.runs import runs
from memsweep.store.sqlite import vectors
from tests.hooks.conftest import unframed
from tests.support import store_files
from tests.support.commands import Ran, memsweep
from tests.support.engines import on_every_engine
from tests.support.without_numpy import without_numpy

FACT = "The harbour office of Lisbon keeps the spare keys 🔑."
ASKED = "Where are the spare keys of the harbour office kept?"
Prompt = Callable[[str], str]


@pytest.fixture
def prompt(run: Callable[..., Ran]) -> Prompt:
    """What the model is told with a prompt, each in a session of its own."""

    def call(said: str) -> str:
        data = {"session_id": said[-50:], "cwd": "/", "prompt": said}
        with without_numpy():
            done = run("hook", "UserPromptSubmit", stdin=json.dumps(data).encode(), MEMSWEEP_WORKSPACE="default")
        assert done.status == 0
        return str(json.loads(done.out)["hookSpecificOutput"]["additionalContext"]) if done.out else ""

    return call


@pytest.fixture
def notes(run: Callable[..., Ran]) -> None:
    for text in (FACT, *(f"Note {number} is about the weather in {number} towns." for number in range(9))):
        run("remember", text, MEMSWEEP_WORKSPACE="default")


@on_every_engine
@pytest.mark.usefixtures("notes")
def test_it_is_answered_on_every_engine(prompt: Prompt) -> None:
    assert FACT in prompt(ASKED)


@pytest.mark.usefixtures("notes")
def test_it_is_answered_while_somebody_writes(prompt: Prompt, home: Path) -> None:
    with store_files.held(home):
        assert FACT in prompt(ASKED)


@pytest.mark.usefixtures("notes")
def test_it_is_answered_beside_a_damaged_file_of_vectors(
    prompt: Prompt, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "_TAIL_MIN", 5)
    told = prompt(ASKED)
    (file,) = (home / "workspaces").glob("*.vec")
    whole = file.read_bytes()
    for damaged in (whole[:-1], whole[:900] + b"?" + whole[901:], b""):
        file.write_bytes(damaged)
        assert unframed(prompt(f"{ASKED} {len(damaged)}")) == unframed(told)
        assert file.read_bytes() == whole, "made again"


@pytest.mark.usefixtures("notes")
@pytest.mark.slow
def test_a_prompt_of_any_length_is_read(prompt: Prompt, home: Path) -> None:
    assert prompt("word " * 20_000) == ""
    assert FACT in prompt(f"{ASKED} {'x' * 100_000}") or runs(home)[-1]["outcome"] == "nothing to say"
    assert not any(run["outcome"].startswith("failed") for run in runs(home))


def test_in_an_empty_home_there_is_nothing_to_say(prompt: Prompt, home: Path) -> None:
    assert prompt(ASKED) == ""
    assert [run["outcome"] for run in runs(home)] == ["nothing to say"]
    assert not (home / "registry.db").exists()


@pytest.mark.slow
@pytest.mark.usefixtures("notes")
def test_a_home_that_cannot_be_written_is_silence(home: Path) -> None:
    subprocess.run(["chmod", "-R", "a-w", home], check=True)
    try:
        said = json.dumps({"session_id": "s", "cwd": "/", "prompt": ASKED}).encode()
        done = memsweep("hook", "UserPromptSubmit", home=home, stdin=said, as_ordinary_user=True)
    finally:
        subprocess.run(["chmod", "-R", "u+w", home], check=True)
    assert (done.status, done.out, done.err) == (0, "", "")
