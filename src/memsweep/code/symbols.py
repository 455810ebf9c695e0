"""The results of parsing one file: symbols, relations between names, and whether the parser stumbled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

RelationKind = Literal["DEFINES", "CALLS", "IMPORTS", "INHERITS"]

THIS_FILE = ""
"""The end of a relation that is the file itself rather than a symbol in it."""

FUNCTION_KINDS = frozenset({"function", "method"})
CLASS_KINDS = frozenset({"class", "interface", "struct", "union", "enum", "trait", "record"})
HOLDER_KINDS = CLASS_KINDS | {"impl"}
"""Kinds whose functions are methods."""

NAME_LIMIT = 200  # a longer name is repeated in every piece of its definition


@dataclass(frozen=True, slots=True)
class Symbol:
    """One definition. Lines count from 1 and include both ends; `text[start:end]` is the definition."""

    kind: str
    name: str
    qualified_name: str
    first_line: int
    """With the decorators, attributes and comment lines directly above."""
    line: int
    """Where the definition itself begins."""
    last_line: int
    start: int
    end: int
    parent: int
    """The index of the enclosing symbol in `Parsed.symbols`, or -1."""


@dataclass(frozen=True, slots=True)
class Relation:
    """A directed edge between names, said once a file."""

    source: str
    """A qualified name of this file, or `THIS_FILE`."""
    relation: RelationKind
    target: str
    local: bool
    """The target is a qualified name of this file; otherwise it is the name as written."""


@dataclass(frozen=True, slots=True)
class Parsed:
    language: str
    symbols: tuple[Symbol, ...] = ()
    relations: tuple[Relation, ...] = ()
    had_errors: bool = False
    """The grammar did not understand a part; what it did understand is still here."""
    failure: str = ""
    """Why the file was taken as plain text although its language has a grammar."""

    @property
    def functions_found(self) -> int:
        return sum(symbol.kind in FUNCTION_KINDS for symbol in self.symbols)

    @property
    def classes_found(self) -> int:
        return sum(symbol.kind in CLASS_KINDS for symbol in self.symbols)
