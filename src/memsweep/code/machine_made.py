"""Whether a text was made by a machine for a machine: minified bundles, and the maps that belong to them."""

from __future__ import annotations

_MINIFIED = ("js", "mjs", "cjs", "css", "html", "svg")
_ENDINGS = (
    *(f"{mark}min.{kind}" for mark in (".", "-", "_") for kind in _MINIFIED),
    *(f".{kind}.map" for kind in ("js", "mjs", "cjs", "css")),
)
_BUNDLED = (".js", ".mjs", ".cjs", ".jsx", ".css", ".html", ".htm")
_MEAN_LINE = 250
"""Characters: people who write code by hand stay far below, on average over a file."""
_FEWEST_CHARACTERS = 1_000


def has_machine_made_name(path: str) -> bool:
    return path.casefold().endswith(_ENDINGS)


def is_minified(path: str, text: str) -> bool:
    """By the length of its lines, for kinds of files that are minified."""
    if len(text) < _FEWEST_CHARACTERS or not path.casefold().endswith(_BUNDLED):
        return False
    return len(text) > _MEAN_LINE * (text.rstrip("\n").count("\n") + 1)
