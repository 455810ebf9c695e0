"""Reading our own source: what the house tests share."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "memsweep"


@cache
def modules() -> tuple[Path, ...]:
    return tuple(sorted(SOURCE.rglob("*.py")))


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """Everything that is written in a module."""
    return tuple(ast.walk(ast.parse(path.read_text("utf-8"))))


def named(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


def offences(rule: Callable[[Path], Iterable[str]], paths: Sequence[Path] = ()) -> list[str]:
    """What a rule has to say of each module, as `module: what`."""
    return [f"{named(path)}: {what}" for path in paths or modules() for what in rule(path)]


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in nodes(path):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


@cache
def imports(path: Path) -> frozenset[str]:
    """Full names of everything imported, wherever the import stands, but for type checking only."""
    skipped = {
        inner
        for node in nodes(path)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    kept = [node for node in nodes(path) if node not in skipped]
    plain = {alias.name for node in kept if isinstance(node, ast.Import) for alias in node.names}
    named = {f"{node.module}.{alias.name}" for node in kept if isinstance(node, ast.ImportFrom) for alias in node.names}
    return frozenset(plain | named)
