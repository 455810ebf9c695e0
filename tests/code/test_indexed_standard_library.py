"""Complete through the product: what an index run counts is what Python's own parser finds."""

import ast
import warnings
from pathlib import Path

import pytest

from tests.code.indexed_workspace import IndexedWorkspace
from tests.code.test_standard_library import LIBRARY
from tests.support.counts import THOROUGH

PACKAGES = ("asyncio", "collections", "email", "http", "importlib", "json", "logging", "sqlite3", "unittest", "xml")


def counted_by_ast(place: Path) -> tuple[int, int] | None:
    """Functions and classes, or None where Python itself cannot parse the file."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            nodes = list(ast.walk(ast.parse(place.read_bytes())))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    functions = sum(isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) for node in nodes)
    return functions, sum(isinstance(node, ast.ClassDef) for node in nodes)


def check(workspace: IndexedWorkspace, root: Path) -> int:
    result = workspace.index(root, languages=["python"], max_file_size=10_000_000)
    assert (result.files_unreadable, result.warnings) == (0, ())
    files = workspace.live(root)
    counts = {path: tuple(file.content["counts"][1:3]) for path, file in files.items()}
    assert (result.functions_found, result.classes_found) == tuple(map(sum, zip(*counts.values(), strict=True)))
    expected = {path: counted_by_ast(root / path) for path in files}
    assert {path: counts[path] for path in files if expected[path]} == {p: n for p, n in expected.items() if n}
    assert all("".join(chunk[0] for chunk in file.content["chunks"]) == file.content["text"] for file in files.values())
    return len(files)


@pytest.mark.slow
def test_packages_of_the_standard_library_are_counted_as_python_counts_them(workspace: IndexedWorkspace) -> None:
    assert sum(check(workspace, LIBRARY / package) for package in PACKAGES) > 100


@pytest.mark.soak
@pytest.mark.skipif(not THOROUGH, reason="some minutes")
def test_the_whole_standard_library_with_its_tests_is_counted_as_python_counts_it(workspace: IndexedWorkspace) -> None:
    assert check(workspace, LIBRARY) > 1000
