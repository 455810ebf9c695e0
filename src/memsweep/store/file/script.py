"""Make scripts that do not put spaces between words searchable.

The full-text index takes a run of such letters for one word. With every letter set apart, a query for
part of the run is a phrase of letters, and a phrase is found wherever it stands.
"""

from __future__ import annotations


def spread_script(text: str) -> str:
    """Set every letter of such a script apart."""
    if text.isascii():
        return text
    from memsweep.store.file.unspaced import LETTER  # late: a search in plain letters ends before it is made

    return LETTER.sub(r" \1 ", text)


def runs_of_script(word: str) -> list[str]:
    """Cut a word where it changes between such a script and another."""
    if word.isascii():
        return [word]
    from memsweep.store.file.unspaced import RUN

    return RUN.findall(word)
