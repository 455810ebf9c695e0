"""The list of commands."""

from __future__ import annotations

from memsweep.cli import (
    care,
    config,
    context,
    graph,
    graph_upkeep,
    hooks,
    index,
    prune,
    recall,
    remember,
    schedule,
    serve,
    tombstone,
    watch,
    workspace,
)

cli = serve.cli
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
    care.doctor,
    care.compact,
    care.backup,
    care.restore,
):
    cli.command(command.__name__)(command)
for upkeep in graph_upkeep.COMMANDS:
    graph.cli.command()(upkeep)
cli.add_typer(graph.cli, name="graph")
cli.add_typer(context.cli, name="context")
cli.add_typer(tombstone.cli, name="tombstone")
cli.add_typer(schedule.cli, name="schedule")
cli.add_typer(hooks.cli, name="hooks")
cli.add_typer(workspace.cli, name="workspace")
cli.add_typer(config.cli, name="config")
