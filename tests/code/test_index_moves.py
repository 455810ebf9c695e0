"""Moved, copied, gone and back: which memory a file keeps, and what is embedded for it."""

from pathlib import Path

import pytest

from tests.code.conftest import FILES
from tests.code.indexed_workspace import File, IndexedWorkspace, problems, skipped
from tests.code.trees import git, grow, repository
from tests.support import contents, store_files


@pytest.fixture
def marked(workspace: IndexedWorkspace, repo: Path) -> File:
    """The index of the repository, with one file pinned and tagged."""
    workspace.index(repo)
    file = workspace.live(repo)["lib/shapes.py"]
    workspace.memory.pin(file.id)
    store_files.tag(workspace.memory, file.id, "mine")
    return workspace.live(repo)["lib/shapes.py"]


@pytest.mark.parametrize("target", ["lib/forms.py", "forms.py", "a/b/c/d/shapes.py", "été 日本.py", "lib/shapes.pyi"])
def test_a_moved_file_keeps_its_id_its_pin_and_its_tags_and_nothing_is_embedded(
    workspace: IndexedWorkspace, repo: Path, marked: File, target: str
) -> None:
    (repo / target).parent.mkdir(parents=True, exist_ok=True)
    (repo / "lib/shapes.py").rename(repo / target)
    result = workspace.index(repo)
    moved = workspace.live(repo)[target]
    assert (result.files_moved, result.files_indexed, result.files_removed, result.stale_memories) == (1, 0, 0, 0)
    assert (moved.id, moved.chunk_ids, moved.tags, moved.pinned) == (marked.id, marked.chunk_ids, '["mine"]', True)
    assert workspace.embedder.texts == []
    assert {hit.code.path for hit in workspace.hits("shape", tags=["mine"])} == {target}
    assert workspace.content(repo) == workspace.anew(repo)
    assert problems(workspace.file) == []


@pytest.mark.parametrize("name", ["shapes.txt", "lib/Shapes.py"])
def test_a_move_to_another_language_or_letter_case_keeps_the_id(
    workspace: IndexedWorkspace, repo: Path, marked: File, name: str
) -> None:
    (repo / "lib/shapes.py").rename(repo / name)
    assert workspace.index(repo).files_moved == 1
    assert workspace.live(repo)[name].id == marked.id
    assert workspace.content(repo) == workspace.anew(repo)


def test_a_renamed_folder_is_all_moves(workspace: IndexedWorkspace, tmp_path: Path) -> None:
    root = repository(tmp_path / "r", {f"old/m{n}.py": f"def f{n}(): pass\n" for n in range(20)})
    workspace.index(root)
    ids = {file.path.removeprefix("old/"): file.id for file in workspace.live(root).values()}
    (root / "old").rename(root / "new")
    result = workspace.index(root)
    assert (result.files_moved, result.files_indexed, workspace.embedder.texts) == (20, 0, [])
    assert {file.path.removeprefix("new/"): file.id for file in workspace.live(root).values()} == ids


def test_a_move_that_a_branch_makes_is_a_move_there_and_back(
    workspace: IndexedWorkspace, repo: Path, marked: File
) -> None:
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "before")
    git(repo, "checkout", "-q", "-b", "renamed")
    git(repo, "mv", "lib/shapes.py", "forms.py")
    git(repo, "commit", "-q", "-m", "move")
    workspace.index(repo)
    git(repo, "checkout", "-q", "main")
    assert workspace.index(repo).files_moved == 1
    assert workspace.live(repo)["lib/shapes.py"].id == marked.id
    assert workspace.embedder.texts == []


def test_a_move_with_an_edit_is_a_new_file(workspace: IndexedWorkspace, repo: Path, marked: File) -> None:
    (repo / "lib/shapes.py").rename(repo / "forms.py")
    (repo / "forms.py").write_text(FILES["lib/shapes.py"] + "\n\nclass More: ...\n")
    result = workspace.index(repo)
    assert (result.files_moved, result.files_indexed, result.files_removed) == (0, 1, 1)
    assert workspace.live(repo)["forms.py"].id != marked.id
    assert workspace.stale(repo) == {"lib/shapes.py"}


