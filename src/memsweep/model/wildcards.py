"""Wildcards as regular expressions that never try a way twice. Pure.

`*a*a*a*b` written with plain stars takes time by the power of its stars. Here a star takes the shortest stretch after
which what follows it matches, and keeps it (an atomic group): a later place could only leave less for the stars behind
it. Only the last stretch, which has to reach the end, is free to move.
"""

from __future__ import annotations

from collections.abc import Iterable

IN_NAME = "[^/]*"
"""Any letters within one name of a path."""
FOLDERS = "(?:[^/]*+/)*"
"""Any number of whole folders."""
ANYTHING = r"[\s\S]*"


def expression(tokens: Iterable[str]) -> str:
    """The expression for one of the three above or, for all others, something of a fixed length; for `fullmatch`."""
    blocks: list[list[list[str]]] = [[[]]]  # between folders or anything, between stars in a name, tokens
    wide: list[str] = []
    for token in tokens:
        if token in (FOLDERS, ANYTHING):
            wide.append(token)
            blocks.append([[]])
        elif token == IN_NAME:
            blocks[-1].append([])
        else:
            blocks[-1][-1].append(token)
    first, *others = (_block(block, is_last=number == len(wide)) for number, block in enumerate(blocks))
    inner = "".join(f"(?>{gap}?{block})" for gap, block in zip(wide[:-1], others[:-1], strict=True))
    return first + inner + (f"{wide[-1]}?{others[-1]}" if wide else "")


def _block(parts: list[list[str]], *, is_last: bool) -> str:
    first, *others = ("".join(part) for part in parts)
    if not others:
        return first
    free = IN_NAME + others.pop() if is_last else ""
    return first + "".join(f"(?>{IN_NAME}?{part})" for part in others) + free


def letter_set(members: str) -> str:
    """`[…]` of literal letters and ranges; `^` first negates, a range that runs backwards is its first letter."""
    negated = members.startswith("^")
    letters, at = members[negated:], 0
    parts = ""
    while at < len(letters):
        is_range = letters[at + 1 : at + 2] == "-" and at + 2 < len(letters)
        last = letters[at + 2] if is_range and letters[at] <= letters[at + 2] else letters[at]
        parts += f"\\U{ord(letters[at]):08x}-\\U{ord(last):08x}"
        at += 3 if is_range else 1
    if not parts:
        return r"[\s\S]" if negated else "(?!)"
    return f"[{'^' if negated else ''}{parts}]"
