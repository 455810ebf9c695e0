"""Moving a workspace to another model."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memsweep.app import App
from memsweep.errors import EmbedderError, ModelMismatch
from memsweep.memory import reembed as reembedding
from memsweep.model.memory import EmbeddingModel
from tests.support import contents, store_files
from tests.support.embedding_server import EmbeddingServer
from tests.support.fork_server import ForkServer

MANY = 40


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as server:
        yield server


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reembedding, "_BATCH", 10)
    monkeypatch.setattr(reembedding, "_LAST", 3)


@pytest.fixture
def old(make: Callable[..., App]) -> App:
    app = make()
    for number in range(MANY):
        app.memory().remember(f"note number {number}")
    return app


def whole(home: Path, model: str, dimension: int) -> None:
    assert store_files.problems(store_files.file_of(home)) == []
    with contents.opened(home) as memory:
        assert memory.care.model() == EmbeddingModel(model, dimension)


def test_every_chunk_gets_a_vector_of_the_new_model(
    old: App, make: Callable[..., App], server: EmbeddingServer, home: Path
) -> None:
    new = make(**server.settings("ollama")).memory()
    steps: list[tuple[int, int]] = []
    assert new.care.reembed(lambda done, total: steps.append((done, total))) == MANY
    assert steps == [(0, 40), (10, 40), (20, 40), (30, 40), (40, 40)]
    assert new.search("note number 7").hits[0].passage.text == "note number 7"
    whole(home, "ollama:tiny", 8)
    with pytest.raises(ModelMismatch):
        old.memory().search("note")
    with pytest.raises(ModelMismatch):
        old.memory().remember("late")
    assert old.memory().care.reembed() == MANY
    assert old.memory().search("note number 7").hits[0].passage.text == "note number 7"
    whole(home, "wordllama-l2-supercat-256", 256)


def test_the_old_vectors_serve_until_the_switch_and_a_stopped_run_goes_on(
    old: App, make: Callable[..., App], server: EmbeddingServer, home: Path
) -> None:
    new = make(**server.settings("ollama")).memory()
    server.fails_after = 3  # one question for the dimension, two batches
    with pytest.raises(EmbedderError):
        new.care.reembed()
    assert old.memory().search("note number 7").hits[0].passage.text == "note number 7"
    old.memory().remember("added in between")
    whole(home, "wordllama-l2-supercat-256", 256)
    server.fails_after = 10**9
    steps: list[tuple[int, int]] = []
    again = make(**server.settings("ollama")).memory()
    assert again.care.reembed(lambda done, total: steps.append((done, total))) == MANY - 20 + 1
    assert steps[:2] == [(0, 21), (10, 21)]
    whole(home, "ollama:tiny", 8)


def test_an_interrupted_run_leaves_everything_as_it_was(
    old: App, make: Callable[..., App], server: EmbeddingServer, home: Path
) -> None:
    class Stop(BaseException): ...

    def stop(done: int, total: int) -> None:
        raise Stop

    with pytest.raises(Stop):
        make(**server.settings("ollama")).memory().care.reembed(stop)
    assert old.memory().search("note number 7").hits[0].passage.text == "note number 7"
    whole(home, "wordllama-l2-supercat-256", 256)


def test_a_run_with_a_third_model_begins_anew(
    old: App, make: Callable[..., App], server: EmbeddingServer, home: Path
) -> None:
    server.fails_after = 3
    with pytest.raises(EmbedderError):
        make(**server.settings("ollama")).memory().care.reembed()
    server.fails_after = 10**9
    server.dimension = 12
    assert make(**server.settings("ollama", model="third")).memory().care.reembed() == MANY
    whole(home, "ollama:third", 12)


@pytest.mark.slow
def test_writers_may_go_on_during_it(
    old: App,
    make: Callable[..., App],
    server: EmbeddingServer,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They write with the old model until the switch, and are refused after it; it comes however busy they are."""
    monkeypatch.setattr(reembedding, "_BATCH", 256)
    monkeypatch.setattr(reembedding, "_LAST", 64)
    for number in range(100):
        old.memory().remember(f"another note {number}")
    new, added, refused = make(**server.settings("ollama")).memory(), [], threading.Event()
    begun = threading.Event()

    def write() -> None:
        number = 0
        try:
            while True:
                number += 1
                added.append(old.memory().remember(f"written meanwhile {number}").memory_id)
                begun.set()
        except ModelMismatch:
            refused.set()

    writer = threading.Thread(target=write)
    writer.start()
    begun.wait(60)
    done = new.care.reembed()
    writer.join(60)
    assert refused.is_set()
    assert done >= MANY + 101
    assert new.stats().total_memories == MANY + 100 + len(added)
    whole(home, "ollama:tiny", 8)


@pytest.mark.slow
def test_a_search_at_the_moment_of_the_switch_is_answered_or_refused(
    old: App, make: Callable[..., App], server: EmbeddingServer
) -> None:
    new, seen, stop = make(**server.settings("ollama")).memory(), [], threading.Event()

    def search() -> None:
        while not stop.is_set():
            for app in (old, make(**server.settings("ollama"))):
                try:
                    seen.append(len(app.memory().search("note number 7").hits))
                except ModelMismatch:
                    seen.append(-1)
                except Exception as error:  # noqa: BLE001  # whatever it is, the test wants to see it
                    seen.append(repr(error))

    searchers = [threading.Thread(target=search) for _ in range(3)]
    for searcher in searchers:
        searcher.start()
    for _ in range(6):
        new.care.reembed()
        old.memory().care.reembed()
    stop.set()
    for searcher in searchers:
        searcher.join(60)
    assert {outcome for outcome in seen if isinstance(outcome, str)} == set()


@pytest.mark.slow
def test_two_processes_may_do_it_at_once(
    old: App, fork_server: ForkServer, server: EmbeddingServer, home: Path
) -> None:
    children = [
        fork_server.fork("attempt", home, calls=[["care.reembed", {}]], settings=server.settings("ollama"))
        for _ in range(2)
    ]
    for child in children:
        (outcome,) = child.report()
        assert outcome["result"] >= 0
    whole(home, "ollama:tiny", 8)


def test_reembedding_with_the_same_model_is_allowed(old: App, home: Path) -> None:
    assert old.memory().care.reembed() == MANY
    whole(home, "wordllama-l2-supercat-256", 256)


def test_an_empty_workspace_changes_its_model_at_once(make: Callable[..., App], server: EmbeddingServer) -> None:
    make().create_workspace("default")
    new = make(**server.settings("ollama")).memory()
    assert new.care.reembed() == 0
    model = new.care.model()
    assert model is not None
    assert model.name == "ollama:tiny"
