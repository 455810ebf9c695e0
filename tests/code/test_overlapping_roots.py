"""A folder inside an indexed folder: one file on disk is one memory, and no old text is left beside the new one."""

import shutil
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from memsweep.app import App, Memory
from memsweep.model.code import LISTED
from tests.code.trees import grow
from tests.support import store_files
from tests.support.engines import on_every_engine
from tests.support.inside import store_of

FILES: dict[str, str | bytes] = {
    "top.py": "def top():\n    return 1\n",
    "sub/heron.py": "import os\n\n\ndef heron():\n    return os.sep\n",
    "sub/deep/otter.py": "def otter():\n    return 3\n",
    "sub/empty.py": "",
}


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return grow(tmp_path / "repo", dict(FILES))


def memories(memory: Memory) -> dict[str, list[tuple[str, bool]]]:
    """By their place on disk: the ids of the memories, and whether they are stale."""
    store = store_of(memory)
    found = defaultdict(list)
    for root in store.code.roots():
        for file in store.code.files(root):
            if file.memory_id:
                found[f"{root}/{file.path}"].append((file.memory_id, file.stale))
    return dict(found)


def one_each(memory: Memory, repo: Path) -> dict[str, str]:
    """The fresh files by path; every file on disk has one memory."""
    found = memories(memory)
    assert {place: len(each) for place, each in found.items() if len(each) > 1} == {}
    return {place.removeprefix(f"{repo}/"): each[0][0] for place, each in found.items() if not each[0][1]}


def texts(memory: Memory, query: str) -> list[str]:
    return [hit.passage.text for hit in memory.search(query, limit=50).hits]


@on_every_engine
@pytest.mark.parametrize("order", [("sub", ""), ("", "sub"), ("sub/deep", "sub", ""), ("", "sub/deep", "sub", "")])
def test_a_file_is_one_memory_whichever_root_sees_it(memory: Memory, repo: Path, order: tuple[str, ...]) -> None:
    ids: dict[str, str] = {}
    for folder in order:
        memory.code.index(repo / folder)
        found = one_each(memory, repo)
        assert found.items() >= ids.items(), "a memory keeps its id"
        ids = found
    assert set(ids) == {"top.py", "sub/heron.py", "sub/deep/otter.py"}
    assert memory.stats().total_memories == 3
    assert memory.care.doctor().findings == ()


@on_every_engine
@pytest.mark.parametrize("last", ["", "sub"])
def test_after_an_edit_the_old_text_is_gone(memory: Memory, repo: Path, last: str) -> None:
    memory.code.index(repo / "sub")
    memory.code.index(repo)
    (repo / "sub/heron.py").write_text("def heron():\n    return 'the new nest'\n")
    result = memory.code.index(repo / last)
    assert (result.files_indexed, result.chunks_embedded) == (1, 1)
    assert [text for text in texts(memory, "def heron return") if "heron" in text] == [
        "def heron():\n    return 'the new nest'\n"
    ]
    one_each(memory, repo)


@on_every_engine
def test_taking_over_embeds_nothing_and_keeps_pins_and_tags(memory: Memory, repo: Path) -> None:
    memory.code.index(repo / "sub")
    heron = one_each(memory, repo)["sub/heron.py"]
    memory.pin(heron)
    result = memory.code.index(repo)
    assert (result.files_indexed, result.files_unchanged, result.files_moved, result.files_removed) == (1, 2, 0, 0)
    assert result.chunks_embedded == 1
    assert memory.get(heron).pinned
    assert (result.functions_found, result.languages) == (3, {"python": 3})
    hit = next(hit for hit in memory.search("heron").hits if hit.passage.memory_id == heron)
    assert hit.passage.code
    assert (hit.passage.code.path, hit.passage.code.file_path) == ("sub/heron.py", f"{repo}/sub/heron.py")
    again = memory.code.index(repo)
    assert (again.files_indexed, again.files_unchanged) == (0, 4)


@on_every_engine
@pytest.mark.parametrize("last", ["", "sub"])
def test_what_is_gone_from_disk_is_stale_whoever_looks(memory: Memory, repo: Path, last: str) -> None:
    memory.code.index(repo)
    memory.code.index(repo / "sub")
    (repo / "sub/heron.py").unlink()
    result = memory.code.index(repo / last)
    assert (result.files_removed, result.stale_memories) == (1, 1)
    assert set(one_each(memory, repo)) == {"top.py", "sub/deep/otter.py"}
    grow(repo, {"sub/heron.py": FILES["sub/heron.py"]})
    memory.code.index(repo if last else repo / "sub")
    assert set(one_each(memory, repo)) == {"top.py", "sub/heron.py", "sub/deep/otter.py"}


