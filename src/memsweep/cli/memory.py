"""memsweep briefing, search, get, stats, list, remember, update, release"""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from typer import Argument, Option

from memsweep.cli.door import (
    AtMost200,
    Cursor,
    Id,
    InWorkspace,
    Json,
    MemoryId,
    answering,
    console,
    harmless,
    in_commands,
    say,
    show_json,
    show_pair,
    standard_input,
    tier_in,
    with_app,
    with_filters,
    with_options,
)
from memsweep.errors import BadInput
from memsweep.model.memory import Remembering, arguments_of
from memsweep.model.text import MAX_TEXT_BYTES, counted
from memsweep.places import environment
from memsweep.report import Answer
from memsweep.report import memory as report
from memsweep.report.code import code_overview, counted_by_day
from memsweep.report.memory import in_sentences
from memsweep.services.memory import Memory

if TYPE_CHECKING:
    from rich.console import Console

    from memsweep.services.memory import Memory


@with_filters()
def search(
    query: Annotated[str, Argument(help="What to look for.")],
    limit: Annotated[int, Option("--limit", "-n", help="How many results, at most 50.")] = 10,
    filters: Any = None,
    cursor: Cursor = None,
    mode: Annotated[
        str, Option(metavar="MODE", help="precise: what answers; deep: everything that resembles it.")
    ] = "precise",
    full: Annotated[bool, Option("--full", help="Whole texts, with lines and threads.")] = False,
    workspace: InWorkspace = "",
    as_json: Json = False,
) -> None:
    """Find what was remembered, by words and by meaning."""
    options: dict[str, Any] = {"limit": limit, "filters": filters, "cursor": cursor, "mode": mode}
    page = with_app(lambda app: app.memory(workspace).search(query, **options))
    answer = report.found(page, "full" if full else "concise")
    show_json(answer) if as_json else show_hits(answer)  # which loads what draws only for a terminal


def _briefing(console: Console, answer: Answer) -> None:
    from memsweep.cli.graph_words import overview

    overview(console, answer)


@answering(_briefing)
def briefing(
    memory: Memory, limit: Annotated[int, Option("--limit", "-n", help="How many of each kind, at most 50.")] = 5
) -> Answer:
    """Print what to know before work begins. The newest memories, facts, contradictions, what is stale."""
    from memsweep.report.graph import briefed

    return briefed(memory.briefing(limit=limit))


def _memory(console: Console, answer: Answer) -> None:
    if "earlier" in answer:
        _earlier(console, answer)
        return
    for name, value in answer.items():
        if name != "text" and value not in (None, "", [], {}, False):
            show_pair(console, f"{name:13}", _plain(value))
    print(f"\n{harmless(answer['text'])}")


@answering(_memory)
def get(
    memory: Memory,
    memory_id: MemoryId,
    history: Annotated[bool, Option("--history", help="Show what it was before it was updated.")] = False,
) -> Answer:
    """Show one whole memory."""
    if history:
        return report.earlier(memory_id, memory.history(memory_id))
    return report.memory(memory.get(memory_id))


def _earlier(console: Console, answer: Answer) -> None:
    if not answer["earlier"]:
        console.print("It was never updated, or its earlier texts were purged.")
    for each in answer["earlier"]:
        say(console, f"Until {each['until']}; `memsweep undo {each['receipt_id']}` brings it back:")
        print(f"{harmless(each['text'])}\n")


def _stats(console: Console, answer: Answer) -> None:
    if "days" in answer:
        show_counts(console, answer)
    elif "roots" in answer:
        show_code(console, answer)
    else:
        for name, value in answer.items():
            number = f"{value:,}" if isinstance(value, int) else ""
            shown = number or (" ".join(value) if isinstance(value, list) else str(value))
            show_pair(console, f"{name.replace('_', ' '):16}", shown)


@answering(_stats)
def stats(
    memory: Memory,
    history: Annotated[bool, Option("--history", help="Show how it has grown, and where memories came from.")] = False,
    days: Annotated[int, Option(metavar="N", help="How many days --history goes back.")] = 90,
    code: Annotated[bool, Option("--code", help="Show indexed folders, how fresh they are, the last runs.")] = False,
) -> Answer:
    """Show counts and sizes of a workspace."""
    if history:
        return counted_by_day(memory.counts(days=days))
    return code_overview(memory.code.overview()) if code else report.stats(memory.stats())


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


