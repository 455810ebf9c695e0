"""Updates through the server, from several threads, and across a change of the embedding model."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memsweep.app import App
from tests.secrets.test_ways_in import AWS, AWS_MARK
from tests.support.client import MODES, ToolFailed, connected
from tests.support.embedding_server import EmbeddingServer
from tests.support.engines import on_every_engine

WRITERS = 6


@pytest.fixture
def embedding_server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as server:
        yield server


def test_an_agent_updates_and_undoes(tmp_path: Path) -> None:
    with connected(tmp_path / "home", MODES[0]) as client:
        memory_id = client.call("add_memory", text="The build runs on Tuesdays.")["memory_id"]
        told = client.call("update_memory", memory_id=memory_id, text=f"It needs {AWS} by now.", tags=["ci"])
        assert told["redacted"] == ["aws-access-key"]
        assert told["version"] == 2
        found = client.call("get_memory", memory_id=memory_id)
        assert (found["text"], found["revisions"]) == (f"It needs {AWS_MARK} by now.", 1)
        assert "receipt_id" in client.call("undo_prune", receipt_id=told["receipt_id"])
        assert client.call("get_memory", memory_id=memory_id)["text"] == "The build runs on Tuesdays."
        with pytest.raises(ToolFailed, match="nothing to update"):
            client.call("update_memory", memory_id=memory_id)
        with pytest.raises(ToolFailed, match="does not exist"):
            client.call("update_memory", memory_id="mem_none", text="x")


@on_every_engine
def test_updates_of_one_memory_from_several_threads_are_all_kept(app: App) -> None:
    memory_id = app.memory().remember("version 0").memory_id
    receipts: list[str | None] = []

    def change(number: int) -> None:
        receipts.append(app.memory().update(memory_id, text=f"version {number + 1}").receipt_id)

    threads = [threading.Thread(target=change, args=(number,)) for number in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(receipts)) == WRITERS
    texts = {app.memory().get(memory_id).text, *(each.text for each in app.memory().history(memory_id))}
    assert texts == {f"version {number}" for number in range(WRITERS + 1)}
    assert app.memory().get(memory_id).version == WRITERS + 1
    assert app.memory().care.doctor().findings == ()


@on_every_engine
def test_what_comes_back_has_vectors_of_the_model_in_use(
    make: Callable[..., App], embedding_server: EmbeddingServer
) -> None:
    old = make().memory()
    memory_id = old.remember("The first text of all.").memory_id
    receipt = old.update(memory_id, text="The second one.").receipt_id
    new = make(**embedding_server.settings("ollama")).memory()
    new.care.reembed()
    assert receipt is not None
    new.sweep.undo(receipt)
    assert new.search("first text").hits[0].passage.text == "The first text of all."
    assert new.care.doctor().findings == ()
