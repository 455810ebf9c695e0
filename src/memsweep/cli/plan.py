"""memsweep plan …"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from memsweep.cli.door import InWorkspace, Json, harmless, show, with_app
from memsweep.cli.options import Limit
from memsweep.model.paging import cursor_at
from memsweep.model.text import counted
from memsweep.report import plans as report
from memsweep.report.counts import amount

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console

cli = typer.Typer(help="Look at saved plans of the collector.", no_args_is_help=True)
PlanId = Annotated[str, Argument(metavar="PLAN", help="The id that `memsweep prune` printed.")]


@cli.command("show")
def show_plan(plan_id: PlanId, limit: Limit = 20, workspace: InWorkspace = "", as_json: Json = False) -> None:
    """Show a plan by cause: each item with what goes only because of it, files by folder."""
    found = with_app(lambda app: app.memory(workspace).sweep.groups(plan_id, limit=limit))
    answer = report.groups(found, cursor_at(limit, found.total, plan_id))

    def words(console: Console) -> None:
        for group in answer["groups"]:
            names = ", ".join(str(each["name"]) for each in group["first"])
            more = group["followers"] - len(group["first"])
            others = f"; with it {names}{f' and {more:,} more' if more else ''}" if names else ""
            console.print(_line("", group, others), markup=False)
        console.print(f"{counted(answer['total'], 'group')} in plan {plan_id}", markup=False)

    show(answer, as_json, words)


@cli.command()
def preview(
    strategies: Annotated[
        list[str] | None, Argument(metavar="[STRATEGY]...", help="By default all quick ones.")
    ] = None,
    limit: Annotated[int, Option("--limit", "-n", help="How many groups of each to show.")] = 5,
    workspace: InWorkspace = "",
    as_json: Json = False,
) -> None:
    """Show what collections would take now, by strategy. Saves no plan."""
    found = with_app(lambda app: app.memory(workspace).sweep.preview(*(strategies or ()), limit=limit))
    answer = report.previews(found)

    def words(console: Console) -> None:
        for each, preview in zip(answer["strategies"], found, strict=True):
            said = amount(preview.totals) or "nothing"
            console.print(f"{each['strategy']}: {each['problem'] or said}", markup=False)
            _print(console, "  ", each["groups"])

    show(answer, as_json, words)


@cli.command()
def diff(
    earlier: Annotated[str, Argument(metavar="EARLIER")],
    later: Annotated[str, Argument(metavar="LATER")],
    limit: Limit = 100,
    workspace: InWorkspace = "",
    as_json: Json = False,
) -> None:
    """Show what one plan names that another one does not."""
    answer = report.difference(with_app(lambda app: app.memory(workspace).sweep.compare(earlier, later, limit=limit)))

    def words(console: Console) -> None:
        for sign, items in (("+ ", answer["added"]), ("- ", answer["gone"])):
            _print(console, sign, items)
        counts = (
            f"{answer['added_count']:,} added",
            f"{answer['gone_count']:,} gone",
            f"{answer['same_count']:,} same",
        )
        console.print(", ".join(counts), markup=False)

    show(answer, as_json, words)


def _print(console: Console, sign: str, items: Iterable[dict[str, Any]]) -> None:
    for item in items:
        console.print(_line(sign, item), markup=False)


def _line(sign: str, item: dict[str, Any], more: str = "") -> str:
    name = harmless(" ".join(f"{item['relative_path'] or item['name'] or ''}{more}".split()))
    return f"{sign}{item['type'].lower()} {item['id']}  {name}  {item['why']}"
