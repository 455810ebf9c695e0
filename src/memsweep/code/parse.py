"""Text and language in, symbols and relations out. Deterministic, and not recursive."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from memsweep.code.markdown import parse_markdown
from memsweep.code.rules import RULES
from memsweep.code.symbols import Parsed, Symbol

if TYPE_CHECKING:
    from memsweep.code.extract import Extracted


def parse(text: str, language: str) -> Parsed:
    """The symbols of a text whose line ends are `\\n`; a language without a grammar has none.

    A grammar is native code that can hang or crash: untrusted files go through `sandbox`.
    """
    if language == "markdown":
        return parse_markdown(text)
    rules = RULES.get(language)
    if rules is None:
        return Parsed(language)
    parsed, errors = _parse_code(text, language)
    if errors and rules.retry_as:
        other, other_errors = _parse_code(text, rules.retry_as)
        if other_errors < errors:
            return replace(other, language=language)
    return parsed


def has_grammar(language: str) -> bool:
    """Return whether parsing runs native code."""
    return language in RULES


def _parse_code(text: str, language: str) -> tuple[Parsed, int]:
    # Imported here: everything below needs the parsing library, and most commands never parse.
    from memsweep.code.extract import extract
    from memsweep.code.grammars import load_grammar
    from memsweep.code.relations import relations

    grammar = load_grammar(language)
    data = text.encode("utf-8", "surrogatepass")
    tree = grammar.parse(data)
    errors = grammar.error_count(tree)
    found = extract(data, grammar.captures(tree), grammar.rules)
    if errors and language == "python":
        found = _by_ast(data, found)
    links = relations(data, found.symbols, found.references, grammar.rules)
    symbols = found.symbols if text.isascii() else _in_characters(data, found.symbols)
    return Parsed(language, tuple(symbols), tuple(links), had_errors=errors > 0), errors


def _by_ast(data: bytes, found: Extracted) -> Extracted:
    from memsweep.code.python_ast import adopt, symbols_by_ast

    symbols = symbols_by_ast(data)
    return found if symbols is None else replace(found, symbols=symbols, references=adopt(found.references, symbols))


def _in_characters(data: bytes, symbols: list[Symbol]) -> list[Symbol]:
    """Byte offsets as character offsets, in one pass over the text."""
    positions = sorted({position for symbol in symbols for position in (symbol.start, symbol.end)})
    characters: dict[int, int] = {}
    at_byte = at_character = 0
    for position in positions:
        at_character += len(data[at_byte:position].decode("utf-8", "surrogatepass"))
        at_byte = position
        characters[position] = at_character
    return [replace(s, start=characters[s.start], end=characters[s.end]) for s in symbols]
