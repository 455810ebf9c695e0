"""Tests look through the doors: which of them open a database file, or speak to it in SQL, and why."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.house.tree import ROOT, imports, nodes

TESTS = ROOT / "tests"

FOLDERS = {
    "care": "damage, repairs, backups and what somebody has changed in them",
    "falkor": "the rows of one engine against those of the other",
    "faults": "whether a file is whole after a crash, a lost disk or a power cut",
    "store": "the engines: files of every version, locks, query plans",
    "support": "what all other tests need of a file, each under a name",
}
FILES = {
    "code/indexed_workspace.py": "compares an index, byte for byte, with one that was made anew",
    "context/windows.py": "what must hold in the tables of a window",
    "collector/killed_at_each_step.py": "every row after a process was killed",
    "collector/oracle.py": "judges the collector by the rows, without its help",
    "collector/stores.py": "writes the stores of the collector's tests: ages, weights, strays that no operation makes",
    "collector/test_changes.py": "changes between a plan and its apply that no single operation makes",
    "collector/test_wiping.py": "a disk that refuses, as SQLite reports it",
    "graph/test_reads_before_writes.py": "watches a transaction",
    "house/test_patterns.py": "asks SQLite itself what a pattern means, in memory",
    "workspaces/killed_at_each_step.py": "every row after a process was killed",
    "workspaces/test_audited.py": "what a process that died has left in the registry",
    "workspaces/test_old_homes.py": "homes of earlier versions",
}
LIBRARIES = {"apsw", "sqlite3"}
OPENING = {"open_file", "into", "query", "count"}
PRIVATE = {"_pool", "_graph", "execute", "executemany"}
STATEMENT = re.compile(
    r"\s*(select\s.*\sfrom|insert\s+(or\s+\w+\s+)?into|update\s+\w+\s+set|delete\s+from|pragma\s+\w+|begin\s+immediate)\b",
    re.DOTALL,
)


def test_only_tests_about_files_open_them() -> None:
    found = {path.relative_to(TESTS).as_posix(): signs for path in TESTS.rglob("*.py") if (signs := [*_opening(path)])}
    others = {name: signs for name, signs in found.items() if name.split("/")[0] not in FOLDERS}
    assert {name: signs for name, signs in others.items() if name not in FILES} == {}, (
        "Ask the library (tests/support/contents.py), or give what you need of the file a name in"
        " tests/support/store_files.py."
    )
    assert FILES.keys() - others.keys() == set(), "they no longer do"


def _opening(path: Path) -> Iterator[str]:
    """What says that a module opens a database or speaks SQL."""
    known = imports(path)
    yield from sorted({name.split(".")[0] for name in known} & LIBRARIES)
    yield from (name for name in known if name.removeprefix("tests.support.store_files.") in OPENING)
    for node in nodes(path):
        if isinstance(node, ast.Attribute):
            of_files = isinstance(node.value, ast.Name) and node.value.id == "store_files" and node.attr in OPENING
            if of_files or node.attr in PRIVATE:
                yield f"line {node.lineno}: {node.attr}"
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and STATEMENT.match(node.value):
            yield f"line {node.lineno}: {node.value.strip()[:50]}"
