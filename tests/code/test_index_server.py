"""`index_codebase` and code search through a real server process over stdio."""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.code.conftest import FILES
from tests.code.indexed_workspace import live, problems, stale
from tests.code.trees import grow, repository
from tests.support import store_files
from tests.support.client import RawServer, ServerClient, ToolFailed, connected, raw_server
from tests.support.embedding_server import EmbeddingServer
from tests.support.waiting import wait_for

pytestmark = pytest.mark.slow

FIELDS = [
    "repo_path",
    "files_seen",
    "files_indexed",
    "files_unchanged",
    "files_moved",
    "files_removed",
    "files_unreadable",
    "functions_found",
    "classes_found",
    "languages",
    "total_lines",
    "chunks_embedded",
    "stale_memories",
    "processing_time_ms",
]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("index-server")


@pytest.fixture(scope="module")
def server(place: Path) -> Iterator[ServerClient]:
    log = place / "log"
    with connected(place / "home", "auto", log=log, HOME=str(place)) as client:
        yield client
    assert "Traceback" not in log.read_text()


@pytest.fixture(scope="module")
def indexed(server: ServerClient, place: Path) -> Path:
    """A folder that is indexed in the workspace `code`, for tests that only look."""
    root = repository(
        place / "indexed",
        {
            **FILES,
            "pages/[id]/view.tsx": "export function View() { return <b>identifier view</b> }\n",
            "pages/i/other.tsx": "export function Other() { return <b>identifier other</b> }\n",
            ".env": "TOKEN=identifier-of-a-secret\n",
            ".env.local": "TOKEN=identifier-of-a-secret\n",
            "id_rsa": "-----BEGIN OPENSSH PRIVATE KEY-----\nidentifier\n",
            "notes": "-----BEGIN RSA PRIVATE KEY-----\nidentifier\n",
            "credentials.json": '{"identifier": "secret"}\n',
        },
    )
    server.call("index_codebase", repo_path=str(root), workspace_id="code")
    return root


def search(server: ServerClient, query: str, **filters: Any) -> list[dict[str, Any]]:
    asked = {"query": query, "limit": 50, "filters": filters, "workspace_id": "code", "mode": "deep"}
    return server.call("search_memory", **asked)["results"]


def paths(hits: list[dict[str, Any]]) -> set[str]:
    return {hit["path"] for hit in hits}


# the answer


def test_the_answer_has_every_field_and_the_message_of_the_design(server: ServerClient, tmp_path: Path) -> None:
    root = repository(tmp_path / "repo", dict(FILES))
    answer = server.call("index_codebase", repo_path=str(root), workspace_id="answers")
    assert list(answer) == [*FIELDS, "message"]
    assert {**answer, "processing_time_ms": 0, "chunks_embedded": 0, "message": ""} == {
        "repo_path": str(root),
        "files_seen": 5,
        "files_indexed": 5,
        "files_unchanged": 0,
        "files_moved": 0,
        "files_removed": 0,
        "files_unreadable": 0,
        "functions_found": 5,
        "classes_found": 2,
        "languages": {"go": 1, "markdown": 1, "python": 3},
        "total_lines": 28,
        "chunks_embedded": 0,
        "stale_memories": 0,
        "processing_time_ms": 0,
        "message": "",
    }
    assert answer["chunks_embedded"] == 11
    lines = answer["message"].split("\n")
    assert lines[:-1] == [
        "Repository indexed successfully.",
        f"Path: {root}",
        "Files indexed: 5",
        "Functions: 5",
        "Classes: 2",
        "Languages: Go (1), Markdown (1), Python (3)",
        "Total lines: 28",
    ]
    assert re.fullmatch(r"Indexing time: \d+\.\d\ds", lines[-1])


def test_what_is_gone_is_counted_with_the_hint_to_prune(server: ServerClient, tmp_path: Path) -> None:
    root = repository(tmp_path / "repo", dict(FILES))
    server.call("index_codebase", repo_path=str(root), workspace_id="stale")
    (root / "app.py").unlink()
    (root / "main.go").rename(root / "cmd.go")
    answer = server.call("index_codebase", repo_path=str(root), workspace_id="stale")
    wanted = {"files_removed": 1, "files_moved": 1, "files_indexed": 0, "files_unchanged": 3, "stale_memories": 1}
    assert answer | wanted == answer
    assert "\nFiles indexed: 0\nFiles unchanged: 3\nFiles moved: 1\nFiles removed: 1\nFunctions: " in answer["message"]
    assert answer["message"].endswith("\nStale memories detected: 1 (run prune_memory to clean up)")
    pruned = server.call("prune_memory", workspace_id="stale", dry_run=False, confirm=True)
    assert "app.py" not in json.dumps(pruned.get("skipped", []))
    answer = server.call("index_codebase", repo_path=str(root), workspace_id="stale")
    assert answer["stale_memories"] == 0
    assert "prune_memory" not in answer["message"]


