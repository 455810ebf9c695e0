"""Loads a grammar and compiles its query, once, when the first file of its language is parsed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from memsweep.code.rules import RULES, Rules

if TYPE_CHECKING:
    import tree_sitter


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
