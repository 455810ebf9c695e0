"""Make scripts that do not put spaces between words searchable.

The full-text index takes a run of such letters for one word. With every letter set apart, a query for
part of the run is a phrase of letters, and a phrase is found wherever it stands.
"""

from __future__ import annotations

import re
from functools import cache

# Thai, Lao, Burmese, Khmer, the Japanese syllabaries, Han
_LETTERS = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003134f"


@cache
def _pattern(text: str) -> re.Pattern[str]:
    """Made when it is needed: with so many letters it takes longer than most commands search."""
    return re.compile(text.format(letters=_LETTERS))


def spread_script(text: str) -> str:
    """Set every letter of such a script apart."""
    return text if text.isascii() else _pattern("([{letters}])").sub(r" \1 ", text)


def runs_of_script(word: str) -> list[str]:
    """Cut a word where it changes between such a script and another."""
    return [word] if word.isascii() else _pattern("[{letters}]+|[^{letters}]+").findall(word)
