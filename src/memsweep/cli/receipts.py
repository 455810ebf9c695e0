"""memsweep receipts"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from typer import Option

from memsweep.cli.door import InWorkspace, Json, show, with_app
from memsweep.cli.options import Cursor, Limit
from memsweep.report import receipts as report
from memsweep.report.counts import amount, nonzero

if TYPE_CHECKING:
    from rich.console import Console

    from memsweep.app import App
    from memsweep.model.plan import ReceiptPage


def receipts(
    trash: Annotated[bool, Option("--trash", help="Only those that have something in the trash.")] = False,
    limit: Limit = 20,
    cursor: Cursor = None,
    workspace: InWorkspace = "",
    as_json: Json = False,
) -> None:
    """Show what was done, newest first, and whether it was undone or purged since."""

    def run(app: App) -> ReceiptPage:
        sweep = app.memory(workspace).sweep
        return (sweep.trash_by_receipt if trash else sweep.receipts)(limit=limit, cursor=cursor)

    page = with_app(run)
    answer = report.receipts(page)

    def words(console: Console) -> None:
        for each, shown in zip(page.receipts, answer["receipts"], strict=True):
            held = ", ".join(nonzero(shown["held"]))
            size = f"in the trash: {held}, about {each.bytes:,} bytes" if held else ""
            parts = (shown["at"][:19], each.id, each.state, each.strategy, amount(each.totals), each.actor, size)
            console.print("  ".join(part for part in parts if part), markup=False)
        if not page.receipts:
            print("No receipts.")
        if answer["next_cursor"]:
            console.print(f"more: --cursor {answer['next_cursor']}", markup=False)

    show(answer, as_json, words)
