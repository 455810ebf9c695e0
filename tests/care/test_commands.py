"""The commands, in words and in JSON, with their exit status; and the library's doors."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

import memsweep
from memsweep.app import App
from tests.support import store_files
from tests.support.commands import Ran
from tests.support.commands import memsweep as in_a_process

Run = Callable[..., Ran]


@pytest.fixture
def stale(app: App, home: Path, tmp_path: Path) -> Path:
    """A workspace with notes and one code memory whose file is gone; nobody has it open."""
    folder = tmp_path / "code"
    folder.mkdir()
    for name in ("a.py", "b.py"):
        (folder / name).write_text(f"def {name[0]}():\n    return 1\n")
    app.memory().remember("a note")
    app.memory().code.index(folder)
    (folder / "a.py").unlink()
    app.memory().code.index(folder)
    app.close()
    return home


def damage(home: Path, script: str) -> None:
    with store_files.open_file(store_files.file_of(home)) as db:
        db.execute(script)


def test_a_doctor_says_that_all_is_well(run: Run, stale: Path) -> None:
    ran = run("doctor")
    assert (ran.status, ran.out) == (0, "Healthy: every invariant holds.\n")
    told = run("doctor", "--repair", "--json")
    assert told.status == 0
    assert told.json == {
        "workspace_id": "default",
        "healthy": True,
        "findings": [],
        "notes": [],
        "lost": [],
        "remarks": [],
        "stranded": [],
        "message": "Healthy: every invariant holds.",
    }


@pytest.mark.slow
def test_a_doctor_says_what_is_wrong_and_what_to_do_next(run: Run, stale: Path) -> None:
    damage(stale, "delete from memory where source = ''; delete from vector where chunk = 2")
    found = run("doctor")
    assert found.status == 5
    assert "1 chunk belongs to no memory: chk_" in found.out
    assert "  next: memsweep prune -s orphaned_chunks\n" in found.out
    assert "1 chunk has no vector: chk_" in found.out
    assert "  next: memsweep doctor --repair\n" in found.out
    mended = run("doctor", "--repair")
    assert mended.status == 5
    assert "repaired: 1 chunk has no vector: chk_" in mended.out
    assert mended.out.endswith("1 of 2 problems left.\n")
    assert run("prune", "-s", "orphaned_chunks", "--yes").status == 0
    assert run("doctor").status == 0
    assert "cli:" in run("audit").out


def test_a_doctor_tells_it_in_json(run: Run, stale: Path) -> None:
    damage(stale, "delete from memory_tag; update memory set tags = '[\"lost\"]'")
    told = run("doctor", "--repair", "--json").json
    (finding,) = told["findings"]
    assert (finding["invariant"], finding["count"], finding["repaired"]) == ("tags_differ", 3, True)
    assert finding["samples"][0] in finding["sentence"]
    assert finding["next_step"] == ""
    assert (told["healthy"], told["message"]) == (True, "Repaired 1 problem; every invariant holds now.")


def test_what_is_found_commands_no_terminal(run: Run, stale: Path) -> None:
    damage(stale, "insert into memory_tag (tag, memory) values ('[red]' || char(27) || '[2J', 999)")
    ran = run("doctor")
    assert "[red]" in ran.out


def test_compact_says_how_much_it_gave_back(run: Run, stale: Path) -> None:
    ran = run("compact")
    assert ran.status == 0
    assert " KB before, " in ran.out
    told = run("compact", "--json").json
    assert told["finished"] is True
    assert told["bytes_after"] <= told["bytes_before"]


@pytest.mark.slow
def test_a_compact_that_somebody_holds_up_says_so(run: Run, stale: Path) -> None:
    with store_files.open_file(store_files.file_of(stale)) as reader:
        reader.execute("begin; select * from memory")
        ran = run("compact")
    assert ran.status == 0
    assert "Another process is still reading the old state" in ran.out


@pytest.mark.slow
def test_a_backup_goes_there_and_back(run: Run, stale: Path, tmp_path: Path) -> None:
    file = tmp_path / "a.backup"
    made = run("backup", str(file))
    assert made.status == 0
    assert str(file) in made.out
    again = run("backup", str(file))
    assert again.status == 4
    assert "--force" in again.err
    assert run("backup", str(file), "--force", "--json").json["path"] == str(file)
    refused = run("restore", str(file))
    assert refused.status == 4
    assert "--replace" in refused.err
    told = run("restore", str(file), "-w", "other", "--json").json
    assert (told["workspace_id"], told["taken_from"], told["memories"]) == ("other", "default", 3)
    swapped = run("restore", str(file), "--replace")
    assert swapped.status == 0
    assert "undo wsrcpt_" in swapped.out
    assert run("doctor").status == 0


@pytest.mark.parametrize(
    ("content", "status"), [(None, 3), (b"", 5), (b"some text", 5), (b"SQLite format 3\0" + bytes(5000), 5)]
)
def test_a_file_that_is_no_backup_ends_with_a_sentence(
    run: Run, stale: Path, tmp_path: Path, content: bytes | None, status: int
) -> None:
    file = tmp_path / "a.backup"
    if content is not None:
        file.write_bytes(content)
    ran = run("restore", str(file), "-w", "other")
    assert ran.status == status
    assert ran.err.startswith("Error: ")
    assert "a.backup" in ran.err


@pytest.mark.slow
def test_a_folder_that_cannot_be_written_is_said(stale: Path, tmp_path: Path) -> None:
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o500)
    ran = in_a_process("backup", str(folder / "a.backup"), home=stale, as_ordinary_user=True)
    assert ran.status == 5
    assert "Permission denied" in ran.err
    assert list(folder.iterdir()) == []


# prune --backup


def restored(run: Run, file: Path) -> Ran:
    assert run("restore", str(file), "-w", "before").status == 0
    return run("stats", "-w", "before", "--json")


@pytest.mark.slow
def test_a_prune_takes_a_backup_first_and_says_where(run: Run, stale: Path, tmp_path: Path) -> None:
    file = tmp_path / "before.backup"
    ran = run("prune", "--yes", "--backup", str(file))
    assert ran.status == 0
    assert ran.out.index(str(file)) < ran.out.index("Moved 1 memory")
    assert restored(run, file).json["total_memories"] == 3


def test_a_prune_tells_of_its_backup_in_json(run: Run, stale: Path, tmp_path: Path) -> None:
    file = tmp_path / "before.backup"
    told = run("prune", "--yes", "--json", "--backup", str(file)).json
    assert told["deleted_memories"] == 1
    assert told["backup"]["path"] == str(file)


def test_a_prune_that_cannot_back_up_removes_nothing(run: Run, stale: Path, tmp_path: Path) -> None:
    file = tmp_path / "there"
    file.write_text("precious")
    ran = run("prune", "--yes", "--backup", str(file))
    assert ran.status == 4
    assert file.read_text() == "precious"
    assert run("stats", "--json").json["total_memories"] == 3


def test_a_prune_that_only_looks_takes_no_backup(run: Run, stale: Path, tmp_path: Path) -> None:
    assert run("prune", "--backup", str(tmp_path / "b")).status == 0
    assert not (tmp_path / "b").exists()


# the library


def test_the_library_has_the_same_doors(run: Run, tmp_path: Path) -> None:
    async def go() -> tuple[int, int, tuple[object, ...]]:
        async with memsweep.open_memory_async(home=tmp_path / "home") as memory:
            await memory.remember("a note")
            backup = await memory.care.backup(tmp_path / "b")
            return (
                backup.seal.memories,
                (await memory.care.compact()).bytes_after,
                (await memory.care.doctor()).findings,
            )

    memories, size, findings = asyncio.run(go())
    assert (memories, findings) == (1, ())
    assert size > 0
