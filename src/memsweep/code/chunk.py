"""Text and symbols in, pieces for search out.

Every line belongs to exactly one piece, and the pieces put together are the text. A function is one
piece, a class is one without its methods, a section one without its subsections, and what is left
between them is grouped. Where a piece is cut depends only on its own text, so an edit in one function
changes the pieces of that function and no others.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import xxhash

from memsweep.code.symbols import FUNCTION_KINDS, THIS_FILE, Parsed, Relation, Symbol
from memsweep.model.code import CodeLink, CodeSymbol
from memsweep.model.memory import NamedThing

_NO_SYMBOL = -1


@dataclass(frozen=True, slots=True)
class Chunk:
    text: str
    """As in the file, line ends included."""
    first_line: int
    last_line: int
    symbol: str
    """A qualified name, or "" for what belongs to the file itself."""
    kind: str
    content_hash: str
    """Of the text without blank lines around it: the identity of a piece that did not change."""


def chunk(text: str, parsed: Parsed, *, limit: int, count: Callable[[str], int]) -> tuple[Chunk, ...]:
    """Pieces of at most `limit` as `count` counts them; an empty text has none."""
    if not text:
        return ()
    lines = text.split("\n")
    lines = [line + "\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    owners = _owners(lines, parsed.symbols, limit, count)
    return tuple(
        _made(piece, first, parsed.symbols, owner)
        for owner, start, end in _runs(lines, owners)
        for piece, first in _split(lines[start:end], start, limit, count)
    )


def _made(text: str, first: int, symbols: tuple[Symbol, ...], owner: int) -> Chunk:
    ends = text.count("\n") - text.endswith("\n")
    symbol = symbols[owner] if owner >= 0 else None
    return Chunk(
        text=text,
        first_line=first + 1,
        last_line=first + 1 + max(ends, 0),
        symbol=symbol.qualified_name if symbol else "",
        kind=symbol.kind if symbol else "",
        content_hash=xxhash.xxh3_128_hexdigest(text.strip("\n").encode("utf-8", "surrogatepass")),
    )


def _owners(lines: list[str], symbols: tuple[Symbol, ...], limit: int, count: Callable[[str], int]) -> list[int]:
    """For each line, the symbol whose piece it goes to."""
    owners = [_NO_SYMBOL] * len(lines)
    whole: set[int] = set()  # symbols that swallow what is nested in them
    for index, symbol in enumerate(symbols):
        if symbol.parent in whole:
            whole.add(index)
            continue
        start, end = symbol.first_line - 1, min(symbol.last_line, len(lines))
        owners[start:end] = [index] * (end - start)
        if symbol.kind in FUNCTION_KINDS and count("".join(lines[start:end])) <= limit:
            whole.add(index)
    return owners


def _runs(lines: list[str], owners: list[int]) -> list[tuple[int, int, int]]:
    """(owner, start, end) of neighbouring lines with one owner.

    Blank lines and closing brackets make no piece of their own: they join the one before, or the first.
    """
    runs: list[tuple[int, int, int]] = []
    start = 0
    for at in range(1, len(lines) + 1):
        if at < len(lines) and owners[at] == owners[start]:
            continue
        if runs and (runs[-1][0] == owners[start] or _is_silent(lines[start:at])):
            runs[-1] = (runs[-1][0], runs[-1][1], at)
        elif runs:
            content = next(row for row in range(start, at) if lines[row].strip())
            runs[-1] = (runs[-1][0], runs[-1][1], content)
            runs.append((owners[start], content, at))
        elif at == len(lines) or not _is_silent(lines[start:at]):
            runs.append((owners[start], 0, at))
        start = at
    return runs


def _is_silent(lines: list[str]) -> bool:
    return not any(letter.isalnum() for line in lines for letter in line)


def _split(lines: list[str], first: int, limit: int, count: Callable[[str], int]) -> Iterator[tuple[str, int]]:
    """Pieces under the limit with the row each begins in."""
    text = "".join(lines)
    if count(text.strip("\n")) <= limit:
        yield text, first
        return
    sizes = [count(line) for line in lines]
    start = 0
    while start < len(lines):
        if sizes[start] > limit:
            yield from ((part, first + start) for part in _split_line(lines[start], limit, count))
            start += 1
            continue
        end = _cut(lines, sizes, start, limit)
        yield "".join(lines[start:end]), first + start
        start = end


def _cut(lines: list[str], sizes: list[int], start: int, limit: int) -> int:
    """Return the end of the piece that begins at `start`: at a good place in the second half of the limit.

    Good is the start of a paragraph, then a line that is little indented; among equals the text of the
    line decides, not how many there are before it, so that cuts fall into step again behind an edit.
    """
    total = sizes[start]
    end = start + 1
    candidates: list[int] = []
    while end < len(lines) and total + sizes[end] <= limit:
        if 2 * total >= limit:
            candidates.append(end)
        total += sizes[end]
        end += 1
    if end == len(lines):
        return end
    return min((*candidates, end), key=lambda at: _reluctance(lines, at))


def _reluctance(lines: list[str], at: int) -> tuple[bool, int, int]:
    line = lines[at]
    inside_paragraph = bool(lines[at - 1].strip()) or not line.strip()
    indent = len(line) - len(line.lstrip())
    return inside_paragraph, indent, xxhash.xxh32_intdigest(line.encode("utf-8", "surrogatepass"))


def _split_line(line: str, limit: int, count: Callable[[str], int]) -> Iterator[str]:
    """A line that is too long for one piece, by halves; a single letter is never cut."""
    waiting = [line]
    while waiting:
        part = waiting.pop()
        if count(part) <= limit or len(part) < 2:
            yield part
        else:
            middle = len(part) // 2
            waiting += [part[middle:], part[:middle]]


_BYTES_A_TOKEN = 3  # source code, by the bundled tokeniser; counting exactly would cost more than parsing
_MOST_WORDS = 400
_WORD_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def pieces(text: str, parsed: Parsed, tokens: int) -> tuple[Chunk, ...]:
    return chunk(text, parsed, limit=tokens, count=_count)


def words_of(path: str, symbol: str, names: Iterable[str] = ()) -> str:
    """Return the further words of a piece for search: those inside the names of its file, of itself and of others.

    So `parse config` finds `parseConfig`, `queryset` finds `query_set`, and both find what is in `query_set.py`.
    """
    folders, _, file = path.rpartition("/")
    said: dict[str, None] = {}
    for name in (*folders.split("/"), file.partition(".")[0] or file, *symbol.split("."), *names):
        parts = _WORD_PARTS.findall(name)
        said |= dict.fromkeys([*(part.lower() for part in parts), "".join(parts).lower()])
    return " ".join(list(said)[:_MOST_WORDS]).strip()


def names_in(parsed: Parsed) -> list[str]:
    """Return the names that a file defines; its first piece is found by all of them."""
    return [symbol.name for symbol in parsed.symbols]


def symbols_of(path: str, parsed: Parsed, chunks: Sequence[Chunk]) -> tuple[CodeSymbol, ...]:
    """Definitions, and the file itself where it states something: what no piece mentions counts as garbage."""
    first_lines = [piece.first_line for piece in chunks]
    states = bool(path.strip()) and any(relation.source == THIS_FILE for relation in parsed.relations)
    return (CodeSymbol(_file(path), 0),) * states + tuple(
        CodeSymbol(
            _thing(symbol.qualified_name, symbol.kind),
            bisect_right(first_lines, symbol.line) - 1,
        )
        for symbol in parsed.symbols
        if symbol.qualified_name.strip()
    )


def links_of(path: str, parsed: Parsed) -> tuple[CodeLink, ...]:
    kinds = {symbol.qualified_name: symbol.kind for symbol in parsed.symbols}
    made: dict[tuple[NamedThing, str, NamedThing], None] = {}
    for relation in parsed.relations:
        subject = _thing(relation.source, kinds.get(relation.source, "symbol"))
        if relation.source == THIS_FILE:
            subject = _file(path)
        target = _target(relation, kinds)
        if subject.name.strip() and target.name.strip():
            made[subject, relation.relation, target] = None
    return tuple(CodeLink(*link) for link in made)


def _target(relation: Relation, kinds: dict[str, str]) -> NamedThing:
    if relation.local:
        return _thing(relation.target, kinds.get(relation.target, "symbol"))
    return NamedThing(relation.target, "Module" if relation.relation == "IMPORTS" else "Symbol")


def _file(path: str) -> NamedThing:
    return NamedThing(path, "File")


def _thing(name: str, kind: str) -> NamedThing:
    return NamedThing(name, kind.capitalize())


def _count(text: str) -> int:
    return (len(text.encode("utf-8", "surrogatepass")) + _BYTES_A_TOKEN - 1) // _BYTES_A_TOKEN
