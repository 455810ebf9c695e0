"""Templates to HTML. Everything is escaped, and nothing unseen gets through, unless a filter says otherwise."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from markupsafe import Markup, escape

from memsweep.model.visible import written_out
from memsweep.report.collector import why
from memsweep.report.commands import in_commands
from memsweep.web import words
from memsweep.web.events import who
from memsweep.web.plan_sections import names_of, strategy_name

HERE = Path(__file__).parent
STATIC = HERE / "static"


@cache
def environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        finalize=plain,
        auto_reload=False,
    )
    made.filters |= {
        "n": words.number,
        "counted": words.counted,
        "percent": words.percent,
        "size": words.size,
        "clock_time": words.clock_time,
        "dated": words.dated,
        "shown": shown,
        "as_it_is": as_it_is,
        "day_month": words.day_month,
        "ago": _ago,
        "day": _day,
        "strategy": strategy_name,
        "in_commands": in_commands,
    }
    made.globals |= {
        "who": who,
        "marked": marked,
        "names_of": names_of,
        "why": why,
        "version": _version(),
        "icon": icon,
        "logo": LOGO,
    }
    return made


def render(template: str, values: dict[str, Any]) -> str:
    return environment().get_template(template).render(values)


@pass_context
def _ago(context: Context, moment: datetime) -> Markup:
    return words.when(moment, context["now"])


@pass_context
def _day(context: Context, moment: datetime) -> str:
    return words.day(moment, context["now"])


def _version() -> str:
    """Of the files that browsers keep: another one for every change of any."""
    files = sorted(path for path in STATIC.iterdir() if path.is_file())
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:10]


_PATHS = {
    "home": '<path d="M3 9.5 10 3.5l7 6V16a1 1 0 0 1-1 1h-3.5v-4.5h-5V17H4a1 1 0 0 1-1-1z"/>',
    "list": '<path d="M7 5.5h10M7 10h10M7 14.5h10M3.5 5.5h.01M3.5 10h.01M3.5 14.5h.01"/>',
    "sweep": '<path d="M15 3 9.9 9.4M7.4 8.3l5 4-2.5 4.7c-2.7.2-5.6-.6-6.9-2.4 2-.5 3.5-2.8 4.4-6.3z"/>',
    "eraser": '<path d="m11.5 3.5 5 5-7.5 8H6l-3-3zM7.5 7.7l5 5M9 16.5h8"/>',
    "clock": '<circle cx="10" cy="10" r="6.8"/><path d="M10 6.2V10l2.6 1.7"/>',
    "trash": '<path d="M4 6h12M8 6V4h4v2M5.5 6l.7 10.2a.8.8 0 0 0 .8.8h6a.8.8 0 0 0 .8-.8L14.5 6"/>',
    "graph": '<circle cx="5" cy="6" r="2"/><circle cx="15" cy="5" r="2"/><circle cx="11" cy="15" r="2"/>'
    '<path d="m7 5.8 6-.6M6 7.8l4.2 5.4M14.3 7l-2.5 6.2"/>',
    "window": '<path d="M3 5.5h5M10 5.5h7M3 10h9M14 10h3M3 14.5h3M8 14.5h6"/>',
    "code": '<path d="m7 6-4 4 4 4M13 6l4 4-4 4M11.3 4.5l-2.6 11"/>',
    "care": '<path d="M3 10h3.5l2-5 3 10 2-5H17"/>',
    "more": '<path d="M4.5 10h.01M10 10h.01M15.5 10h.01"/>',
    "undo": '<path d="M7.5 4.5 4 8l3.5 3.5"/><path d="M4 8h7.5a4.5 4.5 0 0 1 0 9H9"/>',
    "pin": '<path d="M7 3.5h6l-.8 5 2.3 2.5h-9L7.8 8.5zM10 11v5.5"/>',
    "edit": '<path d="m4 16 .8-3.5L13.5 3.8a1.5 1.5 0 0 1 2.2 0l.5.5a1.5 1.5 0 0 1 0 2.2L7.5 15.2z"/>',
    "swap": '<path d="M4 7h11l-3-3M16 13H5l3 3"/>',
    "search": '<circle cx="9" cy="9" r="5.2"/><path d="m13 13 3.8 3.8"/>',
    "file": '<path d="M5.5 3h6L15 6.5V17H5.5zM11.5 3v3.5H15"/>',
    "check": '<path d="m4.5 10.5 3.5 3.5 7.5-8"/>',
    "shield": '<path d="M10 3 4 5v4.5c0 3.7 2.5 6.3 6 7.5 3.5-1.2 6-3.8 6-7.5V5z"/>',
    "alert": '<path d="M10 4 2.8 16.5h14.4zM10 8.5v3.8M10 14.5h.01"/>',
    "sun": '<circle cx="10" cy="10" r="3.4"/><path d="M10 2.5v1.7M10 15.8v1.7M2.5 10h1.7M15.8 10h1.7M4.7 4.7l1.2'
    ' 1.2M14.1 14.1l1.2 1.2M15.3 4.7l-1.2 1.2M5.9 14.1l-1.2 1.2"/>',
    "moon": '<path d="M16.5 11.8A6.8 6.8 0 1 1 8.2 3.5a5.4 5.4 0 0 0 8.3 8.3z"/>',
    "screen": '<path d="M3 4.5h14v9H3zM7 16.5h6"/>',
    "updown": '<path d="m7 8 3-3 3 3M7 12l3 3 3-3"/>',
    "arrow": '<path d="M4 10h11M11 6l4 4-4 4"/>',
    "plus": '<path d="M10 4v12M4 10h12"/>',
}
_SVG = '<svg class="icon" viewBox="0 0 20 20" aria-hidden="true">{}</svg>'
LOGO = Markup(
    '<svg class="logo" viewBox="0 0 24 24" aria-hidden="true"><rect x="2" y="4" width="20" height="4" rx="2"/>'
    '<rect x="2" y="10" width="14" height="4" rx="2" opacity=".6"/><rect x="2" y="16" width="7" height="4" rx="2"'
    ' opacity=".3"/></svg>'
)
_DRAWN = {name: Markup(_SVG.format(path)) for name, path in _PATHS.items()}


def icon(name: str) -> Markup:
    return _DRAWN[name]


# Text as a page may show it: what cannot be seen, or turns its neighbours round, is written out.


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
