"""Inputs that grow: texts full of one thing, and how the time of a call grows with them."""

import time
from collections.abc import Callable

from tests.support.counts import THOROUGH, some_of

Make = Callable[[int], Callable[[], object]]
"""For a size: everything that is prepared, and the call that is timed."""

_FULL_OF = [
    "word ",
    "Alpha ",
    "Alpha Beta ",
    "\n",
    "ab\n",
    "- ",
    ",",
    "a.",
    ". ",
    "It. ",
    "(",
    "()",
    "{",
    "{}",
    "[",
    "[],",
    '"',
    '"a":',
    '\\"',
    "\\",
    "'",
    "`",
    "```\n",
    "<",
    "<a>",
    "</a>",
    "<!--",
    "http://a.b/c ",
    "é",
    "e\u0301",
    "\u0301",
    "\u200b",
    "中",
    "\U0001f468\u200d",
    "1",
    "1 ",
    "key=",
    "key = 'b'\n",
    "password is x ",
    '"password":"x",',
    "import a\n",
    "def f():\n ",
    "# h\n",
    "A -[R]-> B\n",
    "A (T) -[R]-> B (T)\n",
    "Alpha uses Beta. ",
    "|a|b",
    "Aa0",
    "@a ",
    "/a",
    "a/b/c ",
    "../",
    "*a",
    " ",
    "\t",
    "a:\n ",
    "A_b ",
    "CamelCase",
    "a-b",
    "eyJ",
    "-----BEGIN ",
    "<system-reminder>",
    "AAA=bbb\n",
    "${a}",
    "%41",
    "&amp;",
    "not ",
    "a <b>::",
    ". no, actually ",
    "\u0301\u0316",
    "```a\n~~~\n",
]
EVERYTHING = tuple(_FULL_OF)
DISTINCT = "words that differ"
FULL_OF = [DISTINCT, *some_of(_FULL_OF, 12, thorough=THOROUGH)]
_SUSPICIOUS = 0.03  # seconds of processor time
_TOO_FAST, _BEFORE = 9.0, 5.0  # n log n is below 6 for four times as much, n² is 16


def text_of(kind: str, size: int, seed: int) -> str:
    """A text that no other seed gives."""
    if kind != DISTINCT:
        return (f"n{seed} " + kind * (size // len(kind)))[:size]
    words, length = [f"n{seed}"], 0
    while length < size:
        words.append(f"w{seed:x}q{len(words):x}")
        length += len(words[-1]) + 1
    return " ".join(words)[:size]


def grows(make: Make, size: int) -> str:
    """What is wrong with the time that a call takes for a growing input; nothing if it grows as n log n or less.

    Twice four times as much, since a limit that is reached in between is one step and not growth.
    """
    took = _seconds(make, size)
    if took < _SUSPICIOUS:
        return ""
    for _ in range(3):  # another process may have been in the way
        quarter = _seconds(make, size // 4)
        ratio, before = took / max(quarter, 1e-4), quarter / max(_seconds(make, size // 16), 1e-4)
        if ratio < _TOO_FAST or before < _BEFORE:
            return ""
        took = _seconds(make, size)
    return f"{size:,} take {ratio:.0f} times as long as {size // 4:,} ({took:.2f} s), before {before:.0f} times"


def _seconds(make: Make, size: int) -> float:
    call = make(size)
    start = time.process_time()
    call()
    return time.process_time() - start
