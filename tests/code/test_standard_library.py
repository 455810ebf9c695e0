"""Complete: what Python's own parser finds in the standard library, this one finds too."""

import ast
import os
import sysconfig
import warnings
from pathlib import Path

import pytest

from memsweep.code.index import decode
from memsweep.code.parse import parse
from tests.support.counts import TIMES

LIBRARY = Path(sysconfig.get_paths()["stdlib"])
SKIPPED = {"site-packages", "__pycache__"}
TESTS = {"test", "tests", "idle_test"}
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def library_files(*, tests: bool) -> list[Path]:
    found = []
    for folder, folders, files in os.walk(LIBRARY):
        folders[:] = sorted(set(folders) - SKIPPED - (set() if tests else TESTS))
        found += [Path(folder, name) for name in sorted(files) if name.endswith(".py")]
    return found


def by_ast(data: bytes) -> list[tuple[str, str, int]] | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return sorted(
        ("class" if isinstance(node, ast.ClassDef) else "function", node.name, node.lineno)
        for node in ast.walk(tree)
        if isinstance(node, DEFINITIONS)
    )


def by_us(data: bytes) -> list[tuple[str, str, int]]:
    decoded = decode(data)
    assert decoded is not None
    found = parse(decoded.text, "python").symbols
    return sorted(("class" if each.kind == "class" else "function", each.name, each.line) for each in found)


def disagreements(files: list[Path]) -> list[str]:
    wrong = []
    for path in files:
        data = path.read_bytes()
        expected = by_ast(data)
        if expected is not None and by_us(data) != expected:
            wrong.append(str(path.relative_to(LIBRARY)))
    return wrong


@pytest.mark.slow
@pytest.mark.soak
def test_every_function_and_class_of_the_standard_library_is_found():
    files = library_files(tests=False)
    assert len(files) > 400
    assert disagreements(files if TIMES > 1 else files[::8]) == []


@pytest.mark.slow
@pytest.mark.soak
def test_every_function_and_class_of_its_tests_is_found_too():
    files = library_files(tests=True)
    assert disagreements(files if TIMES > 1 else files[::24]) == []
