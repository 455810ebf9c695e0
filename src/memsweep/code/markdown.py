"""Markdown by heading: every heading is a section that reaches to the next one of its rank."""

from __future__ import annotations

import re
from dataclasses import dataclass

from memsweep.code.symbols import NAME_LIMIT, Parsed, Relation, Symbol

_ATX = re.compile(r" {0,3}(#{1,6})(?=[ \t]|\Z)")
_SETEXT = re.compile(r" {0,3}(=+|-+)[ \t]*\Z")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_NO_SETEXT = re.compile(r"\s*(?:$|[#>|]|[-*+]\s|\d+[.)]\s|```|~~~)")
SEPARATOR = " > "


@dataclass(frozen=True, slots=True)
class _Heading:
    row: int
    rank: int
    title: str


def parse_markdown(text: str) -> Parsed:
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    headings = _headings(lines)
    last_row = len(lines) - 1 if lines[-1] or len(lines) == 1 else len(lines) - 2
    afters = _rows_after(headings, last_row + 1)
    symbols: list[Symbol] = []
    open_sections: list[tuple[int, int]] = []  # (rank, index)
    for index, (heading, after) in enumerate(zip(headings, afters, strict=True)):
        while open_sections and open_sections[-1][0] >= heading.rank:
            open_sections.pop()
        parent = open_sections[-1][1] if open_sections else -1
        prefix = symbols[parent].qualified_name + SEPARATOR if parent >= 0 else ""
        symbols.append(
            Symbol(
                kind="section",
                name=heading.title,
                qualified_name=prefix + heading.title,
                first_line=heading.row + 1,
                line=heading.row + 1,
                last_line=after,
                start=starts[heading.row],
                end=min(starts[after], len(text)),
                parent=parent,
            )
        )
        open_sections.append((heading.rank, index))
    return Parsed("markdown", tuple(symbols), _defines(symbols))


def _headings(lines: list[str]) -> list[_Heading]:
    headings: list[_Heading] = []
    fence = ""
    for row, line in enumerate(lines):
        mark = _FENCE.match(line)
        if fence:
            # A fence closes with at least as many of the same mark, and nothing behind them.
            if mark and mark[1].startswith(fence) and not line.strip(" \t" + fence[0]):
                fence = ""
        elif mark:
            fence = mark[1]
        elif found := _ATX.match(line):
            headings.append(_Heading(row, len(found[1]), _title(line[found.end() :])))
        elif row and (under := _SETEXT.match(line)) and not _NO_SETEXT.match(lines[row - 1]):
            headings.append(_Heading(row - 1, 1 if under[1][0] == "=" else 2, lines[row - 1].strip()[:NAME_LIMIT]))
    return headings


def _rows_after(headings: list[_Heading], end: int) -> list[int]:
    """For each section the row behind its last one: that of the next heading of its rank or above."""
    rows = [end] * len(headings)
    waiting: list[int] = []
    for index, heading in enumerate(headings):
        while waiting and headings[waiting[-1]].rank >= heading.rank:
            rows[waiting.pop()] = heading.row
        waiting.append(index)
    return rows


def _title(rest: str) -> str:
    """Without the closing marks, which need a space before them (`# C#` keeps its own)."""
    title = rest.strip(" \t")
    opened = title.rstrip("#")
    if opened != title and (not opened or opened[-1] in " \t"):
        title = opened.rstrip(" \t")
    return title[:NAME_LIMIT] or "(untitled)"


def _defines(symbols: list[Symbol]) -> tuple[Relation, ...]:
    found: dict[tuple[str, str], Relation] = {}
    for symbol in symbols:
        source = symbols[symbol.parent].qualified_name if symbol.parent >= 0 else ""
        key = (source, symbol.qualified_name)
        found.setdefault(key, Relation(source, "DEFINES", symbol.qualified_name, True))
    return tuple(found.values())