def test_a_copy_is_not_a_move_and_the_same_text_in_two_files_is_two_memories(
    workspace: IndexedWorkspace, repo: Path, marked: File
) -> None:
    (repo / "copy.py").write_text(FILES["lib/shapes.py"])
    result = workspace.index(repo)
    assert (result.files_moved, result.files_indexed) == (0, 1)
    files = workspace.live(repo)
    assert files["lib/shapes.py"] == marked
    assert files["copy.py"].id != marked.id
    assert not files["copy.py"].pinned
    assert {hit.code.path for hit in workspace.hits("Square")} >= {"copy.py", "lib/shapes.py"}
    (repo / "copy.py").unlink()
    workspace.index(repo)
    assert workspace.live(repo)["lib/shapes.py"] == marked


def test_a_copy_and_a_deletion_is_a_move_once(workspace: IndexedWorkspace, repo: Path, marked: File) -> None:
    for name in ("one.py", "two.py"):
        (repo / name).write_text(FILES["lib/shapes.py"])
    (repo / "lib/shapes.py").unlink()
    result = workspace.index(repo)
    assert (result.files_moved, result.files_indexed) == (1, 1)
    ids = {path: file.id for path, file in workspace.live(repo).items()}
    assert [ids[name] == marked.id for name in ("one.py", "two.py")].count(True) == 1
    assert ids["one.py"] != ids["two.py"]


def test_a_new_file_at_the_old_path_makes_it_an_edit_and_a_copy(
    workspace: IndexedWorkspace, repo: Path, marked: File
) -> None:
    (repo / "lib/shapes.py").rename(repo / "forms.py")
    (repo / "lib/shapes.py").write_text("def other(): pass\n")
    result = workspace.index(repo)
    assert (result.files_moved, result.files_indexed, result.stale_memories) == (0, 2, 0)
    assert workspace.live(repo)["lib/shapes.py"].id == marked.id  # the path is still there, and so is its memory
    assert workspace.content(repo) == workspace.anew(repo)


@pytest.mark.parametrize("names", [("a.py", "b.py"), ("a.py", "b.py", "c.py")], ids=["swap", "rotation"])
def test_files_that_trade_places_are_as_new(
    workspace: IndexedWorkspace, tmp_path: Path, names: tuple[str, ...]
) -> None:
    root = repository(tmp_path / "r", {name: f"def f_{name[0]}(): return '{name}'\n" for name in names})
    workspace.index(root)
    before = workspace.live(root)
    texts = [(root / name).read_text() for name in names]
    for name, text in zip(names, (*texts[1:], texts[0]), strict=True):
        (root / name).write_text(text)
    workspace.index(root)
    assert workspace.content(root) == workspace.anew(root)
    assert {path: file.id for path, file in workspace.live(root).items()} == {p: file.id for p, file in before.items()}


def test_a_chain_of_moves_is_as_new_and_loses_no_memory(workspace: IndexedWorkspace, tmp_path: Path) -> None:
    root = repository(tmp_path / "r", {f"{name}.py": f"def {name}(): return {name!r}\n" for name in "abcd"})
    workspace.index(root)
    ids = {file.id for file in workspace.live(root).values()}
    for old, new in (("d", "e"), ("c", "d"), ("b", "c"), ("a", "b")):
        (root / f"{old}.py").rename(root / f"{new}.py")
    result = workspace.index(root)
    assert workspace.content(root) == workspace.anew(root)
    assert result.stale_memories == len(workspace.stale(root)) == 1
    assert set(contents.ids(workspace.memory)) >= ids


def test_moved_again_before_the_index_saw_it(workspace: IndexedWorkspace, repo: Path, marked: File) -> None:
    for name in ("one.py", "two.py", "three.py"):
        next(path for path in (repo / "lib/shapes.py", *repo.glob("t*.py"), repo / "one.py") if path.exists()).rename(
            repo / name
        )
    workspace.index(repo)
    assert workspace.live(repo)["three.py"].id == marked.id


def test_a_file_that_is_gone_is_stale_hidden_and_counted(workspace: IndexedWorkspace, repo: Path, marked: File) -> None:
    (repo / "lib/shapes.py").unlink()
    result = workspace.index(repo)
    assert (result.files_removed, result.stale_memories, workspace.memory.stats().stale_memories) == (1, 1, 1)
    assert not any(hit.code.path == "lib/shapes.py" for hit in workspace.hits("Square Shape area"))
    (hit, *_) = [hit for hit in workspace.hits("Square Shape", include_stale=True) if hit.code.path == "lib/shapes.py"]
    assert hit.stale
    assert (result.functions_found, result.classes_found) == (4, 0)  # what is live