@on_every_engine
def test_a_file_that_moved_keeps_its_id_across_roots(memory: Memory, repo: Path) -> None:
    memory.code.index(repo)
    memory.code.index(repo / "sub")
    heron = one_each(memory, repo)["sub/heron.py"]
    (repo / "sub/heron.py").rename(repo / "egret.py")
    assert memory.code.index(repo).files_moved == 1
    assert one_each(memory, repo)["egret.py"] == heron
    memory.code.index(repo / "sub")
    assert one_each(memory, repo)["egret.py"] == heron


@on_every_engine
@pytest.mark.parametrize("first", ["", "sub"])
def test_it_stays_fresh_while_one_root_lists_it(memory: Memory, repo: Path, first: str) -> None:
    """The outer folder ignores it from now on; to the inner one that says nothing until it is told the same."""
    second = "" if first else "sub"
    memory.code.index(repo / first)
    memory.code.index(repo / second)
    heron = one_each(memory, repo)["sub/heron.py"]
    (repo / ".gitignore").write_text("sub/heron.py\n")
    result = memory.code.index(repo)
    assert (result.files_removed, result.stale_memories) == (0, 0)
    assert one_each(memory, repo)["sub/heron.py"] == heron
    memory.code.index(repo / "sub")
    memory.code.index(repo)
    assert one_each(memory, repo)["sub/heron.py"] == heron
    (repo / "sub/.gitignore").write_text("heron.py\n")
    result = memory.code.index(repo / "sub")
    assert (result.files_removed, result.stale_memories) == (1, 1)
    memory.code.index(repo)
    assert "sub/heron.py" not in one_each(memory, repo)
    assert memory.care.doctor().findings == ()


@on_every_engine
def test_a_file_that_lost_its_text_again_shows_none(memory: Memory, repo: Path) -> None:
    memory.code.index(repo)  # which finds sub/empty.py without text
    (repo / "sub/empty.py").write_text("def egret(): pass\n")
    memory.code.index(repo / "sub")
    assert "sub/empty.py" in one_each(memory, repo)
    (repo / "sub/empty.py").write_text("")
    memory.code.index(repo)
    assert "sub/empty.py" not in one_each(memory, repo)


@on_every_engine
def test_a_filter_is_no_deletion(memory: Memory, repo: Path) -> None:
    memory.code.index(repo / "sub")
    before = memories(memory)
    for options in ({"languages": ["go"]}, {"recursive": False}, {"max_file_size": 5}):
        result = memory.code.index(repo, **options)  # type: ignore[arg-type]
        assert (result.files_removed, result.stale_memories) == (0, 0)
    assert {place: each for place, each in memories(memory).items() if "/sub/" in place} == before


@on_every_engine
def test_an_inner_folder_that_is_there_and_empty_may_be_a_drive_that_is_away(memory: Memory, repo: Path) -> None:
    memory.code.index(repo / "sub")
    shutil.move(repo / "sub", repo.parent / "away")
    (repo / "sub").mkdir()
    assert memory.code.index(repo).stale_memories == 0
    (repo / "sub").rmdir()
    assert memory.code.index(repo).stale_memories == 2


@on_every_engine
def test_undo_brings_back_no_second_memory_of_a_file(memory: Memory, repo: Path) -> None:
    memory.code.index(repo / "sub")
    heron = one_each(memory, repo)["sub/heron.py"]
    receipt = memory.delete(heron, confirm=True)
    memory.code.index(repo)
    undone = memory.sweep.undo(receipt.id)
    assert heron in [uid for uid, _ in undone.conflicts]
    one_each(memory, repo)


@on_every_engine
def test_roots_beside_each_other_do_not_meet(memory: Memory, tmp_path: Path) -> None:
    for name in ("repo", "repo-2"):
        grow(tmp_path / name, {"a.py": "def heron():\n    return 1\n"})
        memory.code.index(tmp_path / name)
    assert memory.stats().total_memories == 2
    assert not any(file.mark.digest == LISTED for root in store_of(memory).code.roots()
                   for file in store_of(memory).code.files(root))  # fmt: skip