def test_a_tilde_is_the_home_of_the_server(server: ServerClient, indexed: Path) -> None:
    answer = server.call("index_codebase", repo_path="~/indexed", workspace_id="code")
    assert (answer["repo_path"], answer["files_indexed"]) == (str(indexed), 0)


def test_a_symlink_to_a_folder_is_that_folder(server: ServerClient, indexed: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(indexed)
    answer = server.call("index_codebase", repo_path=str(tmp_path / "link"), workspace_id="code")
    assert (answer["repo_path"], answer["files_indexed"]) == (str(indexed), 0)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"repo_path": "/nowhere/at/all"}, "The folder /nowhere/at/all does not exist."),
        ({"repo_path": ""}, "The path of the folder to index is empty or not a path."),
        ({"repo_path": "  "}, "The path of the folder to index is empty or not a path."),
        ({"repo_path": "/etc/hostname"}, "/etc/hostname is not a folder."),
        ({"repo_path": "/srv/x/.git/hooks"}, "/srv/x/.git/hooks is inside a .git folder, which is never indexed."),
        ({"repo_path": "/etc", "languages": ["python", "klingon"]}, "Unknown language: klingon."),
        ({"repo_path": "/etc", "max_file_size": 0}, "max_file_size must be at least 1 byte, not 0."),
        ({"repo_path": "/etc", "language": "go"}, "unknown argument 'language'; index_codebase takes repo_path, "),
        ({"repo_path": "/etc", "recursive": "perhaps"}, "recursive: "),
        ({"repo_path": 7}, "repo_path: "),
        ({}, "repo_path is required."),
        ({"repo_path": "/etc", "workspace_id": "../up"}, "workspace id '../up' is not valid"),
    ],
)
def test_a_mistake_is_one_sentence(server: ServerClient, arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ToolFailed) as failure:
        server.call("index_codebase", **arguments)
    assert str(failure.value).startswith(f"Error: {sentence}")


def test_filters_reach_the_index(server: ServerClient, tmp_path: Path) -> None:
    root = repository(tmp_path / "repo", dict(FILES))
    narrow = {"languages": ["PY", "golang"], "recursive": False, "max_file_size": 60, "include_tests": False}
    answer = server.call("index_codebase", repo_path=str(root), workspace_id="narrow", **narrow)
    assert answer["languages"] == {"go": 1}


def test_an_empty_folder_is_refused_only_if_it_was_not(server: ServerClient, tmp_path: Path) -> None:
    root = grow(tmp_path / "plain", {"a.py": "x = 1\n"})
    server.call("index_codebase", repo_path=str(root), workspace_id="empty")
    (root / "a.py").unlink()
    with pytest.raises(ToolFailed, match=r"contains no files, but the index has 1 file of it\. Pass allow_empty"):
        server.call("index_codebase", repo_path=str(root), workspace_id="empty")
    answer = server.call("index_codebase", repo_path=str(root), workspace_id="empty", allow_empty=True)
    assert (answer["files_removed"], answer["stale_memories"]) == (1, 1)


# search


def test_a_hit_says_where_it_stands_and_when_that_was_true(server: ServerClient, indexed: Path) -> None:
    hit = next(hit for hit in search(server, "area of a shape") if hit["symbol"] == "Shape.area")
    wanted = {
        "path": "lib/shapes.py",
        "file_path": str(indexed / "lib/shapes.py"),
        "lines": [2, 5],
        "language": "python",
        "symbol": "Shape.area",
        "symbol_kind": "method",
        "source": "code_indexer",
    }
    assert hit | wanted == hit
    assert "stale" not in hit
    verified = datetime.fromisoformat(hit["verified_at"])
    assert verified.tzinfo is not None
    assert verified <= datetime.now(UTC)


