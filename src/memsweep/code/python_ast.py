"""Python's own parser, for the rare file that it understands and the grammar does not."""

from __future__ import annotations

import ast
import warnings
from itertools import accumulate
from typing import TYPE_CHECKING

from memsweep.code.symbols import HOLDER_KINDS, Symbol

if TYPE_CHECKING:
    from memsweep.code.extract import Reference

_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def symbols_by_ast(data: bytes) -> list[Symbol] | None:
    """Every function and class with byte offsets, or None for what is no Python of this version."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # Text, not bytes: a coding line speaks of the file on disk, not of this copy.
            tree = ast.parse(data.decode("utf-8", "surrogatepass"))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    starts = [0, *accumulate(len(line) + 1 for line in data.split(b"\n"))]
    nodes = [node for node in ast.walk(tree) if isinstance(node, _Definition)]
    found = sorted((*_span(node, starts), index) for index, node in enumerate(nodes))
    symbols: list[Symbol] = []
    open_symbols: list[int] = []
    for start, minus_end, index in found:
        while open_symbols and symbols[open_symbols[-1]].end <= start:
            open_symbols.pop()
        owner = open_symbols[-1] if open_symbols else -1
        open_symbols.append(len(symbols))
        symbols.append(_symbol(data, nodes[index], symbols, owner, (start, -minus_end)))
    return symbols


def adopt(references: list[Reference], symbols: list[Symbol]) -> list[Reference]:
    """The same references, each owned by the innermost of these symbols around it."""
    adopted: list[Reference] = []
    open_symbols: list[int] = []
    upcoming = 0
    for reference in sorted(references, key=lambda each: each.start):
        while upcoming < len(symbols) and symbols[upcoming].start <= reference.start:
            open_symbols.append(upcoming)
            upcoming += 1
        while open_symbols and symbols[open_symbols[-1]].end <= reference.start:
            open_symbols.pop()
        adopted.append(reference._replace(owner=open_symbols[-1] if open_symbols else -1))
    return adopted


def _symbol(data: bytes, node: _Definition, symbols: list[Symbol], owner: int, span: tuple[int, int]) -> Symbol:
    parent = symbols[owner] if owner >= 0 else None
    in_holder = parent is not None and parent.kind in HOLDER_KINDS
    is_class = isinstance(node, ast.ClassDef)
    return Symbol(
        kind="class" if is_class else "method" if in_holder else "function",
        name=node.name,
        qualified_name=f"{parent.qualified_name}.{node.name}" if parent else node.name,
        first_line=min([node.lineno, *(each.lineno for each in node.decorator_list)]),
        line=node.lineno,
        last_line=_end_line(node),
        start=span[0],
        end=span[1],
        parent=owner,
    )


def _span(node: _Definition, starts: list[int]) -> tuple[int, int]:
    """Return its start, and minus its end: sorts outer before inner."""
    return starts[node.lineno - 1] + node.col_offset, -(starts[_end_line(node) - 1] + (node.end_col_offset or 0))


def _end_line(node: _Definition) -> int:
    return node.end_lineno or node.lineno
