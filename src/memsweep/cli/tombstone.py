"""memsweep tombstone …"""

from __future__ import annotations

import typer

from memsweep.cli.door import InWorkspace, Json, harmless, show, with_app
from memsweep.cli.options import Id
from memsweep.model.times import iso

cli = typer.Typer(help="What was deleted permanently and must not be learned again.", no_args_is_help=True)


@cli.command("list")
def list_all(workspace: InWorkspace = "", as_json: Json = False) -> None:
    """List all tombstones."""
    found = with_app(lambda app: app.memory(workspace).sweep.tombstones())
    rows = [{"memory_id": each.memory_id, "at": iso(each.at), "reason": each.reason} for each in found]

    def words(console: object) -> None:
        for row in rows:
            print(f"{row['at'][:19]}  {row['memory_id']}  {harmless(row['reason'])}")
        if not rows:
            print("No tombstones.")

    show({"tombstones": rows}, as_json, words)


@cli.command()
def remove(memory_id: Id, workspace: InWorkspace = "", as_json: Json = False) -> None:
    """Remove a tombstone, so that the text can be learned again."""
    with_app(lambda app: app.memory(workspace).sweep.remove_tombstone(memory_id))
    show({"removed": memory_id}, as_json, lambda console: console.print(f"{memory_id} can be learned again."))
