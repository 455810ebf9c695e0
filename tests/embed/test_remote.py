"""Ollama and OpenAI-compatible servers, over real sockets."""

import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memsweep.app import App
from memsweep.errors import EmbedderError, MemsweepError, ModelMismatch
from tests.support import contents, store_files
from tests.support.embedding_server import EmbeddingServer

PROVIDERS = ("ollama", "openai")
BAD_MOODS = (
    "error",
    "unknown model",
    "redirect",
    "no json",
    "not utf-8",
    "another shape",
    "a list",
    "too few",
    "too many",
    "ragged",
    "words",
    "nan",
    "infinite",
    "null",
    "empty rows",
    "nothing",
)


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as server:
        yield server


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_workspace_is_embedded_by_the_server(
    make: Callable[..., App], server: EmbeddingServer, home: Path, provider: str
) -> None:
    app = make(**server.settings(provider))
    for text in ("apples and pears", "cars and trains", "pears and plums"):
        app.memory().remember(text)
    assert app.memory().search("cars").hits[0].passage.text == "cars and trains"
    model = app.memory().care.model()
    assert model is not None
    assert (model.name, model.dimension) == (f"{provider}:tiny", 8)
    assert store_files.problems(store_files.file_of(home)) == []


def test_many_texts_are_asked_for_in_batches(make: Callable[..., App], server: EmbeddingServer) -> None:
    app = make(**server.settings("ollama"), MEMSWEEP_CHUNKING_SIZE="16", MEMSWEEP_CHUNKING_OVERLAP="0")
    added = app.memory().remember(
        "\n\n".join(f"paragraph number {number} has several words in it" for number in range(200))
    )
    assert added.chunks_created > 100
    assert max(map(len, server.asked)) <= 64
    assert sum(map(len, server.asked[1:])) == added.chunks_created


def test_the_key_is_sent_and_never_shown(make: Callable[..., App], server: EmbeddingServer) -> None:
    app = make(**server.settings("openai"), OPENAI_API_KEY="sk-secret")
    app.memory().remember("x")
    assert server.headers[-1]["authorization"] == "Bearer sk-secret"
    assert "sk-secret" not in repr(app.settings)
    assert "sk-secret" not in str(app.settings.shown())
    server.mood = "error"
    with pytest.raises(EmbedderError) as caught:
        app.memory().remember("y")
    assert "sk-secret" not in str(caught.value)


def test_without_a_key_no_header_is_sent(make: Callable[..., App], server: EmbeddingServer) -> None:
    make(**server.settings("openai")).memory().remember("x")
    assert "authorization" not in server.headers[-1]


@pytest.mark.parametrize("key", ["sk-secret\n", " sk-secret\r\n"])
def test_white_space_around_a_key_is_no_part_of_it(make: Callable[..., App], server: EmbeddingServer, key: str) -> None:
    make(**server.settings("openai"), OPENAI_API_KEY=key).memory().remember("x")
    assert server.headers[-1]["authorization"] == "Bearer sk-secret"


@pytest.mark.parametrize("key", ["sk-sec\nret", "sk-sécret", "sk-\x01secret"])
def test_a_key_that_cannot_be_sent_is_refused_without_showing_it(
    make: Callable[..., App], server: EmbeddingServer, key: str
) -> None:
    with pytest.raises(MemsweepError, match="OPENAI_API_KEY") as caught:
        make(**server.settings("openai"), OPENAI_API_KEY=key).memory().remember("x")
    assert "cret" not in str(caught.value)


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("mood", BAD_MOODS)
def test_a_bad_answer_stores_nothing(
    make: Callable[..., App], server: EmbeddingServer, home: Path, provider: str, mood: str
) -> None:
    app = make(**server.settings(provider))
    app.memory().remember("before")
    server.mood = mood
    with pytest.raises(EmbedderError, match="nothing was stored") as caught:
        app.memory().remember("while it is ill. " * 40)
    assert server.url in str(caught.value)
    assert caught.value.exit_status == 6
    server.mood = "well"
    app.memory().remember("after")
    assert app.memory().stats().total_memories == 2
    assert store_files.problems(store_files.file_of(home)) == []
    assert len(app.memory().search("before after").hits) >= 1


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("mood", BAD_MOODS)
def test_a_bad_first_answer_makes_no_workspace(
    make: Callable[..., App], server: EmbeddingServer, home: Path, provider: str, mood: str
) -> None:
    server.mood = mood
    with pytest.raises(EmbedderError, match="nothing was stored"):
        make(**server.settings(provider)).memory().remember("x")
    assert not home.exists()