@on_every_engine
def test_a_tombstone_that_is_taken_away_forgets_no_listing(memory: Memory, repo: Path) -> None:
    memory.code.index(repo / "sub")
    memory.code.index(repo)
    note = memory.remember("a note that is not wanted").memory_id
    memory.delete(note, confirm=True, forever=True)
    memory.sweep.remove_tombstone(note)
    (repo / ".gitignore").write_text("sub/heron.py\n")
    memory.code.index(repo)
    assert "sub/heron.py" in one_each(memory, repo)


@pytest.mark.slow
@on_every_engine
def test_two_runs_at_the_same_time_leave_one_memory_of_each_file(app: App, tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {f"sub/m{n}.py": f"def f{n}():\n    return {n}\n" for n in range(40)}
    repo = grow(tmp_path / "repo", {**FILES, **files})
    for number in range(3):
        memory = app.memory(f"together-{number}")
        memory.remember("so that there is a workspace")
        with ThreadPoolExecutor() as pool:
            for done in [pool.submit(memory.code.index, repo / folder) for folder in ("", "sub", "sub/deep")]:
                done.result()
        assert len(one_each(memory, repo)) == 43
        assert memory.care.doctor().findings == ()


def double(memory: Memory, repo: Path) -> tuple[str, str]:
    """The same files twice, as earlier versions left them: the inner root's, and newer ones of the outer root."""
    memory.code.index(repo / "sub")
    inner = one_each(memory, repo)["sub/heron.py"]
    store = store_of(memory)
    roots = store.code.roots
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(store.code), "roots", lambda self: [])
        patch.setattr("memsweep.store.code_files.FileWrites._refuse_doubles", lambda *_: None)
        memory.code.index(repo)
    assert len(roots()) == 2
    (outer,) = (uid for uid, _ in memories(memory)[f"{repo}/sub/heron.py"] if uid != inner)
    return inner, outer


@on_every_engine
def test_doubles_are_joined_by_the_doctor_with_their_pins_and_tags(memory: Memory, repo: Path) -> None:
    inner, outer = double(memory, repo)
    memory.pin(inner)
    store_files.tag(memory, inner, "mine")
    assert [(each.invariant, each.count) for each in memory.care.doctor().findings] == [("file_twice", 2)]
    mended = memory.care.doctor(repair=True)
    assert (mended.left, mended.notes) == ((), ())
    assert memory.care.doctor().findings == ()
    assert one_each(memory, repo)["sub/heron.py"] == outer
    assert (memory.get(outer).pinned, memory.get(outer).tags) == (True, ("mine",))
    assert {hit.passage.memory_id for hit in memory.search("heron", filters={"tags": ["mine"]}).hits} == {outer}
    (repo / ".gitignore").write_text("sub/heron.py\n")
    memory.code.index(repo)
    assert one_each(memory, repo)["sub/heron.py"] == outer, "the inner folder lists it still"


@on_every_engine
def test_a_run_over_doubles_shows_one_of_them(memory: Memory, repo: Path) -> None:
    inner, outer = double(memory, repo)
    (repo / "sub/heron.py").write_text("def heron():\n    return 'the new nest'\n")
    memory.code.index(repo)
    assert sorted(memories(memory)[f"{repo}/sub/heron.py"]) == sorted([(inner, True), (outer, False)])
    assert not any("os.sep" in text for text in texts(memory, "heron os sep"))
    assert memory.care.doctor(repair=True).left == ()
    assert one_each(memory, repo)["sub/heron.py"] == outer


@on_every_engine
@pytest.mark.parametrize("lost", ["emptied", "deleted"])
def test_a_file_that_was_lost_for_a_while_is_fresh_where_another_root_lists_it(
    memory: Memory, repo: Path, lost: str
) -> None:
    """The outer root has its memory, the inner one finds it without text, and leaves it out later."""
    otter = repo / "sub/deep/otter.py"
    memory.code.index(repo)
    if lost == "emptied":
        otter.write_text("")
    else:
        otter.unlink()
    memory.code.index(repo / "sub")
    memory.sweep.prune("stale_code", confirm=True, allow_large=True)
    otter.write_text("def otter():\n    return 4\n")
    memory.code.index(repo / "sub")
    (repo / "sub/.gitignore").write_text("deep/\n")
    memory.code.index(repo / "sub")
    assert "sub/deep/otter.py" in one_each(memory, repo), "the outer root lists it"
    memory.code.index(repo)
    assert "sub/deep/otter.py" not in one_each(memory, repo), "it is ignored there as well"
