"""Letter case in code: names that differ in it are two, and a file that is renamed by it alone is renamed."""

from pathlib import Path

import pytest

from memsweep.app import Memory
from tests.code.trees import grow
from tests.support.engines import on_every_engine

TWO = "package main\n\nfunc get() int { return 1 }\n\nfunc Get() int { return get() }\n"


def names(memory: Memory, kind: str) -> list[str]:
    found, _ = memory.graph.entities(entity_type=kind, limit=100)
    return sorted(entity.name for entity in found)


def around(memory: Memory, name: str) -> tuple[str, set[str]]:
    """The entity that a name leads to, and those next to it."""
    found = memory.graph.related(name)
    return found.start.name, {entity.name for entity in found.entities} - {found.start.name}


@pytest.mark.slow
@on_every_engine
def test_symbols_that_differ_in_case_alone_are_two(memory: Memory, tmp_path: Path) -> None:
    root = grow(tmp_path / "r", {"main.go": TWO})
    memory.code.index(root)
    assert names(memory, "Function") == ["Get", "get"]
    assert around(memory, "Get") == ("Get", {"main.go", "get"})
    assert around(memory, "get") == ("get", {"main.go", "Get"})
    memory.code.index(root)
    (root / "main.go").write_text(TWO + "\nfunc other() {}\n")
    memory.code.index(root)
    assert names(memory, "Function") == ["Get", "get", "other"]
    assert memory.care.doctor().findings == ()


@on_every_engine
@pytest.mark.parametrize("first", ["get", "Get"])
def test_symbols_of_two_files_are_two_whichever_came_first(memory: Memory, tmp_path: Path, first: str) -> None:
    second = "Get" if first == "get" else "get"
    root = grow(tmp_path / "r", {"a.go": f"package main\n\nfunc {first}() {{}}\n"})
    memory.code.index(root)
    grow(root, {"b.go": f"package main\n\nfunc {second}() {{}}\n"})
    memory.code.index(root)
    assert names(memory, "Function") == ["Get", "get"]
    for name, file in ((first, "a.go"), (second, "b.go")):
        assert around(memory, name) == (name, {file})
    (root / "a.go").unlink()
    memory.code.index(root)
    memory.sweep.prune("all", confirm=True, allow_large=True)
    assert names(memory, "Function") == [second]
    assert around(memory, "GET") == (second, {"b.go"}), "people need not mind the case"


@on_every_engine
def test_a_rename_that_changes_only_case_renames_the_entity(memory: Memory, tmp_path: Path) -> None:
    root = grow(tmp_path / "r", {"Shapes.py": "import os\n\n\nclass Shape:\n    pass\n"})
    memory.code.index(root)
    assert names(memory, "File") == ["Shapes.py"]
    (root / "Shapes.py").rename(root / "moving")
    (root / "moving").rename(root / "shapes.py")
    assert memory.code.index(root).files_moved == 1
    assert names(memory, "File") == ["shapes.py"]
    (root / "shapes.py").write_text("import os\n\n\nclass SHAPE:\n    pass\n")
    memory.code.index(root)
    assert names(memory, "Class") == ["SHAPE"]
    assert memory.care.doctor().findings == ()


@on_every_engine
def test_what_other_files_name_keeps_its_spelling(memory: Memory, tmp_path: Path) -> None:
    call = "def use():\n    return Loader()\n"
    root = grow(tmp_path / "r", {"a.py": call, "b.py": call})
    memory.code.index(root)
    (root / "a.py").write_text(call.replace("Loader", "loader"))
    memory.code.index(root)
    assert names(memory, "Symbol") == ["Loader", "loader"]


@on_every_engine
def test_what_a_person_named_is_the_same_in_any_case(memory: Memory, tmp_path: Path) -> None:
    memory.remember("parseconfig is slow", entities=[{"name": "parseconfig", "type": "Function"}])
    root = grow(tmp_path / "r", {"a.py": "def parseConfig():\n    pass\n"})
    memory.code.index(root)
    assert names(memory, "Function") == ["parseconfig"]


@on_every_engine
def test_pruned_and_brought_back_both_are_as_they_were(memory: Memory, tmp_path: Path) -> None:
    root = grow(tmp_path / "r", {"main.go": TWO, "kept.py": "x = 1\n"})
    memory.code.index(root)
    before = (names(memory, "Function"), around(memory, "Get"), around(memory, "get"))
    (root / "main.go").unlink()
    memory.code.index(root)
    receipt = memory.sweep.prune("stale_code", confirm=True, allow_large=True)
    assert names(memory, "Function") == []
    memory.sweep.undo(receipt.id)
    assert (names(memory, "Function"), around(memory, "Get"), around(memory, "get")) == before
