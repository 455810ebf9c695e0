"""From references to relations: who defines, calls, imports and inherits whom, by name."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from memsweep.code.symbols import HOLDER_KINDS, NAME_LIMIT, THIS_FILE, Relation, RelationKind, Symbol

if TYPE_CHECKING:
    from memsweep.code.extract import Reference
    from memsweep.code.rules import Rules

_KINDS: dict[str, RelationKind] = {
    "_call": "CALLS",
    "_member": "CALLS",
    "_import": "IMPORTS",
    "_base": "INHERITS",
}
_LINKS = re.compile(r"\.|->|::|\?\.")
_NAME = re.compile(r"[\w$!?.:\\-]+\Z")
_TYPE_TAIL = re.compile(r"[<\[({].*", re.DOTALL)
_IMPORT_TAIL = re.compile(r"(?:::)?\{.*|(?<!\s)\s++as\s.*", re.DOTALL)


def relations(data: bytes, symbols: list[Symbol], references: Iterable[Reference], rules: Rules) -> list[Relation]:
    """Each relation once, in the order of the file."""
    found: dict[tuple[str, str, str], Relation] = {}
    for symbol in symbols:
        source = symbols[symbol.parent].qualified_name if symbol.parent >= 0 else THIS_FILE
        key = (source, "DEFINES", symbol.qualified_name)
        if key not in found:
            found[key] = Relation(source, "DEFINES", symbol.qualified_name, True)
    resolver = _Resolver(symbols, rules, frozenset(symbol.qualified_name for symbol in symbols))
    for reference in references:
        text = data[reference.start : reference.end].decode("utf-8", "replace")
        target, local = resolver.target(reference.tag, text, reference.owner)
        kind = _KINDS[reference.tag]
        if not target or (rules.local_calls_only and kind == "CALLS" and not local):
            continue
        source = symbols[reference.owner].qualified_name if reference.owner >= 0 else THIS_FILE
        key = (source, kind, target)
        if key not in found:
            found[key] = Relation(source, kind, target, local)
    return list(found.values())


@dataclass(slots=True)
class _Resolver:
    """Finds the symbol of this file that a name means, where the file alone can tell."""

    symbols: list[Symbol]
    rules: Rules
    names: frozenset[str]
    seen: dict[tuple[str, str, int], tuple[str, bool]] = field(default_factory=dict)

    def target(self, tag: str, text: str, owner: int) -> tuple[str, bool]:
        key = (tag, text, owner)
        if key not in self.seen:
            self.seen[key] = self._target(tag, text, owner)
        return self.seen[key]

    def _target(self, tag: str, text: str, owner: int) -> tuple[str, bool]:
        if tag == "_import":
            return _import_name(text), False
        if tag == "_base":
            name, is_whole = _TYPE_TAIL.sub("", " ".join(text.split())), True
        else:
            name, is_whole = _called_name(text)
        if tag == "_member" or not is_whole or not name:
            return name, False
        # A base class is looked up where the class stands, not inside it.
        scope = self.symbols[owner].parent if tag == "_base" and owner >= 0 else owner
        return self._resolved(name, scope)

    def _resolved(self, name: str, scope: int) -> tuple[str, bool]:
        head, *tail = _LINKS.split(name)
        if tail and head in self.rules.own:
            inside = self._holder(scope)
            member = self.rules.separator.join(tail)
            full = f"{inside}{self.rules.separator}{member}"
            return (full, True) if inside and full in self.names else (member, False)
        while scope >= 0:
            symbol = self.symbols[scope]
            full = f"{symbol.qualified_name}{self.rules.separator}{name}"
            if full in self.names and (self.rules.members_in_scope or symbol.kind not in HOLDER_KINDS):
                return full, True
            scope = symbol.parent
        return name, name in self.names

    def _holder(self, scope: int) -> str:
        while scope >= 0 and self.symbols[scope].kind not in HOLDER_KINDS:
            scope = self.symbols[scope].parent
        return self.symbols[scope].qualified_name if scope >= 0 else ""


def _import_name(text: str) -> str:
    return _IMPORT_TAIL.sub("", text.strip()).strip("\"'<>` \n;")[:NAME_LIMIT]


def _called_name(text: str) -> tuple[str, bool]:
    """`a.b.c` as written, or only the last name of `a().b`, whose beginning is a value and no name."""
    if _NAME.match(text) and len(text) <= NAME_LIMIT:
        return text, True
    links = _LINKS.split(text.rstrip())
    name = _TYPE_TAIL.sub("", links[-1]).strip()
    return (name if _NAME.match(name) and len(name) <= NAME_LIMIT else ""), len(links) == 1