def test_the_words_inside_a_name_find_it(server: ServerClient, indexed: Path) -> None:
    assert "lib/shapes.py" in paths(search(server, "shape area", symbol_kind="method"))


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({"path": "app.py"}, {"app.py"}),
        ({"path": "lib"}, {"lib/shapes.py"}),
        ({"path": "lib/"}, {"lib/shapes.py"}),
        ({"path": "*.py"}, {"app.py", "lib/shapes.py", "tests/test_app.py"}),
        ({"path": "tests/*"}, {"tests/test_app.py"}),
        ({"path": "pages/[id]/view.tsx"}, {"pages/[id]/view.tsx"}),
        ({"path": "pages/[id]"}, {"pages/[id]/view.tsx"}),
        ({"path": "pages"}, {"pages/[id]/view.tsx", "pages/i/other.tsx"}),
        ({"path": "pages/*/*.tsx"}, {"pages/[id]/view.tsx", "pages/i/other.tsx"}),
        ({"path": "nowhere"}, set()),
        ({"path": "li"}, set()),
        ({"language": "go"}, {"main.go"}),
        ({"language": "TSX"}, {"pages/[id]/view.tsx", "pages/i/other.tsx"}),
        ({"language": "cobol"}, set()),
        ({"symbol_kind": "class"}, {"lib/shapes.py"}),
        ({"symbol_kind": "Method", "language": "python"}, {"lib/shapes.py"}),
        ({"symbol_kind": "method", "language": "go"}, set()),
        ({"source": "code_indexer", "path": "main.go"}, {"main.go"}),
    ],
)
def test_code_is_found_by_path_language_and_kind(
    server: ServerClient, indexed: Path, filters: dict[str, Any], found: set[str]
) -> None:
    assert paths(search(server, "first second main view other shape test identifier", **filters)) == found


@pytest.mark.parametrize("path", ["app.py", "lib", "pages/[id]", "*.py"])
def test_an_absolute_path_filters_too(server: ServerClient, indexed: Path, path: str) -> None:
    query = "first second main view other shape test identifier"
    assert paths(search(server, query, path=f"{indexed}/{path}")) == paths(search(server, query, path=path)) != set()


def test_stale_hits_are_hidden_unless_asked_for_and_say_when_they_were_true(
    server: ServerClient, tmp_path: Path
) -> None:
    root = repository(tmp_path / "repo", {"kept.py": "def kept(): pass\n", "gone.py": "def vanished(): pass\n"})

    def vanished(**filters: Any) -> list[dict[str, Any]]:
        hits = server.call("search_memory", query="vanished", filters=filters, workspace_id="hidden")["results"]
        return [hit for hit in hits if hit["path"] == "gone.py"]

    server.call("index_codebase", repo_path=str(root), workspace_id="hidden")
    (before,) = vanished()
    (root / "gone.py").unlink()
    server.call("index_codebase", repo_path=str(root), workspace_id="hidden")
    assert vanished() == []
    (after,) = vanished(include_stale=True)
    assert after["stale"] is True
    assert after["verified_at"] == before["verified_at"]


def test_a_file_that_a_run_does_not_cover_keeps_the_time_of_its_last_verification(
    server: ServerClient, tmp_path: Path
) -> None:
    root = repository(tmp_path / "repo", {"a.py": "def alpha(): pass\n", "b.go": "func Beta() {}\n"})

    def verified() -> dict[str, str]:
        every = {"filters": {"include_stale": True}, "mode": "deep"}
        hits = server.call("search_memory", query="alpha Beta", workspace_id="times", **every)["results"]
        return {hit["path"]: hit["verified_at"] for hit in hits}

    server.call("index_codebase", repo_path=str(root), workspace_id="times")
    first = verified()
    server.call("index_codebase", repo_path=str(root), workspace_id="times", languages=["go"])
    second = verified()
    assert second["a.py"] == first["a.py"]
    assert second["b.go"] > first["b.go"]
    (root / "a.py").write_text("def alpha(): pass\n" * 100)
    server.call("index_codebase", repo_path=str(root), workspace_id="times", max_file_size=100)
    server.call("index_codebase", repo_path=str(root), workspace_id="times", max_file_size=100)
    third = verified()
    assert third["a.py"] == first["a.py"]
    server.call("index_codebase", repo_path=str(root), workspace_id="times")
    assert verified()["a.py"] > third["b.go"]


# progress, cancelling, hanging up


