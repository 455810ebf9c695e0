"""A process that answers once has no numpy, and gives the same answer."""

import importlib.util
import sys
import threading
from collections.abc import Callable
from importlib.machinery import PathFinder
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsweep import numeric, open_memory
from memsweep.app import App
from memsweep.embed.local import LocalEmbedder
from memsweep.embed.protocol import quantise
from memsweep.model.search import MODES, SearchMode
from memsweep.services.memory import Memory
from tests.support.commands import run
from tests.support.without_numpy import without_numpy

WORDS = "the harbour office of Lisbon lost its keys in May 2024, said Ünsal; 漢字 🎉 deploy_key x1".split()
texts = st.lists(st.one_of(st.sampled_from(WORDS), st.text(st.characters(exclude_categories=["Cs"])))).map(" ".join)


@pytest.fixture(scope="module")
def embedder() -> LocalEmbedder:
    return LocalEmbedder()


@given(st.lists(texts, min_size=1, max_size=4))
def test_vectors_are_the_same_to_the_last_bit(embedder: LocalEmbedder, given: list[str]) -> None:
    with_numpy = embedder.embed(given)
    with without_numpy():
        plain = embedder.embed(given)
        assert [row.tolist() for row in plain] == [row.tolist() for row in with_numpy]
        assert quantise(plain) == quantise(with_numpy)
        assert quantise(numeric.mean(plain)) == quantise(numeric.mean(with_numpy))
        assert numeric.cosines(plain) == pytest.approx(numeric.cosines(with_numpy), abs=1e-5)


@given(st.lists(st.sampled_from(WORDS)), st.lists(texts, max_size=4))
def test_words_are_as_near(embedder: LocalEmbedder, words: list[str], given: list[str]) -> None:
    with_numpy = embedder.nearest(words, given)
    with without_numpy():
        assert LocalEmbedder.nearest(embedder, words, given) == with_numpy


def test_nothing_is_embedded_as_nothing(embedder: LocalEmbedder) -> None:
    with without_numpy():
        assert quantise(embedder.embed([])) == []
        assert quantise(embedder.embed([""])) == [bytes(256)]


QUERIES = [
    "Who lost the keys?",
    "which harbour is meant",
    "漢字",
    "deploy key of May",
    "nothing of the kind",
    "x" * 9000,
]


@pytest.mark.slow
def test_a_search_has_the_same_hits_and_the_same_relevance(make: Callable[..., App]) -> None:
    app = make()
    memory = app.memory()
    for number in range(60):
        memory.remember(
            " ".join(WORDS[(number * step) % len(WORDS)] for step in range(1, 9)), thread_id=f"t{number // 9}"
        )
    fact = {"from": "The harbour office", "relation": "keeps", "to": "keys of Lisbon"}
    memory.remember("They told us.", relations=[fact])

    def found(memory: Memory, mode: SearchMode) -> list[list[tuple[str, float, float]]]:
        pages = [memory.search(query, mode=mode) for query in QUERIES]
        pages.append(memory.search(QUERIES[0], mode=mode, filters={"kind": "fact"}))
        return [
            [(hit.passage.text, round(hit.score, 5), round(hit.relevance, 5)) for hit in page.hits] for page in pages
        ]

    for mode in MODES:
        warm = found(memory, mode)
        with without_numpy():
            assert found(make().memory(), mode) == warm
        assert [text for text, *_ in warm[-1]] == ["The harbour office keeps keys of Lisbon"]


def test_numpy_comes_when_there_is_enough_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numeric, "_is_loaded", lambda: False)
    monkeypatch.setattr(numeric._Handled, "count", 0)
    assert numeric.numpy_for(numeric._ENOUGH - 1) is None
    assert numeric.numpy_for(1) is sys.modules["numpy"]


def test_only_the_thread_that_loads_the_kernels_is_kept_from_numpy() -> None:
    finder = numeric.without_numpy
    other = threading.Thread(target=lambda: passed.append(finder.find_spec("numpy")))
    passed: list[None] = []
    with finder:
        finder.find_spec("json")
        with pytest.raises(ModuleNotFoundError):
            finder.find_spec("numpy")
        other.start()
        other.join()
    assert passed == [None]
    finder.find_spec("numpy")


def test_another_thread_that_looks_for_a_package_meanwhile_finds_it(monkeypatch: pytest.MonkeyPatch) -> None:
    class Leave:
        """What the other thread does while this one is about to ask the finder of installed packages."""

        def find_spec(self, *_: object) -> None:
            numeric.without_numpy.__exit__()

    finders = [each for each in sys.meta_path if each is not numeric.without_numpy]
    at = finders.index(PathFinder)
    monkeypatch.setattr(sys, "meta_path", [*finders[:at], Leave(), *finders[at:]])
    numeric.without_numpy.__enter__()
    assert importlib.util.find_spec("wordllama") is not None


LOADED = """
import io, json, sys
said = {"session_id": "s", "cwd": ".", "prompt": "Who lost the keys of the harbour office?"}
sys.stdin = io.TextIOWrapper(io.BytesIO(json.dumps(said).encode()))
from memsweep.cli import run
run(["hook", sys.argv[1]])
print(*sys.modules, file=sys.stderr)
"""


@pytest.mark.slow
@pytest.mark.parametrize("event", ["UserPromptSubmit", "SessionStart"])
def test_a_hook_answers_by_itself_without_what_takes_long_to_import(home: Path, event: str) -> None:
    with open_memory("default", home=home) as memory:
        memory.remember("The harbour office lost its keys.")
    done = run([sys.executable, "-c", LOADED, event], home=home, MEMSWEEP_WORKSPACE="default")
    assert "The harbour office lost its keys." in done.out
    late = {"numpy", "dataclasses", "inspect", "logging", "subprocess", "shutil", "asyncio", "tokenizers", "typer"}
    assert set(done.err.split()) & late == set()
