"""Text as a page may show it: what cannot be seen, or turns its neighbours round, is written out. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup, escape

from memsweep.model.visible import written_out


def plain(value: object) -> object:
    """For any place in a template, attributes too: a name must not pretend to be another."""
    return written_out(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def shown(value: object) -> Markup:
    """The same for text between tags, where the code points can look like what they are."""
    return Markup(written_out(str(escape(str(value))), lambda sign: f'<i class="unseen">U+{ord(sign):04X}</i>'))


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
    """Return the span of the next of some words; of those that begin there, the longest."""
    places = [(at, -len(word)) for word in words if word and (at := text.find(word.lower(), start)) >= 0]
    if not places:
        return None
    at, length = min(places)
    return at, at - length