_UNPRINTED = dict.fromkeys(map(ord, "\a\b\v\f\r"))
_TAB = 8


class Line(NamedTuple):
    """Texts, each with a style of rich."""

    parts: tuple[tuple[str, str], ...]
    stays_whole: bool = True
    """However narrow the terminal is."""


def show_hits(answer: Answer) -> None:
    if not _is_drawn():
        for line in hit_lines(answer, None):
            print(plain("".join(text for text, _ in line.parts)))
        return
    from rich.text import Text

    terminal = console()
    for line in hit_lines(answer, terminal.width if terminal.is_terminal else None):
        terminal.print(Text.assemble(*line.parts), soft_wrap=line.stays_whole or None)


def plain(text: str) -> str:
    """Return a text as rich would print it: no control characters that move the cursor, blanks in place of tabs."""
    if "\t" not in text:
        return text.translate(_UNPRINTED)
    from rich.text import Text  # how many blanks depends on how wide each character is

    spaced = Text(text)
    spaced.expand_tabs(_TAB)
    return spaced.plain


def _is_drawn() -> bool:
    """Return whether this is a terminal, or somebody asks for a terminal's output; rich knows the variables."""
    asked = environment()
    return sys.stdout.isatty() or any(asked.get(name) for name in ("FORCE_COLOR", "TTY_COMPATIBLE"))


def hit_lines(answer: Answer, width: int | None) -> Iterator[Line]:
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
    """Relevance, id, whose it is and where, on one line; the text below; why. Lines of code stay as they are."""
    own_id = harmless(hit.get("memory_id") or hit.get("relation_id") or hit.get("segment_id", ""))
    about = hit["kind"] if hit["kind"] in ("fact", "segment") else ""
    if "path" in hit:
        about = f"{hit['path']}:{hit['lines'][0]}-{hit['lines'][1]} {hit['symbol'] or ''}".rstrip()
    about = " ".join(filter(None, (tier_in(hit), hit.get("scope", ""), about)))
    yield Line(((f"{hit['relevance']:.2f}  ", ""), (own_id, "cyan"), (f"  {harmless(about)}".rstrip(), "bold")))
    text = harmless(hit["text"])
    for line in text.rstrip().splitlines() if "path" in hit else _wrapped(" ".join(text.split()), width):
        yield Line(((f"      {line}", ""),))
    for line in _wrapped(harmless(hit["why"].partition("; ")[2] or hit["why"]), width):
        yield Line(((f"      {line}", "dim"),))


def _wrapped(text: str, width: int | None) -> list[str]:
    """As wide as a terminal is; elsewhere a line stays whole."""
    return [text] if width is None else textwrap.wrap(text, max(20, width - 6))


_NAMES = ("sources", "tags", "tiers", "clients", "doors", "languages", "states")
_SHOWN = 12


def show_counts(console: Console, answer: Answer) -> None:
    """One line for each day on which something was made, then the most frequent of each kind."""
    for day in answer["days"]:
        if day["notes"] or day["files"]:
            files = f", {counted(day['files'], 'file')}" if day["files"] else ""
            total = f"{day['total_notes'] + day['total_files']:,} in all"
            show_pair(console, day["day"], f"+{counted(day['notes'], 'memory', 'memories')}{files}; {total}")
    for name in _NAMES:
        counts: dict[str, int] = answer[name]
        shown = [f"{harmless(each) or '(none)'} {count:,}" for each, count in counts.items() if count][:_SHOWN]
        if shown:
            show_pair(console, f"{name:9}", ", ".join(shown))


def show_code(console: Console, answer: Answer) -> None:
    for root in answer["roots"]:
        languages = ", ".join(f"{name} {count:,}" for name, count in root["languages"].items())
        fresh = f"verified {root['verified_at']}" if root["verified_at"] else "never verified"
        stale = f", {root['stale_files']:,} stale" if root["stale_files"] else ""
        say(console, f"{harmless(root['path'])}: {counted(root['files'], 'file')}{stale}; {fresh}; {languages}")
    for run in answer["runs"]:
        changed = ", ".join(f"{run[name]:,} {said}" for name, said in _CHANGED if run.get(name))
        show_pair(console, run["at"], changed)
    if not answer["roots"]:
        console.print("No folder is indexed here.")


_CHANGED = (("memories", "written"), ("stale", "stale"), ("returned", "returned"))


_MARKS = ("stale", "pinned", "superseded", "expired")


