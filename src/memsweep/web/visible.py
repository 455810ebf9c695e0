"""Text as a page may show it: what cannot be seen, or turns its neighbours round, is written out. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from markupsafe import Markup, escape

# Joiners make one sign of several in emoji and in some scripts, so they stay between two letters beyond ASCII.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e01ef]"
    "|(?<![^\x00-\x7f])[\u200c\u200d]|[\u200c\u200d](?![^\x00-\x7f])"
)


def plain(value: object) -> object:
    """For any place in a template, attributes too: a name must not pretend to be another."""
    if not isinstance(value, str) or isinstance(value, Markup) or value.isprintable():
        return value
    return _UNSEEN.sub(lambda found: f"[{_code(found)}]", value)


def shown(value: object) -> Markup:
    """The same for text between tags, where the code points can look like what they are."""
    text = str(value)
    if text.isprintable():
        return escape(text)
    return Markup(_UNSEEN.sub(lambda found: f'<i class="unseen">{_code(found)}</i>', str(escape(text))))


def marked(text: str, words: Sequence[str]) -> Markup:
    """Text with the words of a query marked, in whatever case they stand there; every piece is escaped by itself."""
    pieces, at, lowered = [], 0, text.lower()
    if len(lowered) != len(text):  # a letter that grows in lower case would shift every place
        return shown(text)
    while found := _first(lowered, words, at):
        start, end = found
        pieces += [shown(text[at:start]), Markup("<mark>{}</mark>").format(shown(text[start:end]))]
        at = end
    return Markup("").join([*pieces, shown(text[at:])])


def as_it_is(text: str) -> Markup:
    """For a field that is edited and sent back: escaped, and otherwise unchanged."""
    return escape(text)


def _first(text: str, words: Sequence[str], start: int) -> tuple[int, int] | None:
    """Where the next of some words stands; the longest of those that begin there."""
    places = [(at, -len(word)) for word in words if word and (at := text.find(word.lower(), start)) >= 0]
    if not places:
        return None
    at, length = min(places)
    return at, at - length


def _code(found: re.Match[str]) -> str:
    return f"U+{ord(found.group()):04X}"
