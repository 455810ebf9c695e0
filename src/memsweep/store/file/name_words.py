"""The words inside of a name, as expressions that SQLite keeps indexes of. Pure text.

Facts are found by how a name begins, and by how it goes on behind its first, second and third word, and by its last
word. Signs that join words in the names of programs count as spaces. A migration has these texts: never change one.
"""

from __future__ import annotations

SIGNS = "-/.:("
_SPACED = "name_key"
for _sign in SIGNS:
    _SPACED = f"replace({_SPACED}, '{_sign}', ' ')"


def _behind_the_first(text: str) -> str:
    """Return SQL for the text behind the first space; empty where there is none."""
    return f"substr({text}, instr({text} || ' ', ' ') + 1)"


_SECOND = _behind_the_first(_SPACED)
_THIRD = _behind_the_first(_SECOND)
_FOURTH = _behind_the_first(_THIRD)
_LAST = f"substr({_SPACED}, length(rtrim({_SPACED}, replace({_SPACED}, ' ', ''))) + 1)"
INSIDE = {"second": _SECOND, "third": _THIRD, "fourth": _FOURTH, "last": _LAST}
INDEXES = "".join(
    f"create index entity_told_by_{place}_word on entity ({text})"
    f" where handed_in = 1 and trash is null and {text} <> '';\n"
    for place, text in INSIDE.items()
)
