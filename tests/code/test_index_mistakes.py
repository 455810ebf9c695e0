"""Mistakes that a delta index is prone to, each shown not to happen here."""

import json
import os
import shutil
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memsweep.app import App
from memsweep.code.fingerprint import FINE_TICK_NS, SECOND_NS
from memsweep.errors import BadInput, EmbedderError
from tests.code.conftest import FILES
from tests.code.indexed_workspace import Crash, IndexedWorkspace, content_tables, live, problems, skipped, stale
from tests.code.trees import git, grow, repository
from tests.support import store_files
from tests.support.commands import memsweep
from tests.support.embedding_server import EmbeddingServer

ALL = set(FILES)


# marking the whole workspace as stale before a run


def test_indexing_a_second_repository_leaves_the_first_alone(
    workspace: IndexedWorkspace, repo: Path, tmp_path: Path
) -> None:
    other = repository(tmp_path / "other", {"app.py": "def elsewhere(): pass\n"})
    workspace.index(repo)
    before = workspace.content(repo)
    result = workspace.index(other)
    assert (result.files_indexed, result.files_removed, result.stale_memories) == (1, 0, 0)
    assert workspace.content(repo) == before
    assert set(workspace.live(other)) == {"app.py"}


def test_two_checkouts_of_one_repository_do_not_disturb_each_other(
    workspace: IndexedWorkspace, repo: Path, tmp_path: Path
) -> None:
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "all")
    git(repo, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    side = tmp_path / "side"
    workspace.index(repo)
    workspace.index(side)
    assert {file.id for file in workspace.live(repo).values()}.isdisjoint(
        file.id for file in workspace.live(side).values()
    )
    (side / "app.py").unlink()
    assert workspace.index(side).files_removed == 1
    assert workspace.index(repo).files_removed == 0
    assert (workspace.stale(side), workspace.stale(repo)) == ({"app.py"}, set())
    assert set(workspace.live(repo)) == ALL


def test_a_repository_inside_another_is_a_world_of_its_own(workspace: IndexedWorkspace, repo: Path) -> None:
    inner = repository(repo / "inner", {"inside.py": "def inside(): pass\n"})
    assert workspace.index(repo).files_indexed == len(ALL)
    assert workspace.index(inner).files_indexed == 1
    shutil.rmtree(inner / ".git")
    (inner / "inside.py").rename(inner / "renamed.py")
    assert workspace.index(inner).files_moved == 1
    assert workspace.index(repo).files_unchanged == len(ALL) + 1  # it is a plain folder of the outer one now
    assert set(workspace.live(repo)) == {*ALL, "inner/renamed.py"}
    assert set(workspace.live(inner)) == set()


# taking a narrower filter for a deletion


@pytest.mark.parametrize(
    ("narrower", "covered"),
    [
        ({"languages": ["go"]}, {"main.go"}),
        ({"languages": ["Python", "md"]}, {"app.py", "lib/shapes.py", "tests/test_app.py", "docs/guide.md"}),
        ({"recursive": False}, {"app.py", "main.go"}),
        ({"include_tests": False}, ALL - {"tests/test_app.py"}),
        ({"max_file_size": 50}, {"main.go", "tests/test_app.py"}),
    ],
    ids=["go only", "two languages", "not recursive", "no tests", "small files"],
)
def test_what_a_filter_does_not_cover_stays_as_it_was(
    workspace: IndexedWorkspace, repo: Path, narrower: dict[str, object], covered: set[str]
) -> None:
    workspace.index(repo)
    before = {file.path: file for file in workspace.live(repo).values()}
    result = workspace.index(repo, **narrower)
    assert (result.files_seen, result.files_removed, result.stale_memories) == (len(covered), 0, 0)
    assert workspace.live(repo) == before
    for path in ALL:
        (repo / path).unlink()
    (repo / "other.txt").write_text("so that the folder is not empty")
    result = workspace.index(repo, **narrower)
    assert workspace.stale(repo) == covered
    assert set(workspace.live(repo)) - {"other.txt"} == ALL - covered


def test_a_run_with_filters_on_a_new_folder_indexes_what_they_cover(workspace: IndexedWorkspace, repo: Path) -> None:
    workspace.index(repo, languages=["go"])
    assert set(workspace.live(repo)) == {"main.go"}
    workspace.index(repo)
    assert set(workspace.live(repo)) == ALL


# marking first, so that a crash leaves everything stale


@pytest.mark.parametrize("call", [1, 2, 3])
def test_an_exception_in_the_middle_makes_nothing_stale(
    workspace: IndexedWorkspace, repo: Path, monkeypatch: pytest.MonkeyPatch, call: int
) -> None:
    monkeypatch.setattr("memsweep.code.index._BATCH_CHUNKS", 1)
    workspace.index(repo)
    (repo / "main.go").unlink()
    for path in ("app.py", "lib/shapes.py", "tests/test_app.py"):
        (repo / path).write_text((repo / path).read_text() + "\n\ndef added():\n    return 3\n")
    workspace.embedder.forget()
    workspace.embedder.fails_at = call
    with pytest.raises(Crash):
        workspace.memory.code.index(repo)
    assert workspace.stale(repo) == set()
    assert set(workspace.live(repo)) == ALL
    assert problems(workspace.file) == []
    result = workspace.index(repo)
    assert (result.files_indexed, result.files_removed) == (3 - (call - 1), 1)
    assert workspace.content(repo) == workspace.anew(repo)


@pytest.mark.slow
def test_an_embedding_server_that_falls_over_costs_nothing_that_was_there(
    make: Callable[..., App], home: Path, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memsweep.code.index._BATCH_CHUNKS", 1)
    with EmbeddingServer() as server:
        memory = make(**server.settings("ollama")).memory()
        memory.code.index(repo, languages=["python"])
        (repo / "app.py").unlink()
        server.mood = "error"
        with pytest.raises(EmbedderError):
            memory.code.index(repo)
        assert stale(store_files.file_of(home), repo) == set()
        server.mood = "well"
        assert memory.code.index(repo).files_indexed == 2
        assert stale(store_files.file_of(home), repo) == {"app.py"}


# taking what cannot be read for gone


@pytest.mark.slow
def test_what_cannot_be_read_is_left_as_it_was(home: Path, repo: Path) -> None:
    def index() -> dict[str, object]:
        return memsweep("index", str(repo), "--json", home=home, as_ordinary_user=True).json

    index()
    (repo / "main.go").unlink()
    (repo / "app.py").write_text("def changed(): pass\n")
    (repo / "app.py").chmod(0)
    (repo / "lib").chmod(0)
    try:
        answer = index()
    finally:
        (repo / "lib").chmod(0o755)
        (repo / "app.py").chmod(0o644)
    file = store_files.file_of(home)
    assert (answer["files_indexed"], answer["files_removed"], answer["files_unreadable"]) == (0, 1, 2)
    assert "Files that could not be read, left as they were: 2" in str(answer["message"])
    assert stale(file, repo) == {"main.go"}
    assert live(file, repo)["app.py"].content["text"] == FILES["app.py"]
    answer = index()
    assert (answer["files_indexed"], answer["files_unchanged"]) == (1, len(ALL) - 2)


def test_a_root_that_vanished_is_refused_and_allow_empty_insists(workspace: IndexedWorkspace, repo: Path) -> None:
    workspace.index(repo)
    repo.rename(repo.with_name("elsewhere"))
    with pytest.raises(BadInput, match="does not exist"):
        workspace.index(repo)
    assert workspace.stale(repo) == set()
    assert workspace.index(repo, allow_empty=True).files_removed == len(ALL)
    assert workspace.stale(repo) == ALL
    repo.with_name("elsewhere").rename(repo)
    assert workspace.index(repo).stale_memories == 0
    assert workspace.embedder.texts == []


def test_a_root_that_is_suddenly_empty_is_refused_and_allow_empty_insists(
    workspace: IndexedWorkspace, repo: Path, tmp_path: Path
) -> None:
    workspace.index(repo)
    shutil.rmtree(repo)
    repo.mkdir()
    with pytest.raises(BadInput, match=f"contains no files, but the index has {len(ALL)} files of it"):
        workspace.index(repo)
    with pytest.raises(BadInput, match="contains no files"):
        workspace.index(repo, languages=["go"])
    assert workspace.stale(repo) == set()
    assert workspace.index(repo, allow_empty=True).stale_memories == len(ALL)
    assert workspace.index(repo).stale_memories == len(ALL)  # empty before, empty now: nothing to refuse


def test_a_folder_that_holds_only_uncovered_files_is_not_empty(workspace: IndexedWorkspace, repo: Path) -> None:
    workspace.index(repo)
    for path in ALL - {"main.go"}:
        (repo / path).unlink()
    assert workspace.index(repo, languages=["python"]).files_removed == 3


# never refreshing edited files


def test_an_edited_file_replaces_only_the_pieces_that_changed(workspace: IndexedWorkspace, repo: Path) -> None:
    workspace.index(repo)
    before = workspace.live(repo)["app.py"]
    (repo / "app.py").write_text(FILES["app.py"].replace("os.sep", "os.linesep"))
    result = workspace.index(repo)
    after = workspace.live(repo)["app.py"]
    assert (result.files_indexed, result.chunks_embedded) == (1, 1)
    assert workspace.embedder.texts == ["def second():\n    return os.linesep"]
    assert after.id == before.id
    assert [now == then for now, then in zip(after.chunk_ids, before.chunk_ids, strict=True)] == [True, True, False]
    assert [hit.text for hit in workspace.hits("linesep")][:1] == ["def second():\n    return os.linesep\n"]
    assert not any("os.sep" in hit.text for hit in workspace.hits("os.sep"))
    assert workspace.content(repo) == workspace.anew(repo)


def test_lines_move_with_what_is_written_above_them(workspace: IndexedWorkspace, repo: Path) -> None:
    workspace.index(repo)
    before = workspace.live(repo)["app.py"]
    (repo / "app.py").write_text("import sys\n" + FILES["app.py"])
    assert workspace.index(repo).chunks_embedded == 1
    after = workspace.live(repo)["app.py"]
    assert after.chunk_ids[1:] == before.chunk_ids[1:]
    assert [hit.first_line for hit in workspace.hits("def second", path="app.py") if hit.code.symbol == "second"] == [9]


@pytest.mark.parametrize("edit", [lambda text: text + "\n\n\n", lambda text: "\n\n" + text, lambda text: text.strip()])
def test_blank_lines_around_a_piece_are_kept_as_they_are_and_embed_nothing(
    workspace: IndexedWorkspace, repo: Path, edit: Callable[[str], str]
) -> None:
    workspace.index(repo)
    before = workspace.live(repo)["lib/shapes.py"]
    (repo / "lib/shapes.py").write_text(edit(FILES["lib/shapes.py"]))
    workspace.index(repo)
    after = workspace.live(repo)["lib/shapes.py"]
    assert after.content["text"] == "".join(chunk[0] for chunk in after.content["chunks"])
    assert after.chunk_ids == before.chunk_ids
    assert workspace.embedder.texts == []
    assert problems(workspace.file) == []


def test_equal_pieces_are_told_apart_by_their_place(workspace: IndexedWorkspace, repo: Path) -> None:
    twice = "def same():\n    return 1\n\n\n"
    (repo / "twice.py").write_text(twice + "x = 1\n\n\n" + twice)
    workspace.index(repo)
    assert sorted(workspace.embedder.texts).count("def same():\n    return 1") == 1  # one vector serves both
    before = workspace.live(repo)["twice.py"]
    (repo / "twice.py").write_text(twice + twice + "x = 1\n\n\n" + twice)
    assert workspace.index(repo).chunks_embedded == 0
    after = workspace.live(repo)["twice.py"]
    assert set(before.chunk_ids) < set(after.chunk_ids)
    assert workspace.content(repo) == workspace.anew(repo)


# duplicating everything in a run without a change


def test_a_run_without_a_change_writes_no_content_and_embeds_nothing(workspace: IndexedWorkspace, repo: Path) -> None:
    grow(repo, {"empty.py": "", "blob.xyz": b"\0\1\2", "id_rsa": "-----BEGIN RSA PRIVATE KEY-----\n"})
    time.sleep(2 * FINE_TICK_NS / SECOND_NS)  # files written a moment before they are read are looked at once more
    settled = workspace.index(repo)
    before = content_tables(workspace.file)
    result = workspace.index(repo)
    assert content_tables(workspace.file) == before
    assert (workspace.embedder.calls, result.chunks_embedded, result.files_indexed) == (0, 0, 0)
    assert result.files_unchanged == result.files_seen == settled.files_seen == len(ALL) + 2


def test_touching_every_file_writes_no_text_and_embeds_nothing(workspace: IndexedWorkspace, repo: Path) -> None:
    workspace.index(repo)
    before = workspace.live(repo)
    for path in ALL:
        os.utime(repo / path)
    result = workspace.index(repo)
    assert (workspace.embedder.calls, result.files_indexed, result.files_unchanged) == (0, 0, len(ALL))
    assert workspace.live(repo) == before


def test_the_marks_of_files_without_text_are_kept_up_to_date_too(workspace: IndexedWorkspace, repo: Path) -> None:
    grow(repo, {"empty.py": "", "blob.xyz": b"\0\1\2"})
    workspace.index(repo)
    for path in ("empty.py", "blob.xyz"):
        os.utime(repo / path, ns=(10**18 + 1, 10**18 + 1))
    for _ in range(2):
        workspace.index(repo)
    assert [stamp.split(":")[1] for stamp in skipped(workspace).values()] == [str(10**18 + 1)] * 2


# looking for a path in the text of some JSON


def test_strange_names_are_found_again_and_go_stale_by_name(workspace: IndexedWorkspace, tmp_path: Path) -> None:
    strange = {
        name: f"def f{number}(): pass\n"
        for number, name in enumerate(
            ["back\\slash.py", "grün/日本.py", 'quo"te.py', "per%cent_.py", "a[1]*?.py", "sp ace/🎉.py", "new\nline.py"]
        )
    }
    root = repository(tmp_path / "strange", strange)
    workspace.index(root)
    assert set(workspace.live(root)) == set(strange)
    assert workspace.index(root).files_unchanged == len(strange)
    for name in strange:
        assert {hit.code.path for hit in workspace.hits("def", path=name)} == {name}
        (root / name).rename(root / f"{name}.away")
    assert workspace.index(root).files_moved == len(strange)
    assert set(workspace.live(root)) == {f"{name}.away" for name in strange}
    for name in strange:
        (root / f"{name}.away").unlink()
    (root / "left.py").write_text("")
    workspace.index(root)
    assert workspace.stale(root) == {f"{name}.away" for name in strange}


# mixing times with and without a zone


@pytest.mark.slow
def test_times_are_aware_and_do_not_depend_on_the_zone(home: Path, repo: Path) -> None:
    began = datetime.now(UTC)
    memsweep("index", str(repo), home=home, executed=True, TZ="Asia/Tokyo")
    out = memsweep("search", "second", "--json", home=home, executed=True, TZ="America/Los_Angeles").json
    hit = next(hit for hit in out["results"] if hit["path"] == "app.py")
    verified, created = (datetime.fromisoformat(hit[name]) for name in ("verified_at", "created_at"))
    assert verified.utcoffset() == created.utcoffset() == timedelta(0)
    assert began - timedelta(seconds=1) <= created <= verified <= datetime.now(UTC) + timedelta(seconds=1)
    assert json.dumps(out)