def test_back_again_is_fresh_without_embedding(workspace: IndexedWorkspace, repo: Path, marked: File) -> None:
    (repo / "lib/shapes.py").unlink()
    workspace.index(repo)
    (repo / "lib/shapes.py").write_text(FILES["lib/shapes.py"])
    result = workspace.index(repo)
    back = workspace.live(repo)["lib/shapes.py"]
    assert (result.stale_memories, result.files_indexed, result.files_unchanged) == (0, 0, len(FILES))
    assert (back.id, back.chunk_ids, back.pinned, workspace.embedder.texts) == (marked.id, marked.chunk_ids, True, [])
    assert any(hit.code.path == "lib/shapes.py" for hit in workspace.hits("Square"))


def test_back_again_with_an_edit_embeds_the_edit(workspace: IndexedWorkspace, repo: Path, marked: File) -> None:
    (repo / "lib/shapes.py").unlink()
    workspace.index(repo)
    (repo / "lib/shapes.py").write_text(FILES["lib/shapes.py"].replace("side = 1", "side = 2"))
    assert workspace.index(repo).stale_memories == 0
    assert workspace.live(repo)["lib/shapes.py"].id == marked.id
    assert workspace.embedder.texts == ["class Square(Shape):\n    side = 2"]


def test_back_again_somewhere_else_is_a_move(workspace: IndexedWorkspace, repo: Path, marked: File) -> None:
    (repo / "lib/shapes.py").unlink()
    workspace.index(repo)
    (repo / "later.py").write_text(FILES["lib/shapes.py"])
    assert workspace.index(repo).files_moved == 1
    assert workspace.live(repo)["later.py"].id == marked.id
    assert (workspace.stale(repo), workspace.embedder.texts) == (set(), [])


@pytest.mark.parametrize("emptied", [b"", b" \n\t\n", b"\0\1binary", b"-----BEGIN PRIVATE KEY-----\nabc\n"])
def test_a_file_that_lost_its_text_is_stale_and_fresh_when_it_gets_it_back(
    workspace: IndexedWorkspace, repo: Path, marked: File, emptied: bytes
) -> None:
    place = repo / "lib/shapes.py"
    place.write_bytes(emptied)
    result = workspace.index(repo)
    assert (result.files_removed, result.stale_memories) == (1, 1)
    assert workspace.stale(repo) == {"lib/shapes.py"}
    place.write_bytes(emptied + b"\0")
    assert workspace.index(repo).files_removed == 0  # it is known to be gone
    place.write_text(FILES["lib/shapes.py"])
    result = workspace.index(repo)
    back = workspace.live(repo)["lib/shapes.py"]
    assert (result.files_indexed, result.stale_memories, workspace.embedder.texts) == (1, 0, [])
    assert (back.id, back.chunk_ids) == (marked.id, marked.chunk_ids)
    assert skipped(workspace) == {}


def test_moving_files_without_text_indexes_nothing(workspace: IndexedWorkspace, repo: Path) -> None:
    grow(repo, {"pkg/__init__.py": "", "pkg/blob.xyz": b"\0\1"})
    workspace.index(repo)
    (repo / "pkg").rename(repo / "package")
    result = workspace.index(repo)
    assert (result.files_indexed, result.files_moved, result.files_removed) == (0, 0, 0)
    assert skipped(workspace).keys() == {"package/__init__.py", "package/blob.xyz"}


def test_a_file_becomes_a_folder_and_a_file_again(workspace: IndexedWorkspace, repo: Path) -> None:
    workspace.index(repo)
    (repo / "app.py").unlink()
    grow(repo, {"app.py/inner.py": "def inner(): pass\n"})
    workspace.index(repo)
    assert workspace.stale(repo) == {"app.py"}
    assert "app.py/inner.py" in workspace.live(repo)
    (repo / "app.py/inner.py").unlink()
    (repo / "app.py").rmdir()
    (repo / "app.py").write_text(FILES["app.py"])
    workspace.index(repo)
    assert workspace.stale(repo) == {"app.py/inner.py"}
    assert workspace.content(repo) == workspace.anew(repo)
