"""memsweep briefing, search, get, stats"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from memsweep.cli.door import InWorkspace, Json, harmless, say, show, show_json, show_pair, with_app
from memsweep.cli.hits import show_hits
from memsweep.cli.options import Client, Cursor, MemoryId, Session, Since, Source, Tags, Tier, Until
from memsweep.cli.statistics import show_code, show_counts
from memsweep.report import memory as report
from memsweep.report import updates
from memsweep.report.statistics import code_overview, counted_by_day

if TYPE_CHECKING:
    from rich.console import Console


def search(
    query: Annotated[str, Argument(help="What to look for.")],
    limit: Annotated[int, Option("--limit", "-n", help="How many results, at most 50.")] = 10,
    tag: Tags = None,
    source: Source = None,
    kind: Annotated[str | None, Option(metavar="KIND", help="Only memory, code, fact or segment.")] = None,
    path: Annotated[str | None, Option(help="Only code in this file or folder, or that a pattern matches.")] = None,
    tests: Annotated[bool, Option("--tests/--no-tests", help="With or without tests.")] = True,
    since: Since = None,
    until: Until = None,
    tier: Tier = None,
    client: Client = None,
    session: Session = None,
    as_of: Annotated[
        str | None, Option(metavar="DATE", help="What was there then and had not been superseded yet.")
    ] = None,
    include_stale: Annotated[bool, Option("--include-stale", help="Include stale memories.")] = False,
    cursor: Cursor = None,
    mode: Annotated[
        str, Option(metavar="MODE", help="precise: what answers; deep: everything that resembles it.")
    ] = "precise",
    full: Annotated[bool, Option("--full", help="Whole texts, with lines and threads.")] = False,
    workspace: InWorkspace = "",
    as_json: Json = False,
) -> None:
    """Find what was remembered, by words and by meaning."""
    filters = {
        "tags": tag or [],
        "source": source,
        "date_from": since,
        "date_to": until,
        "as_of": as_of,
        "include_stale": include_stale,
        "tier": tier,
        "client": client,
        "session": session,
        "kind": kind,
        "path": path,
        "include_tests": tests,
    }
    options: dict[str, Any] = {"limit": limit, "filters": filters, "cursor": cursor, "mode": mode}
    page = with_app(lambda app: app.memory(workspace).search(query, **options))
    answer = report.found(page, "full" if full else "concise")
    if as_json:
        show_json(answer)
    else:
        show_hits(answer)


def briefing(
    limit: Annotated[int, Option("--limit", "-n", help="How many of each kind, at most 50.")] = 5,
    workspace: InWorkspace = "",
    as_json: Json = False,
) -> None:
    """Print what to know before work begins. The newest memories, facts, contradictions, what is stale."""
    from memsweep.report.briefing import briefed

    answer = briefed(with_app(lambda app: app.memory(workspace).briefing(limit=limit)))

    def words(console: Console) -> None:
        from memsweep.cli.graph_words import overview

        overview(console, answer)

    show(answer, as_json, words)


def get(
    memory_id: MemoryId,
    history: Annotated[bool, Option("--history", help="Show what it was before it was updated.")] = False,
    workspace: InWorkspace = "",
    as_json: Json = False,
) -> None:
    """Show one whole memory."""
    if history:
        found = updates.earlier(memory_id, with_app(lambda app: app.memory(workspace).history(memory_id)))
        show(found, as_json, lambda console: _earlier(console, found))
        return
    answer = report.memory(with_app(lambda app: app.memory(workspace).get(memory_id)))

    def words(console: Console) -> None:
        for name, value in answer.items():
            if name != "text" and value not in (None, "", [], {}, False):
                show_pair(console, f"{name:13}", _plain(value))
        print(f"\n{harmless(answer['text'])}")

    show(answer, as_json, words)


def _earlier(console: Console, answer: updates.HistoryAnswer) -> None:
    if not answer["earlier"]:
        console.print("It was never updated, or its earlier texts were purged.")
    for each in answer["earlier"]:
        say(console, f"Until {each['until']}; `memsweep undo {each['receipt_id']}` brings it back:")
        print(f"{harmless(each['text'])}\n")


def stats(
    history: Annotated[bool, Option("--history", help="Show how it has grown, and where memories came from.")] = False,
    days: Annotated[int, Option(metavar="N", help="How many days --history goes back.")] = 90,
    code: Annotated[bool, Option("--code", help="Show indexed folders, how fresh they are, the last runs.")] = False,
    workspace: InWorkspace = "",
    as_json: Json = False,
) -> None:
    """Show counts and sizes of a workspace."""
    if history:
        counts = counted_by_day(with_app(lambda app: app.memory(workspace).counts(days=days)))
        show(counts, as_json, lambda console: show_counts(console, counts))
        return
    if code:
        found = code_overview(with_app(lambda app: app.memory(workspace).code.overview()))
        show(found, as_json, lambda console: show_code(console, found))
        return
    answer = report.stats(with_app(lambda app: app.memory(workspace).stats()))

    def words(console: Console) -> None:
        for name, value in answer.items():
            shown = (
                f"{value:,}" if isinstance(value, int) else " ".join(value) if isinstance(value, list) else str(value)
            )
            show_pair(console, f"{name.replace('_', ' '):16}", shown)

    show(answer, as_json, words)


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
