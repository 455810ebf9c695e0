"""The cases of `benchmarks/precision.py`: complete, sound, and a third of them held out."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
FILES = {False: "precision.json", True: "precision_held_out.json"}
CASES = {out: json.loads((BENCHMARKS / "data" / name).read_text(encoding="utf-8")) for out, name in FILES.items()}
SCENES = [scene for cases in CASES.values() for scene in cases["scenes"]]
SESSIONS = [session for cases in CASES.values() for session in cases["sessions"]]
QUESTIONS = [question for scene in SCENES for question in scene["questions"]]
WITHOUT_ANSWER = {"near_miss", "far"}
KINDS = {"direct", "scoped", "alias", "superseded", "several", *WITHOUT_ANSWER}


def _steps(part: dict[str, Any]) -> list[dict[str, Any]]:
    """A scene adds everything before its first question; a session goes back and forth."""
    return part["steps"] if "steps" in part else [{"add": each} for each in part["memories"]] + part["questions"]


def test_there_are_as_many_as_promised() -> None:
    kinds = Counter(question["kind"] for question in QUESTIONS)
    assert len(SCENES) >= 12
    assert len(SESSIONS) >= 12
    assert len(QUESTIONS) >= 100
    assert set(kinds) == KINDS
    assert min(kinds.values()) >= 15
    assert sum(kinds[kind] for kind in WITHOUT_ANSWER) >= 25


@pytest.mark.parametrize("held_out", [False, True])
def test_each_file_holds_what_its_mark_says(held_out: bool) -> None:
    marks = [part["held_out"] for part in CASES[held_out]["scenes"] + CASES[held_out]["sessions"]]
    assert set(marks) == {held_out}


@pytest.mark.parametrize("parts", ["scenes", "sessions"])
def test_a_third_is_held_out(parts: str) -> None:
    assert len(CASES[True][parts]) * 3 == sum(len(cases[parts]) for cases in CASES.values())


def test_names_texts_and_questions_are_given_once() -> None:
    names = [part["id"] for part in SCENES + SESSIONS]
    asked = [question["question"] for question in QUESTIONS]
    texts = [step["add"]["text"] for part in SCENES + SESSIONS for step in _steps(part) if "add" in step]
    for given in (names, asked, texts):
        assert [each for each, times in Counter(given).items() if times > 1] == []


@pytest.mark.parametrize("part", SCENES + SESSIONS, ids=lambda part: part["id"])
def test_what_is_right_and_what_is_replaced_was_added_before(part: dict[str, Any]) -> None:
    added: list[str] = []
    replaced: set[str] = set()
    for step in _steps(part):
        if "add" in step:
            memory = step["add"]
            assert memory["id"] not in added
            if "supersedes" in memory:
                assert memory["supersedes"] in added
                replaced.add(memory["supersedes"])
            added.append(memory["id"])
        else:
            assert set(step["right"]) <= set(added) - replaced
            assert len(set(step["right"])) == len(step["right"]) <= 4


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene["id"])
def test_a_scene_has_a_fair_size_and_every_question_fits_its_kind(scene: dict[str, Any]) -> None:
    assert 20 <= len(scene["memories"]) <= 40
    newer = {memory["id"] for memory in scene["memories"] if "supersedes" in memory}
    for question in scene["questions"]:
        assert (not question["right"]) == (question["kind"] in WITHOUT_ANSWER), question
        assert (len(question["right"]) > 1) == (question["kind"] == "several"), question
        if question["kind"] == "superseded":
            assert set(question["right"]) <= newer, question


@pytest.mark.parametrize("session", SESSIONS, ids=lambda session: session["id"])
def test_a_session_asks_corrects_and_asks_again(session: dict[str, Any]) -> None:
    forms = [
        "ask" if "question" in step else "correct" if "supersedes" in step["add"] else "add"
        for step in session["steps"]
    ]
    assert forms[:2] == ["add", "add"]
    assert "ask" in forms[: forms.index("correct")]
    assert "ask" in forms[forms.index("correct") :]


def test_held_out_cases_are_never_listed() -> None:
    command = [sys.executable, str(BENCHMARKS / "precision.py"), "--held-out", "--wrong"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "scored, not shown" in done.stderr
