"""What a search found, as lines with styles: drawn on a terminal; elsewhere plain, so that nothing is loaded for it."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from memsweep.cli.door import console, harmless, in_commands
from memsweep.places import environment

if TYPE_CHECKING:
    from memsweep.report.memory import FoundAnswer

_UNPRINTED = dict.fromkeys(map(ord, "\a\b\v\f\r"))
_TAB = 8


class Line(NamedTuple):
    """Texts, each with a style of rich."""

    parts: tuple[tuple[str, str], ...]
    stays_whole: bool = True
    """However narrow the terminal is."""


def show_hits(answer: FoundAnswer) -> None:
    if not _is_drawn():
        for line in hit_lines(answer, None):
            print(plain("".join(text for text, _ in line.parts)))
        return
    from rich.text import Text

    terminal = console()
    for line in hit_lines(answer, terminal.width if terminal.is_terminal else None):
        terminal.print(Text.assemble(*line.parts), soft_wrap=line.stays_whole or None)


def plain(text: str) -> str:
    """What rich would make of it: no control characters that move the cursor, and blanks in place of tabs."""
    if "\t" not in text:
        return text.translate(_UNPRINTED)
    from rich.text import Text  # how many blanks depends on how wide each character is

    spaced = Text(text)
    spaced.expand_tabs(_TAB)
    return spaced.plain


def _is_drawn() -> bool:
    """Whether this is a terminal, or somebody asks for what a terminal gets; rich knows what that means."""
    asked = environment()
    return sys.stdout.isatty() or any(asked.get(name) for name in ("FORCE_COLOR", "TTY_COMPATIBLE"))


def hit_lines(answer: FoundAnswer, width: int | None) -> Iterator[Line]:
    """Everything there is to say; texts are wrapped for a terminal of this width."""
    results, note = answer["results"], answer.get("note", "")
    if not results or "damaged" in note:
        yield _said(in_commands(note or "Nothing found."))
    for hit in results:
        yield from _lines_of(hit, width)
    if answer["next_cursor"]:
        more = f"{answer['total']} in all; the next page: --cursor {answer['next_cursor']}"
        yield Line(((more, "dim"),), stays_whole=False)


def _said(sentence: str) -> Line:
    return Line(((harmless(sentence), ""),), stays_whole=False)


def _lines_of(hit: dict[str, Any], width: int | None) -> Iterator[Line]:
    """Relevance, id and place on one line; the text below; why it was found. Lines of code stay as they are."""
    own_id = hit.get("memory_id") or hit.get("relation_id") or hit.get("segment_id", "")
    about = hit["kind"] if hit["kind"] in ("fact", "segment") else ""
    if "path" in hit:
        about = f"{hit['path']}:{hit['lines'][0]}-{hit['lines'][1]} {hit['symbol'] or ''}".rstrip()
    about = f"{hit['scope']} {about}".rstrip() if "scope" in hit else about
    yield Line(((f"{hit['relevance']:.2f}  ", ""), (own_id, "cyan"), (f"  {harmless(about)}".rstrip(), "bold")))
    text = harmless(hit["text"])
    for line in text.rstrip().splitlines() if "path" in hit else _wrapped(" ".join(text.split()), width):
        yield Line(((f"      {line}", ""),))
    for line in _wrapped(hit["why"].partition("; ")[2] or hit["why"], width):
        yield Line(((f"      {line}", "dim"),))


def _wrapped(text: str, width: int | None) -> list[str]:
    """As wide as a terminal is; elsewhere a line stays whole."""
    return [text] if width is None else textwrap.wrap(text, max(20, width - 6))
