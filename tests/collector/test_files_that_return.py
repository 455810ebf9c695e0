"""`missing_files` looks at the disk again when it takes something away."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from memsweep.app import Memory
from memsweep.collector import collect
from memsweep.collector.selection import FILE_IS_BACK, FOLDER_IS_GONE
from memsweep.model.plan import Receipt
from tests.support.commands import Ran
from tests.support.engines import on_every_engine
from tests.support.inside import collector_of

FILES = {f"{name}.py": f"def {name}(): pass\n" for name in ("stays", "returns", "goes")}


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text)
    return folder


def lose(repo: Path) -> None:
    for name in ("returns.py", "goes.py"):
        (repo / name).unlink()


def bring_back(repo: Path) -> None:
    (repo / "returns.py").write_text(FILES["returns.py"])


def take_away(repo: Path) -> None:
    repo.rename(repo.with_name("unmounted"))


CHANGES: dict[str, tuple[Callable[[Path], None], dict[str, str]]] = {
    "a file comes back": (bring_back, {"returns.py": FILE_IS_BACK}),
    "the folder vanishes": (take_away, {"returns.py": FOLDER_IS_GONE, "goes.py": FOLDER_IS_GONE}),
}


def ids(memory: Memory) -> dict[str, str]:
    plan = memory.sweep.plan("missing_files")
    return {str(view.relative_path): view.id for view in memory.sweep.items(plan.id) if view.kind == "memory"}


def kept_files(receipt: Receipt) -> dict[str, str]:
    """What was left, without the names that are held by it."""
    return {uid: reason for uid, reason in receipt.skipped if uid.startswith("mem")}


@on_every_engine
@pytest.mark.parametrize("change", CHANGES)
def test_a_saved_plan_leaves_what_is_not_certainly_gone(memory: Memory, repo: Path, change: str) -> None:
    memory.code.index(repo)
    lose(repo)
    plan = memory.sweep.plan("missing_files")
    known = ids(memory)
    happens, kept = CHANGES[change]
    happens(repo)
    receipt = memory.sweep.apply(plan.id, confirm=True)
    assert kept_files(receipt) == {known[path]: reason for path, reason in kept.items()}
    assert receipt.totals.memories == 2 - len(kept)
    assert memory.stats().total_memories == 1 + len(kept)
    assert bool(memory.search("def returns").hits)


@on_every_engine
@pytest.mark.parametrize("change", CHANGES)
def test_what_returns_while_a_plan_is_made_and_applied_stays(memory: Memory, repo: Path, change: str) -> None:
    memory.code.index(repo)
    lose(repo)
    known = ids(memory)
    happens, kept = CHANGES[change]
    tools = collector_of(memory)

    def new_id(kind: str) -> str:  # asked for after the first look, before the transaction
        if kind == "rcpt":
            happens(repo)
        return tools.new_id(kind)

    receipt = collect.plan_and_apply(replace(tools, new_id=new_id), "missing_files", confirm=True)
    assert kept_files(receipt) == {known[path]: reason for path, reason in kept.items()}
    assert receipt.totals.memories == 2 - len(kept)


@on_every_engine
def test_what_stays_keeps_its_names_and_comes_back_with_no_undo(memory: Memory, repo: Path) -> None:
    memory.code.index(repo)
    lose(repo)
    plan = memory.sweep.plan("missing_files")
    bring_back(repo)
    receipt = memory.sweep.apply(plan.id, confirm=True)
    assert "def returns" in {hit.passage.text[:11] for hit in memory.search("returns").hits}
    assert "def goes" not in {hit.passage.text[:8] for hit in memory.search("goes").hits}
    assert memory.sweep.undo(receipt.id).totals.memories == 1
    assert memory.sweep.plan("missing_files").totals.memories == 1  # the one that is gone


def test_the_command_line_says_what_was_left(run: Callable[..., Ran], repo: Path) -> None:
    run("index", str(repo))
    lose(repo)
    plan = run("prune", "--strategy", "missing_files", "--json").json
    bring_back(repo)
    done = run("prune", "--plan", plan["plan_id"], "--yes")
    assert done.status == 0
    assert f"({FILE_IS_BACK})" in done.out
