"""Text and language in, symbols and relations out. Deterministic, and not recursive."""

from __future__ import annotations

import ast
import warnings
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from itertools import accumulate
from typing import TYPE_CHECKING

from memsweep.code.markdown import parse_markdown
from memsweep.code.rules import RULES, Rules
from memsweep.code.symbols import HOLDER_KINDS, Parsed, Symbol

if TYPE_CHECKING:
    import tree_sitter

    from memsweep.code.extract import Extracted, Reference


@dataclass(frozen=True, slots=True)
class Grammar:
    rules: Rules
    language: tree_sitter.Language
    query: tree_sitter.Query

    def parse(self, data: bytes) -> tree_sitter.Tree:
        # A parser keeps state between calls and is not safe to share between threads; making one is cheap.
        import tree_sitter

        return tree_sitter.Parser(self.language).parse(data)

    def captures(self, tree: tree_sitter.Tree) -> dict[str, list[tree_sitter.Node]]:
        import tree_sitter

        return tree_sitter.QueryCursor(self.query).captures(tree.root_node)

    def error_count(self, tree: tree_sitter.Tree) -> int:
        """Return the number of places that the grammar did not understand."""
        import tree_sitter

        if not tree.root_node.has_error:
            return 0
        query = tree_sitter.Query(self.language, "(ERROR) @e (MISSING) @e")
        return len(tree_sitter.QueryCursor(query).captures(tree.root_node).get("e", ())) or 1


@cache
def load_grammar(language: str) -> Grammar:
    """The grammar of a language that has a row in RULES."""
    import tree_sitter

    rules = RULES[language]
    module, _, function = rules.grammar.partition(":")
    loaded = tree_sitter.Language(getattr(import_module(module), function)())
    return Grammar(rules, loaded, tree_sitter.Query(loaded, _query(rules)))


def _query(rules: Rules) -> str:
    lines = [f"({node_type}) @{kind}" for node_type, kind in rules.symbols.items()]
    lines += [f"({node_type}) @_wrap" for node_type in rules.wrappers]
    lines += [f"({node_type}) @_comment" for node_type in rules.comments]
    lines += [f"({node_type}) @_attribute" for node_type in rules.attributes]
    return "\n".join([*lines, rules.patterns])


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
