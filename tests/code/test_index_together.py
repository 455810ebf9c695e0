"""Several at once: runs of one folder, writers and readers beside a run, a prune between two runs and inside one."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from memsweep.code.lock import next_in_line, one_at_a_time
from memsweep.errors import Conflict
from tests.code.conftest import FILES
from tests.code.index_children import Indexer
from tests.code.indexed_workspace import IndexedWorkspace, content_tables, problems
from tests.code.trees import repository
from tests.support import contents
from tests.support.commands import memsweep
from tests.support.waiting import wait_for

pytestmark = pytest.mark.slow


@pytest.fixture
def many(tmp_path: Path) -> Path:
    return repository(tmp_path / "many", {f"m{n}.py": f"def f{n}():\n    return {n}\n" for n in range(40)})


# two runs of one folder


def test_a_second_run_of_the_same_folder_waits_and_the_result_is_whole(
    workspace: IndexedWorkspace, home: Path, many: Path
) -> None:
    first = Indexer(home, many, batch_chunks=8, stop_at=1)
    assert first.said() == "begun"
    assert first.said()[1] == 40  # it is in the middle, and holds
    (many / "m0.py").unlink()
    (many / "new.py").write_text("def new(): pass\n")
    second = Indexer(home, many)
    assert second.said() == "begun"
    first.go()
    while isinstance(said := first.said(), list):
        first.go()
    assert said["files_indexed"] == 40
    assert second.said()["files_indexed"] == 1
    assert (first.end(), second.end()) == (0, 0)
    assert workspace.stale(many) == {"m0.py"}
    assert workspace.content(many) == workspace.anew(many)
    assert problems(workspace.file) == []


def test_two_runs_of_one_folder_at_once_leave_what_one_would(
    workspace: IndexedWorkspace, home: Path, many: Path
) -> None:
    children = [Indexer(home, many, batch_chunks=4) for _ in range(3)]
    said = [(child.said(), child.said())[1]["files_indexed"] for child in children]
    assert sorted(said) == [0, 0, 40]
    assert [child.end() for child in children] == [0, 0, 0]
    assert workspace.content(many) == workspace.anew(many)


def test_a_run_that_was_killed_does_not_block_the_next(workspace: IndexedWorkspace, home: Path, many: Path) -> None:
    child = Indexer(home, many, batch_chunks=8, stop_at=1)
    child.said()
    child.said()
    child.kill()
    assert workspace.index(many).files_unchanged > 0
    assert workspace.content(many) == workspace.anew(many)


def test_another_folder_or_another_workspace_does_not_wait(
    workspace: IndexedWorkspace, home: Path, many: Path, repo: Path
) -> None:
    child = Indexer(home, many, batch_chunks=8, stop_at=1)
    child.said()
    child.said()
    assert workspace.index(repo).files_indexed == len(FILES)
    assert workspace.app.memory("other").code.index(many).files_indexed == 40
    child.kill()


def test_who_waits_too_long_is_told_so(tmp_path: Path) -> None:
    with one_at_a_time(tmp_path / "locks", "w", "/r"):  # noqa: SIM117
        with (
            pytest.raises(Conflict, match=r"another index run of /r has been under way for more than 0 s"),
            one_at_a_time(tmp_path / "locks", "w", "/r", wait_seconds=0.01),
        ):
            pass
    with one_at_a_time(tmp_path / "locks", "w", "/r", wait_seconds=0.01):
        pass


def test_locks_are_only_for_their_owner(tmp_path: Path) -> None:
    with one_at_a_time(tmp_path / "home" / "locks", "w", "/r"):
        (lock,) = (tmp_path / "home" / "locks").iterdir()
        modes = [oct(each.stat().st_mode & 0o777) for each in (tmp_path / "home", lock.parent, lock)]
    assert modes == ["0o700", "0o700", "0o600"]


# --join


def test_of_those_who_join_one_waits_and_the_others_leave_it_to_that_one(
    workspace: IndexedWorkspace, home: Path, many: Path
) -> None:
    running = Indexer(home, many, batch_chunks=8, stop_at=1)
    running.said()
    running.said()
    with ThreadPoolExecutor(2) as pool:
        asked = [pool.submit(workspace.memory.code.wait_to_index, many) for _ in range(2)]
        wait_for(lambda: any(each.done() for each in asked), "one of two to be told that it need not wait")
        joined = memsweep("index", str(many), "--join", "--json", home=home)
        assert (joined.status, joined.json) == (0, {"joined": True})
        assert [each.result() for each in asked if each.done()] == [False]
        running.kill()
    assert sorted(each.result() for each in asked) == [False, True]


def test_join_without_company_indexes(home: Path, repo: Path) -> None:
    assert memsweep("index", str(repo), "--join", "--json", home=home).json["files_indexed"] == len(FILES)


def test_who_is_next_in_line_says_so_if_it_waits_in_vain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memsweep.code.lock.PATIENT_SECONDS", 0.01)
    with one_at_a_time(tmp_path, "w", "/r"):  # noqa: SIM117
        with pytest.raises(Conflict, match="under way"), next_in_line(tmp_path, "w", "/r"):
            pass
    with next_in_line(tmp_path, "w", "/r") as alone:
        assert alone


# beside writers and readers


def test_others_add_and_search_while_a_folder_is_indexed(workspace: IndexedWorkspace, home: Path, many: Path) -> None:
    workspace.memory.remember("the very first memory")
    child = Indexer(home, many, batch_chunks=2)
    added = []
    while child.process.is_alive():
        number = len(added)
        added.append(workspace.memory.remember(f"note {number} beside the run").memory_id)
        found = [hit.memory_id for hit in workspace.hits(f"note {number} beside", source="")]
        assert added[-1] in found
        for hit in workspace.hits("def return"):
            assert hit.text
    assert child.end() == 0
    assert len(set(added)) == len(added)
    assert set(added) <= set(contents.ids(workspace.memory))
    assert workspace.content(many) == workspace.anew(many)
    assert problems(workspace.file) == []


def test_a_reader_sees_the_last_complete_staleness_until_the_run_ends(
    workspace: IndexedWorkspace, home: Path, many: Path
) -> None:
    workspace.index(many)
    for number in range(20):
        (many / f"m{number}.py").write_text(f"def changed{number}(): pass\n")
    (many / "m39.py").unlink()
    child = Indexer(home, many, batch_chunks=4, stop_at=8)
    assert (child.said(), child.said()[1]) == ("begun", 20)
    assert workspace.stale(many) == set()
    assert any(hit.code.path == "m39.py" for hit in workspace.hits("f39"))
    child.kill()
    workspace.index(many)
    assert workspace.stale(many) == {"m39.py"}


# beside the collector


def gone(workspace: IndexedWorkspace, repo: Path, *paths: str) -> None:
    for path in paths:
        (repo / path).unlink()
    workspace.index(repo)


def test_a_prune_between_two_runs_makes_a_file_that_comes_back_a_new_one(
    workspace: IndexedWorkspace, repo: Path
) -> None:
    workspace.index(repo)
    old = workspace.live(repo)["app.py"].id
    gone(workspace, repo, "app.py")
    receipt = workspace.memory.sweep.prune(confirm=True)
    assert receipt.totals.memories == 1
    assert workspace.index(repo).stale_memories == 0
    (repo / "app.py").write_text(FILES["app.py"])
    assert workspace.index(repo).files_indexed == 1
    assert workspace.live(repo)["app.py"].id != old
    assert workspace.content(repo) == workspace.anew(repo)
    undone = workspace.memory.sweep.undo(receipt.id)
    assert (undone.totals.memories, undone.conflicts[0][0]) == (0, old)
    assert workspace.index(repo).files_indexed == 0
    assert workspace.content(repo) == workspace.anew(repo)
    assert problems(workspace.file) == []


def test_a_prune_that_is_undone_gives_back_a_stale_file_that_can_come_back(
    workspace: IndexedWorkspace, repo: Path
) -> None:
    workspace.index(repo)
    old = workspace.live(repo)["app.py"].id
    gone(workspace, repo, "app.py")
    workspace.memory.sweep.undo(workspace.memory.sweep.prune(confirm=True).id)
    assert workspace.stale(repo) == {"app.py"}
    (repo / "app.py").write_text(FILES["app.py"])
    assert workspace.index(repo).chunks_embedded == 0
    assert workspace.live(repo)["app.py"].id == old
    assert workspace.content(repo) == workspace.anew(repo)


@pytest.mark.parametrize("edited", [False, True], ids=["as it was", "edited"])
@pytest.mark.parametrize("purged", [False, True], ids=["pruned", "purged"])
def test_a_prune_in_the_middle_of_a_run_takes_nothing_that_is_on_disk(
    workspace: IndexedWorkspace, repo: Path, edited: bool, purged: bool
) -> None:
    workspace.index(repo)
    gone(workspace, repo, "app.py", "main.go")
    (repo / "app.py").write_text(FILES["app.py"] + ("\n\ndef third(): pass\n" if edited else ""))
    (repo / "other.py").write_text("def other(): pass\n")

    def collect() -> None:
        workspace.memory.sweep.prune(confirm=True)
        if purged:
            workspace.memory.sweep.purge(0, confirm=True)

    result = workspace.index(repo, progress=once(collect))
    assert set(workspace.live(repo)) == {*FILES, "other.py"} - {"main.go"}
    assert result.stale_memories == 0
    assert workspace.content(repo) == workspace.anew(repo)
    assert problems(workspace.file) == []


def test_a_file_deleted_by_hand_in_the_middle_of_a_run_is_there_when_it_ends(
    workspace: IndexedWorkspace, repo: Path
) -> None:
    workspace.index(repo)
    doomed = workspace.live(repo)["lib/shapes.py"].id
    (repo / "app.py").write_text("def edited(): pass\n")
    workspace.index(repo, progress=once(lambda: workspace.memory.delete(doomed, confirm=True)))
    assert workspace.content(repo) == workspace.anew(repo)


def test_a_prune_that_never_ends_makes_the_run_say_so(workspace: IndexedWorkspace, repo: Path) -> None:
    workspace.index(repo)

    def delete(done: int, total: int) -> None:
        if done == 0:
            workspace.memory.delete(workspace.live(repo)[next(victims)].id, confirm=True)

    victims = iter(["lib/shapes.py", "docs/guide.md", "main.go"])

    (repo / "app.py").write_text("def edited(): pass\n")
    with pytest.raises(Conflict, match="was removed from the index while it was refreshed"):
        workspace.index(repo, progress=delete)
    workspace.index(repo)
    assert workspace.content(repo) == workspace.anew(repo)


def test_collecting_everything_that_can_go_takes_nothing_from_live_files(
    workspace: IndexedWorkspace, repo: Path
) -> None:
    (repo / "lonely.py").write_text("import wave\n")  # its names are in no relation to the others
    workspace.index(repo)
    before = workspace.content(repo)
    workspace.memory.sweep.prune("all", confirm=True, allow_large=True)
    workspace.index(repo)
    assert workspace.content(repo) == before


def test_a_plan_made_before_a_run_does_not_take_what_the_run_brought_back(
    workspace: IndexedWorkspace, repo: Path
) -> None:
    workspace.index(repo)
    gone(workspace, repo, "app.py", "main.go")
    plan = workspace.memory.sweep.plan()
    (repo / "app.py").write_text(FILES["app.py"])
    workspace.index(repo)
    receipt = workspace.memory.sweep.apply(plan.id, confirm=True)
    assert receipt.totals.memories == 1
    assert set(workspace.live(repo)) == set(FILES) - {"main.go"}


def test_what_was_deleted_for_good_is_not_learned_again_until_its_tombstone_is_gone(
    workspace: IndexedWorkspace, repo: Path
) -> None:
    workspace.index(repo)
    doomed = workspace.live(repo)["app.py"].id
    workspace.memory.delete(doomed, confirm=True, forever=True)
    for _ in range(2):
        result = workspace.index(repo)
        assert (result.files_indexed, result.files_removed, result.stale_memories) == (0, 0, 0)
        assert "app.py: its content was deleted for good" in result.warnings[0]
        assert "app.py" not in workspace.live(repo)
    (repo / "main.go").write_text(FILES["app.py"])
    result = workspace.index(repo)
    assert (result.files_indexed, result.files_removed, workspace.stale(repo)) == (0, 1, {"main.go"})
    workspace.memory.sweep.remove_tombstone(doomed)
    assert workspace.index(repo).files_indexed == 2
    assert workspace.content(repo) == workspace.anew(repo)


def test_nothing_is_written_by_a_run_that_is_refused(workspace: IndexedWorkspace, repo: Path) -> None:
    workspace.index(repo)
    before = content_tables(workspace.file)
    repo.rename(repo.with_name("away"))
    with pytest.raises(Exception, match="does not exist"):
        workspace.index(repo)
    assert content_tables(workspace.file) == before


def once(act: Callable[[], object]) -> Callable[[int, int], None]:
    """A progress report in whose middle something else happens, the first time."""
    acts = [act]

    def progress(done: int, total: int) -> None:
        if acts:
            acts.pop()()

    return progress
