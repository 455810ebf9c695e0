"""The list of commands."""

from __future__ import annotations

from typing import Annotated

import typer

from memsweep import __version__
from memsweep.cli import config, hooks, index, prune, recall, remember, schedule, serve, tombstone, watch, workspace

cli = typer.Typer(
    help="Long-term memory for AI agents, with a garbage collector that can be trusted.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"memsweep {__version__}")
        raise typer.Exit


@cli.callback()
def memsweep(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None: ...


cli.command("serve")(serve.serve)
cli.command("remember")(remember.remember)
cli.command("search")(recall.search)
cli.command("get")(recall.get)
cli.command("stats")(recall.stats)
cli.command("index")(index.index)
cli.command("watch")(watch.watch)
for command in (
    prune.prune,
    prune.undo,
    prune.recover,
    prune.delete,
    prune.trash,
    prune.purge,
    prune.pin,
    prune.unpin,
    prune.explain,
    prune.audit,
):
    cli.command(command.__name__)(command)
cli.add_typer(tombstone.cli, name="tombstone")
cli.add_typer(schedule.cli, name="schedule")
cli.add_typer(hooks.cli, name="hooks")
cli.add_typer(workspace.cli, name="workspace")
cli.add_typer(config.cli, name="config")