@pytest.fixture(scope="module")
def raw(place: Path) -> Iterator[tuple[RawServer, EmbeddingServer, Path]]:
    """A server whose every line is seen, and the embedding server that it waits for."""
    home = place / "raw-home"
    with EmbeddingServer() as embedder, raw_server(home, **embedder.settings("ollama")) as server:
        server.initialize()
        yield server, embedder, home
        status, _, log = server.hang_up()
    assert status == 0
    assert b"Traceback" not in log


Raw = tuple[RawServer, EmbeddingServer, Path]


def start(server: RawServer, root: Path, token: str = "p", workspace: str = "") -> int:
    arguments = {"repo_path": str(root), "workspace_id": workspace}
    return server.send(
        "tools/call", {"name": "index_codebase", "arguments": arguments, "_meta": {"progressToken": token}}
    )


def test_progress_is_reported_while_it_works(raw: Raw, tmp_path: Path) -> None:
    functions = "".join(f"def f{n}():\n    return {n}\n\n\n" for n in range(200))
    root = repository(tmp_path / "repo", {f"m{n}.py": functions for n in range(12)})
    server, _, _ = raw
    server.answer(start(server, root, "mine", "progress"))
    messages = [json.loads(line) for line in server.lines]
    reports = [each["params"] for each in messages if each.get("method") == "notifications/progress"]
    reports = [report for report in reports if report["progressToken"] == "mine"]
    done = [report["progress"] for report in reports]
    assert done == sorted(set(done))
    assert (done[0], done[-1], len(done) > 3) == (0, 12, True)
    assert (reports[-1]["total"], reports[-1]["message"]) == (12, "12 of 12 files")


def test_two_calls_at_once_give_what_one_would(raw: Raw, repo: Path) -> None:
    server, _, home = raw
    numbers = [start(server, repo, token, "both") for token in ("one", "two")]
    answers = {}
    while len(answers) < 2:
        message = json.loads(server.line())
        if message.get("id") in numbers:
            answers[message["id"]] = message["result"]["structuredContent"]["files_indexed"]
    assert sorted(answers.values()) == [0, len(FILES)]
    assert set(live(store_files.file_of(home, "both"), repo)) == set(FILES)


def test_a_cancelled_run_leaves_the_last_complete_state_and_a_usable_server(raw: Raw, repo: Path) -> None:
    server, embedder, home = raw
    in_workspace = {"workspace_id": "cancelled"}
    assert server.answer(start(server, repo, "p", "cancelled"))["result"]["isError"] is False
    file = store_files.file_of(home, "cancelled")
    before = {path: each.content for path, each in live(file, repo).items()}
    (repo / "app.py").write_text("def edited(): pass\n")
    (repo / "main.go").unlink()
    embedder.mood = "silent"
    asked = len(embedder.asked)
    number = start(server, repo, "p", "cancelled")
    wait_for(lambda: len(embedder.asked) > asked, "the run to embed")
    server.notify("notifications/cancelled", {"requestId": number, "reason": "enough"})
    assert server.call("get_stats", in_workspace)["result"]["structuredContent"]["stale_memories"] == 0
    embedder.mood = "well"
    embedder.released.set()
    again = server.call("index_codebase", {"repo_path": str(repo), **in_workspace})["result"]["structuredContent"]
    assert (again["files_indexed"], again["files_removed"]) in {(1, 1), (0, 1)}  # the batch under way is whole
    assert stale(file, repo) == {"main.go"}
    assert {path: each.content for path, each in live(file, repo).items() if path != "app.py"} == {
        path: content for path, content in before.items() if path not in {"app.py", "main.go"}
    }
    assert problems(file) == []


def test_a_client_that_hangs_up_in_the_middle_leaves_no_process_and_whole_files(home: Path, repo: Path) -> None:
    with EmbeddingServer() as embedder, raw_server(home, **embedder.settings("ollama")) as server:
        server.initialize()
        embedder.mood = "silent"
        start(server, repo)
        wait_for(lambda: embedder.asked, "the run to embed")
        assert server.process.stdin is not None
        server.process.stdin.close()
        embedder.released.set()
        server.process.stdin = None
        status, _, log = server.hang_up()
        server.process.stdin = open("/dev/null", "wb")  # noqa: SIM115  # closed by the one who opened the server
    assert status == 0
    assert b"Traceback" not in log
    assert stale(store_files.file_of(home), repo) == set()
