"""kill -9 in the middle of an index run: files are whole, staleness is that of the last complete run."""

import random
from pathlib import Path

import pytest

from memsweep.code.sandbox import Sandbox
from tests.code.index_children import Indexer
from tests.code.indexed_workspace import File, IndexedWorkspace, files, live, problems
from tests.code.trees import git, repository
from tests.support.counts import rounds
from tests.support.waiting import wait_for

KILLS = rounds(4, 30)
NAMES = [f"{folder}m{number}.py" for folder in ("", "pkg/") for number in range(12)]


def text_of(chance: random.Random) -> str:
    """A module of a few functions, some of them in many files."""
    names = [chance.randrange(40) for _ in range(chance.randrange(1, 9))]
    return "import os\n\n\n" + "\n\n".join(f"def f{n}():\n    return f{n + 1}() + {n * n}\n" for n in names)


def shake(root: Path, chance: random.Random) -> None:
    """A morning's work: some files edited, moved, deleted, emptied, made, sometimes all put back."""
    if chance.random() < 0.2:
        git(root, "checkout", "-q", "-f", "HEAD")
    there = sorted(path for path in root.rglob("*.py"))
    for path in chance.sample(there, len(there) // 2):
        match chance.randrange(6):
            case 0:
                path.unlink()
            case 1:
                path.rename(root / f"moved{chance.randrange(100)}.py")
            case 2:
                path.write_text("")
            case _:
                path.write_text(text_of(chance))
    for name in chance.sample(NAMES, 6):
        (root / name).write_text(text_of(chance))


def run_until(home: Path, root: Path, cpu_seconds: float) -> None:
    """Index, and kill it when it has worked for so long."""
    child = Indexer(home, root, batch_chunks=16)
    assert child.said() == "begun"
    wait_for(lambda: (spent := child.cpu_seconds()) is None or spent >= cpu_seconds, "the child to work")
    child.kill()


def runs(workspace: IndexedWorkspace) -> int:
    """How many have come to their end."""
    return sum(scope.runs for root in workspace.memory.code.overview().roots for scope in root.scopes)


@pytest.mark.soak
def test_kill_9_at_random_moments_leaves_whole_files_and_the_staleness_of_the_last_run(
    home: Path, tmp_path: Path, sandbox: Sandbox
) -> None:
    chance = random.Random(4711)
    root = repository(tmp_path / "root", {name: text_of(chance) for name in NAMES})
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "all")
    whole = Indexer(home, root, batch_chunks=16)
    assert whole.said() == "begun"
    begins = whole.cpu_seconds() or 0.0
    assert whole.said()["files_indexed"] == len(NAMES)
    lasts = (whole.cpu_seconds() or begins) - begins
    whole.end()
    killed = 0
    with IndexedWorkspace(home, sandbox) as workspace:
        for number in range(10 * KILLS):  # on a busy machine, many have ended before they are killed
            if number >= KILLS and killed > KILLS // 4:
                break
            before, complete = files(workspace.file, root), runs(workspace)
            shake(root, chance)
            fresh = fresh_index(workspace, root)
            run_until(home, root, begins + chance.random() * lasts)
            ended = runs(workspace) > complete
            killed += not ended
            crashed = files(workspace.file, root)
            check_whole(before, crashed, fresh, ended)
            assert problems(workspace.file) == []
            result = workspace.index(root)
            after = live(workspace.file, root)
            assert [file.content for file in after.values()] == [file.content for file in fresh.values()]
            assert result.chunks_embedded <= missing_pieces(crashed, after)
            assert workspace.index(root).chunks_embedded == 0
    assert killed > KILLS // 4


def fresh_index(workspace: IndexedWorkspace, root: Path) -> dict[str, File]:
    other = workspace.app.memory(f"fresh-{len(workspace.app.workspaces())}")
    other.code.index(root)
    path = next(path for path in workspace.file.parent.glob("*.db") if path != workspace.file and live(path, root))
    found = live(path, root)
    workspace.app.delete_workspace(other.workspace_id, confirm=True)
    path.unlink()
    return found


def check_whole(before: list[File], crashed: list[File], fresh: dict[str, File], ended: bool) -> None:
    old = {file.id: file for file in before}
    assert old.keys() <= {file.id for file in crashed}
    for file in crashed:
        forms = [each.content for each in (fresh.get(file.path), old.get(file.id)) if each]
        assert file.content in forms, f"{file.path} is in neither its old nor its new form"
        if file.id in old and not ended:
            assert file.stale == old[file.id].stale, f"the staleness of {file.path} has changed"


def missing_pieces(crashed: list[File], after: dict[str, File]) -> int:
    """What the next run has to embed: pieces that their file does not have yet."""
    had = {file.id: set(file.hashes) for file in crashed}
    return sum(len(set(file.hashes) - had.get(file.id, set())) for file in after.values())


@pytest.mark.slow
def test_a_parser_process_does_not_outlive_a_killed_run(home: Path, tmp_path: Path) -> None:
    root = repository(tmp_path / "root", {name: text_of(random.Random(name)) for name in NAMES})
    child = Indexer(home, root, batch_chunks=1, stop_at=1)
    assert child.said() == "begun"
    child.said()
    workers = children_of(child.process.pid)
    assert workers
    child.kill()
    wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers), "the parsers to leave")


def children_of(pid: int | None) -> list[int]:
    return [int(each) for thread in Path(f"/proc/{pid}/task").glob("*/children") for each in thread.read_text().split()]
