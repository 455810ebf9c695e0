"""The sentences of `benchmarks/names.py`: as many as promised, their names in them, a third held out."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

DATA = Path(__file__).parents[2] / "benchmarks" / "data"
OPEN, HELD_OUT = (json.loads((DATA / f"{name}.json").read_text("utf-8")) for name in ("names", "names_held_out"))
ALL: list[dict[str, Any]] = OPEN + HELD_OUT


def test_there_are_enough_sentences_and_some_of_them_have_no_name() -> None:
    assert len(ALL) >= 160
    assert 0.2 <= sum(not entry["names"] for entry in ALL) / len(ALL) <= 0.4
    assert sum(len(entry["names"]) for entry in ALL) >= 200
    assert sum(" " in name for entry in ALL for name in entry["names"]) >= 50


def test_a_third_is_held_out_and_marked() -> None:
    assert {entry["held_out"] for entry in OPEN} == {False}
    assert {entry["held_out"] for entry in HELD_OUT} == {True}
    assert 0.33 <= len(HELD_OUT) / len(ALL) <= 0.36


def test_every_name_stands_in_its_sentence_and_is_labelled_once() -> None:
    for entry in ALL:
        assert len(set(entry["names"])) == len(entry["names"]), entry
        assert [name for name in entry["names"] if name not in entry["sentence"]] == [], entry


def test_no_sentence_comes_twice_and_no_name_is_in_both_parts() -> None:
    assert [text for text, times in Counter(entry["sentence"] for entry in ALL).items() if times > 1] == []
    opened, held = ({name for entry in part for name in entry["names"]} for part in (OPEN, HELD_OUT))
    assert opened & held == set()
