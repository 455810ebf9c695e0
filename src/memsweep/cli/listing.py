"""memsweep list"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from memsweep.cli.door import InWorkspace, Json, harmless, say, show, tier_in, with_app
from memsweep.cli.options import AtMost200, Cursor, with_filters
from memsweep.report.memory import ListedAnswer, memory_list

if TYPE_CHECKING:
    from rich.console import Console

_MARKS = ("stale", "pinned", "superseded", "expired")


@with_filters(of_lists=True)
def list_memories(
    limit: AtMost200 = 20,
    filters: Any = None,
    state: Annotated[
        str | None,
        Option(metavar="STATE", help="Only current, stale, pinned, superseded, quarantined, expiring or expired ones."),
    ] = None,
    door: Annotated[str | None, Option(help="Only what came through mcp, cli, library, hook, import or index.")] = None,
    cursor: Cursor = None,
    workspace: InWorkspace = "",
    as_json: Json = False,
) -> None:
    """List memories, the newest first."""
    options: dict[str, Any] = {"filters": filters, "state": state, "door": door, "limit": limit, "cursor": cursor}
    answer = memory_list(with_app(lambda app: app.memory(workspace).memories(**options)))
    show(answer, as_json, lambda console: _print(console, answer))


def _print(console: Console, answer: ListedAnswer) -> None:
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
