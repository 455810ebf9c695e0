"""The list of commands. Building all of them takes longer than most of them run, so only the one asked for is built."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Annotated

import typer

from memsweep import __version__

# Name: the module that has a function (of that name, unless another is named), or a family (`cli`). Help shows them in
# this order.
COMMANDS = {
    "serve": "serve",
    "token": "token",
    "ui": "serve",
    "init": "init",
    "remember": "remember",
    "briefing": "recall",
    "search": "recall",
    "list": "listing.list_memories",
    "get": "recall",
    "update": "remember",
    "stats": "recall",
    "where": "project",
    "status": "project",
    "trust": "project",
    "index": "index",
    "watch": "index",
    "prune": "prune",
    "plan": "plan",
    "undo": "prune",
    "recover": "prune",
    "receipts": "receipts",
    "delete": "prune",
    "trash": "prune",
    "purge": "prune",
    "pin": "prune",
    "unpin": "prune",
    "release": "remember",
    "explain": "prune",
    "audit": "prune",
    "doctor": "care",
    "compact": "care",
    "backup": "care",
    "restore": "care",
    "graph": "graph",
    "context": "context",
    "tombstone": "tombstone",
    "schedule": "schedule",
    "hooks": "hooks",
    "hook": "hook",
    "adopt": "adopt",
    "workspace": "workspace",
    "reembed": "care",
    "config": "config",
}


def command_line(first: str = "") -> typer.Typer:
    """The command line with the command called `first`, or with every command if there is none of that name."""
    return _with_commands(*([first] if first in COMMANDS else COMMANDS))


@cache
def _with_commands(*names: str) -> typer.Typer:
    cli = typer.Typer(
        help="Long-term memory for AI agents, with a garbage collector that can be trusted.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    cli.callback()(memsweep)
    for name in names:
        place, _, function = COMMANDS[name].partition(".")
        module = import_module(f"memsweep.cli.{place}")
        if family := getattr(module, "cli", None):
            cli.add_typer(family, name=name)
        else:
            cli.command(name)(getattr(module, function or name))
    return cli


def _in_project(folder: str) -> str:
    if folder:
        from memsweep.cli.door import in_project

        in_project(folder)
    return folder


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"memsweep {__version__}")
        raise typer.Exit


def memsweep(
    project: Annotated[
        str,
        typer.Option("--project", metavar="FOLDER", help="Run the command as if in this folder.", callback=_in_project),
    ] = "",
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None: ...
