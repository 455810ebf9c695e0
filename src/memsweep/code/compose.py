"""A parsed file as the store keeps it: pieces, definitions, and what they say of each other. Pure."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence

from memsweep.code.chunk import Chunk, chunk
from memsweep.code.symbols import THIS_FILE, Parsed, Relation
from memsweep.model.code import CodeLink, CodeSymbol
from memsweep.model.memory import NamedThing

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
