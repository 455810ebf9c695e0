"""From the captures of a query to symbols: nesting, names, places.

Everything is keyed by byte position: a node object is made anew for each look at it, so that its
`id()` says nothing.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from memsweep.code.symbols import HOLDER_KINDS, NAME_LIMIT, Symbol

if TYPE_CHECKING:
    from tree_sitter import Node

    from memsweep.code.rules import Rules

INDENT_LIMIT = 400
_REFERENCES = frozenset({"_call", "_member", "_import", "_base"})
_RANKS = {"_wrap": 0, "type": 2} | dict.fromkeys(_REFERENCES, 3)
_ARGUMENTS_END = re.compile(r">(?=::)")
_PARENTHESIS = re.compile(r"[()]")
_RECEIVER = re.compile(r"(?<!\w)(\w++)\s*+(?:\[[^\[\]]*+\])?+\s*+\)$")


# (start, -end, rank, tag, index, node): sorts into document order, outer before inner; the index keeps
# nodes from being compared. A plain tuple, because a file has thousands.
Event = tuple[int, int, int, str, int, "Node"]


class Reference(NamedTuple):
    tag: str
    owner: int
    start: int
    end: int
    node: Node


@dataclass(frozen=True, slots=True)
class Extracted:
    symbols: list[Symbol]
    references: list[Reference]


def extract(data: bytes, captures: dict[str, list[Node]], rules: Rules) -> Extracted:
    """Symbols in document order, and the references with the symbol that each stands in."""
    above = _lines_above(data, captures)
    symbols: list[Symbol] = []
    references: list[Reference] = []
    open_symbols: list[tuple[int, int]] = []  # (end byte, index), innermost last
    wrap: Node | None = None
    last_range = (-1, -1)
    for start, minus_end, rank, tag, _, node in sorted(_events(captures)):
        end = -minus_end
        while open_symbols and open_symbols[-1][0] <= start:
            open_symbols.pop()
        owner = open_symbols[-1][1] if open_symbols else -1
        if rank == 3:
            references.append(Reference(tag, owner, start, end, node))
        elif tag == "_wrap":
            wrap = wrap if wrap is not None and _fits(wrap, end) else node
        elif (start, end) != last_range:
            last_range = (start, end)
            outer = wrap if wrap is not None and _fits(wrap, end) else None
            parent = symbols[owner] if owner >= 0 else None
            symbol = _symbol(data, tag, node, outer, parent, owner, above, rules)
            wrap = None
            if symbol is not None:
                open_symbols.append((end, len(symbols)))
                symbols.append(symbol)
    return Extracted(symbols, references)


def _events(captures: dict[str, list[Node]]) -> list[Event]:
    events: list[Event] = []
    for tag, nodes in captures.items():
        if tag[0] == "_" and tag not in _RANKS:
            continue
        rank = _RANKS.get(tag, 1)
        for node in nodes:
            events.append((node.start_byte, -node.end_byte, rank, tag, len(events), node))
    return events


def _fits(wrap: Node, end: int) -> bool:
    # One byte of slack: `const f = () => 1;` ends with a semicolon that the function does not have.
    return 0 <= wrap.end_byte - end <= 1


def _symbol(
    data: bytes,
    kind: str,
    node: Node,
    wrap: Node | None,
    parent: Symbol | None,
    owner: int,
    above: dict[int, int],
    rules: Rules,
) -> Symbol | None:
    path = _name(data, node, rules)
    if not path:
        return None
    first_row = _first_row(data, wrap or node, above)
    end_row, end_column = node.end_point
    in_holder = parent is not None and parent.kind in HOLDER_KINDS
    return Symbol(
        kind="method" if kind == "function" and in_holder else kind,
        name=path.rpartition(rules.separator)[2],
        qualified_name=f"{parent.qualified_name}{rules.separator}{path}" if parent else path,
        first_line=first_row + 1,
        line=node.start_point[0] + 1,
        # A node that swallows its line end stops in column 0 of the next line, which is not its own.
        last_line=end_row + 1 if end_column else end_row,
        start=node.start_byte,
        end=node.end_byte,
        parent=owner,
    )


def _name(data: bytes, node: Node, rules: Rules) -> str:
    for field in rules.name_fields:
        child = node.child_by_field_name(field)
        if child is not None:
            found = _declared(child) if field == "declarator" else child
            name = _plain(_text(data, found), rules)
            return _owner(data, node, rules) + name if rules.owner_field else name
    return ""


def _declared(node: Node) -> Node:
    """C hides the name in the middle: `int (*getter(void))(int)` declares `getter`."""
    while True:
        inner = node.child_by_field_name("declarator")
        if inner is None and node.type in ("parenthesized_declarator", "reference_declarator"):
            inner = node.named_child(0)
        if inner is None:
            return node
        node = inner


def _plain(name: str, rules: Rules) -> str:
    if name.isidentifier():
        return name[:NAME_LIMIT]
    name = _without_type_arguments(" ".join(name.split()))
    # `a[0].b = function` names b; the rest is an expression and no name.
    is_expression = rules.separator == "." and any(c in name for c in "[(")
    return (name.rpartition(".")[2] if is_expression else name)[:NAME_LIMIT]


def _without_type_arguments(name: str) -> str:
    """`Map<K, V>::get` is `Map::get`, and `Map<K, V>` at the end is `Map`; what has parentheses is left."""
    ends = [found.start() for found in _ARGUMENTS_END.finditer(name)]
    parentheses = [found.start() for found in _PARENTHESIS.finditer(name)]
    kept: list[str] = []
    at, start = 0, name.find("<")
    while start >= 0:
        barrier = _first_behind(parentheses, start, len(name))
        end = _first_behind(ends, start, len(name))
        if end > barrier or end == len(name):
            is_last = barrier == len(name) and name.endswith(">") and start < len(name) - 1
            end = len(name) - 1 if is_last and not name.endswith(("operator", "operator<"), 0, start) else -1
        if end >= 0:
            kept.append(name[at:start])
            at = end + 1
        start = name.find("<", max(at, start + 1))
    return "".join(kept) + name[at:]


def _first_behind(places: list[int], start: int, otherwise: int) -> int:
    index = bisect_right(places, start)
    return places[index] if index < len(places) else otherwise


def _owner(data: bytes, node: Node, rules: Rules) -> str:
    receiver = node.child_by_field_name(rules.owner_field)
    if receiver is None:
        return ""
    found = _RECEIVER.search(_text(data, receiver))
    return found[1] + rules.separator if found else ""


def _lines_above(data: bytes, captures: dict[str, list[Node]]) -> dict[int, int]:
    """Last row → first row of everything that may stand above a definition: comments and attributes.

    A comment behind code on its line does not count.
    """
    above: dict[int, int] = {}
    for tag in ("_comment", "_attribute"):
        for node in captures.get(tag, ()):
            row, column = node.start_point
            start = node.start_byte
            if not _begins_line(data, start, column):
                continue
            end_row, end_column = node.end_point
            above[end_row if end_column else end_row - 1] = row
    return above


def _first_row(data: bytes, node: Node, above: dict[int, int]) -> int:
    """Return the first row of a definition, with the comments and attributes that stand above it."""
    row, column = node.start_point
    if not _begins_line(data, node.start_byte, column):
        return row
    while (found := above.get(row - 1)) is not None:
        row = found
    return row


def _text(data: bytes, node: Node) -> str:
    return data[node.start_byte : node.end_byte].decode("utf-8", "replace")


def _begins_line(data: bytes, start: int, column: int) -> bool:
    # Nobody indents by so much; without a limit, one long line full of comments would be copied for each.
    return column <= INDENT_LIMIT and not data[start - column : start].strip()