def test_a_server_that_is_down_is_named_and_stores_nothing(make: Callable[..., App], home: Path) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    app = make(MEMSWEEP_EMBEDDING_PROVIDER="ollama", MEMSWEEP_EMBEDDING_URL=url)
    with pytest.raises(EmbedderError, match=f"{url}.*cannot be reached"):
        app.memory().remember("x")
    assert not home.exists()


def test_a_server_that_does_not_answer_in_time_stores_nothing(
    make: Callable[..., App], server: EmbeddingServer, home: Path
) -> None:
    make(**server.settings("ollama")).memory().remember("before")
    app = make(**server.settings("ollama", MEMSWEEP_EMBEDDING_TIMEOUT_SECONDS="0.3"))
    server.mood = "silent"
    with pytest.raises(EmbedderError, match="cannot be reached"):
        app.memory().remember("after")
    server.released.set()
    assert contents.texts(app.memory()) == ["before"]


def test_a_server_that_fails_in_the_middle_of_a_long_text_stores_nothing(
    make: Callable[..., App], server: EmbeddingServer, home: Path
) -> None:
    app = make(**server.settings("ollama"), MEMSWEEP_CHUNKING_SIZE="16", MEMSWEEP_CHUNKING_OVERLAP="0")
    app.memory().remember("before")
    server.fails_after = len(server.asked) + 2
    with pytest.raises(EmbedderError):
        app.memory().remember(
            "\n\n".join(f"paragraph number {number} has several words in it" for number in range(300))
        )
    assert contents.texts(app.memory()) == ["before"]
    assert store_files.problems(store_files.file_of(home)) == []


@pytest.mark.parametrize("dimension", [4, 9])
def test_a_server_that_changes_its_dimension_is_refused(
    make: Callable[..., App], server: EmbeddingServer, home: Path, dimension: int
) -> None:
    app = make(**server.settings("ollama"))
    app.memory().remember("before")
    server.dimension = dimension
    for call in (lambda: app.memory().remember("after"), lambda: app.memory().search("before")):
        with pytest.raises(EmbedderError, match="dimension"):
            call()
    assert store_files.problems(store_files.file_of(home)) == []
    assert contents.texts(app.memory()) == ["before"]
    with pytest.raises(ModelMismatch, match="memsweep workspace reembed"):
        make(**server.settings("ollama")).memory().remember("after")


@pytest.mark.parametrize(
    "url", ["http://", "http://[::1", "http://host:99999999", "http://a b", "http://\u2603.example:1"]
)
def test_an_address_that_is_none_is_an_error_of_the_embedder(make: Callable[..., App], home: Path, url: str) -> None:
    app = make(MEMSWEEP_EMBEDDING_PROVIDER="ollama", MEMSWEEP_EMBEDDING_URL=url, MEMSWEEP_EMBEDDING_TIMEOUT_SECONDS="2")
    with pytest.raises(MemsweepError):
        app.memory().remember("x")
    assert not home.exists()


def test_another_model_is_refused_with_the_command_that_helps(
    make: Callable[..., App], server: EmbeddingServer
) -> None:
    make().memory().remember("by the bundled model")
    other = make(**server.settings("ollama")).memory()
    for call in (lambda: other.remember("x"), lambda: other.search("model")):
        with pytest.raises(ModelMismatch, match=r"wordllama.*ollama:tiny.*`memsweep workspace reembed`") as caught:
            call()
        assert caught.value.exit_status == 4
    assert other.stats().total_memories == 1
    assert other.get(other.search("").hits[0].passage.memory_id).text == "by the bundled model"


def test_a_twin_is_touched_also_while_the_server_is_down(make: Callable[..., App], server: EmbeddingServer) -> None:
    app = make(**server.settings("ollama"))
    first = app.memory().remember("the same")
    server.mood = "error"
    assert app.memory().remember("the same").duplicate_of == first.memory_id