@with_filters(of_lists=True)
@answering(lambda console, answer: _show_list(console, answer))
def list_memories(
    memory: Memory,
    limit: AtMost200 = 20,
    filters: Any = None,
    state: Annotated[
        str | None,
        Option(metavar="STATE", help="Only current, stale, pinned, superseded, quarantined, expiring or expired ones."),
    ] = None,
    door: Annotated[str | None, Option(help="Only what came through mcp, cli, library, hook, import or index.")] = None,
    cursor: Cursor = None,
) -> Answer:
    """List memories, the newest first."""
    options: dict[str, Any] = {"filters": filters, "state": state, "door": door, "limit": limit, "cursor": cursor}
    return report.memory_list(memory.memories(**options))


def _show_list(console: Console, answer: Answer) -> None:
    from rich.text import Text

    for each in answer["memories"]:
        marks = [mark for mark in _MARKS if mark in each] + ["quarantined"] * ("quarantine" in each)
        shown = (each["created_at"][:10], tier_in(each), each["source"], each.get("path", ""), *marks)
        about = "  ".join(filter(None, shown))
        console.print(Text.assemble((each["memory_id"], "cyan"), f"  {harmless(about)}"), soft_wrap=True)
        text = " ".join(harmless(each["text"]).split())
        console.print(Text(f"      {text[:160]}{'…' if each['characters'] > 160 else ''}"), soft_wrap=True)
    if "note" in answer:
        say(console, answer["note"])
    if not answer["memories"]:
        console.print("No memories." if not answer["total"] else "No more memories.")
    elif answer["next_cursor"]:
        upto = answer["first"] + len(answer["memories"])
        console.print(f"[dim]{upto} of {answer['total']}; the next page: --cursor {answer['next_cursor']}[/dim]")


def json_object(text: str) -> Any:
    if not text:
        return None
    try:
        return json.loads(text)
    except ValueError as error:
        raise BadInput(f"--metadata {text[:60]!r} is not JSON ({error}).") from None


def _remembered(console: Console, answer: Answer) -> None:
    words = f"Remembered as {answer['memory_id']} ({counted(answer['chunks_created'], 'chunk')})."
    if answer["duplicate_of"]:
        words = f"Known already as {answer['memory_id']}; marked as seen."
    if "supersedes" in answer:
        words += f" It supersedes {', '.join(answer['supersedes'])}."
    console.print(" ".join((words, *in_sentences(answer))), markup=False)
    for each in answer.get("similar", []):
        console.print(harmless(f"It {_SEEMS[each['kind']]} {each['memory_id']}: {each['text']}"), markup=False)
    if "similar" in answer:
        say(console, "If it takes the place of one, remember it again with --supersedes ID.")


@with_options("said", arguments_of(Remembering), {"metadata": json_object})
@answering(_remembered)
def remember(
    memory: Memory,
    text: Annotated[str, Argument(help="The text; `-` reads it from standard input.")],
    said: Any = None,
) -> Answer:
    """Remember a text."""
    body = standard_input(MAX_TEXT_BYTES) if text == "-" else text
    return report.remembered(memory.remember(body, find_similar=True, **said))


def _updated(console: Console, answer: Answer) -> None:
    say(console, " ".join((answer["message"], *in_sentences(answer))))


@answering(_updated)
def update(
    memory: Memory,
    memory_id: MemoryId,
    text: Annotated[str | None, Argument(help="The new text; `-` reads it from standard input.")] = None,
    tag: Annotated[list[str] | None, Option("--tag", "-t", help="Its tags from now on; can be repeated.")] = None,
    metadata: Annotated[str, Option(metavar="JSON", help="A JSON object in place of its metadata.")] = "",
) -> Answer:
    """Replace the text, tags or metadata of a memory; `undo` brings the old ones back."""
    body = standard_input(MAX_TEXT_BYTES) if text == "-" else text
    return report.updated(memory.update(memory_id, text=body, tags=tag or None, metadata=json_object(metadata)))


@answering()
def release(memory: Memory, memory_id: Id) -> Answer:
    """Let a memory with its facts, or a fact (rel_...), out of quarantine, so that search finds it."""
    if not memory_id.startswith("rel_"):
        return report.released(memory.release(memory_id))
    memory.graph.release(memory_id)
    return report.released_fact(memory_id)


_SEEMS = {"repeats": "seems to repeat", "contradicts": "seems to contradict"}
