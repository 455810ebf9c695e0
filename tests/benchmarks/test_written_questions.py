"""Questions that were written for `benchmarks/localise.py` and `benchmarks/week.py`: sound, and each given once."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
DATA = BENCHMARKS / "data"
ABOUT_CODE = sorted(DATA.glob("code_*.json"))
WEEK: dict[str, Any] = json.loads((DATA / "week.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("file", ABOUT_CODE, ids=lambda file: file.stem)
def test_a_question_about_code_names_a_release_and_its_sources(file: Path) -> None:
    asked = json.loads(file.read_text(encoding="utf-8"))
    assert len({each["question"] for each in asked}) == len(asked) >= 40
    for each in asked:
        assert re.fullmatch(r"[\w.-]+-[0-9][\w.]*\.tar\.gz", each["release"])
        assert each["files"]
        assert not any(path.startswith("/") or re.search(r"(?:^|/)(?:tests?|docs?)/", path) for path in each["files"])


def test_every_question_to_the_week_has_memories_that_answer_it() -> None:
    memories, questions = WEEK["memories"], WEEK["questions"]
    assert (len(set(memories)), len({each["question"] for each in questions})) == (60, 32)
    assert all(each["right"] and set(each["right"]) <= set(range(60)) for each in questions)


@pytest.mark.slow
def test_most_questions_to_the_week_are_answered(tmp_path: Path) -> None:
    result = tmp_path / "result.json"
    subprocess.run([sys.executable, BENCHMARKS / "week.py", "--json", result], check=True, capture_output=True)
    scores = json.loads(result.read_text(encoding="utf-8"))["scores"]["alone, precise"]
    assert 32 >= scores["5"] >= scores["1"] >= 16
