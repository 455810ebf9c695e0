"""memsweep schedule …"""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer import Option

from memsweep.cli.door import Json, in_commands, show, with_app
from memsweep.errors import Conflict
from memsweep.report.counts import named
from memsweep.schedule.background import Background

cli = typer.Typer(help="Background collection: show it, or run it now.", no_args_is_help=True)


@cli.command("show")
def show_schedule(as_json: Json = False) -> None:
    """Show the settings of the schedule, the last run and the next."""
    answer = with_app(lambda app: Background(app).status())

    def words(console: Any) -> None:
        state = "on" if answer["enabled"] else "off (schedule.enabled in memsweep.toml turns it on)"
        print(f"Background collection is {state}.")
        print(f"cron {answer['cron']!r}, strategies {', '.join(answer['strategies'])}")
        print(f"last run {answer['last_run'] or 'never'}, next run {answer['next_run'] or 'never'}")
        for item in answer["last_outcomes"]:
            print(_line(item))
        removal = answer["last_removal"]
        if removal and removal["last_run"] != answer["last_run"]:
            print(f"last run that removed something {removal['last_run']}")
            for item in removal["outcomes"]:
                print(_line(item))

    show(answer, as_json, words)


@cli.command()
def run(
    workspace: Annotated[
        str,
        Option("--workspace", "-w", metavar="ID", help="Only this workspace; by default all that the settings name."),
    ] = "",
    allow_large: Annotated[
        bool, Option("--allow-large", help="Allow removing more than half of a workspace, this time.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Run the scheduled collection once, now; for example from your own cron. The exit status is 4 if it stopped."""

    def work(app: Any) -> dict[str, Any]:
        background = Background(app)
        background.check()
        if workspace:
            app.memory(workspace).stats()  # an unknown one is a mistake, not an outcome
        return background.run(workspace_id=workspace, allow_large=allow_large) or {
            "last_run": None,
            "outcomes": [],
            "busy": True,
        }

    answer = with_app(work)

    def words(console: Any) -> None:
        if answer.get("busy"):
            print("Another process is already running it.")
        for item in answer["outcomes"]:
            print(_line(item))

    show(answer, as_json, words)
    if any(item["stopped"] for item in answer["outcomes"]):
        raise typer.Exit(Conflict.exit_status)


def _line(item: dict[str, Any]) -> str:
    moved = f"{named(item['deleted_memories'], 'memories')} and {named(item['deleted_entities'], 'entities')}"
    stopped = f"; stopped: {in_commands(item['stopped'])}" if item["stopped"] else ""
    return f"  {item['workspace_id']}: moved {moved} to the trash, purged {item['purged_memories']:,}{stopped}"
