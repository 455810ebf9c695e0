"""memsweep init"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Option

from memsweep.app import App
from memsweep.cli.door import InWorkspace, Json, Yes, harmless, show_json, with_app
from memsweep.clients import apply, plugin
from memsweep.clients.plan import ConfigChange, State, find_clients, plan_entry, server_entry, this_machine
from memsweep.clients.table import Client
from memsweep.errors import INSTALL, BadInput, Conflict
from memsweep.model.text import counted
from memsweep.settings import load_settings

_PLUGIN = "the plugin (server, hooks, skill, commands)"


@dataclass(frozen=True, slots=True)
class InitStep:
    """One change to a client: what is shown of it, what is asked, and what makes it."""

    client: Client
    path: str
    """The file, or the plugin."""
    state: State
    diff: str = ""
    question: str = ""
    done: str = ""
    make: Callable[[], object] = lambda: None
    why: str = ""
    without_asking: bool = False
    """There is nothing to decide, only a record to clear."""


@dataclass(frozen=True, slots=True)
class AskOptions:
    """The choice of a person how to be asked."""

    dry_run: bool
    yes: bool
    asks: bool
    quiet: bool


def init(
    client: Annotated[
        list[str] | None,
        Option("--client", metavar="ID", help="claude-code, codex, cursor, vscode or claude-desktop; can be repeated."),
    ] = None,
    dry_run: Annotated[bool, Option("--dry-run", help="Only show what would change.")] = False,
    yes: Yes = False,
    undo: Annotated[bool, Option("--undo", help="Undo what earlier runs did.")] = False,
    with_plugin: Annotated[
        bool,
        Option("--plugin", help="Claude Code and Codex: the plugin (server, hooks, commands), not only the server."),
    ] = False,
    hooks: Annotated[bool, Option("--hooks", help="Also install git hooks that refresh the index.")] = False,
    index: Annotated[bool, Option("--index", help="Also index this project.")] = False,
    workspace: InWorkspace = "",
    as_json: Json = False,
) -> None:
    """Add memsweep to the agent clients on this machine: shows each change, asks, and keeps a copy."""
    chosen, home = tuple(client or ()), load_settings().home
    options = AskOptions(dry_run, yes, sys.stdin.isatty() and not as_json, as_json)
    clients = find_clients(this_machine(), chosen)
    if undo:
        answers = [_take(step, options) for step in [*_removal_steps(home, chosen), *_undo_steps(home, chosen)]]
    else:
        answers = _add(clients, home, options, with_plugin)
    if as_json:
        show_json({"clients": answers})
    elif not answers:
        print("Nothing to undo." if undo else "No client was found; name one with --client.")
    elif not undo and not dry_run:
        _offer(hooks=hooks, index=index, asks=options.asks, workspace=workspace)
    if any(answer["state"] == "refused" for answer in answers):
        raise typer.Exit(Conflict.exit_status)


def _add(clients: list[Client], home: Path, options: AskOptions, with_plugin: bool) -> list[dict[str, Any]]:
    """The plugin where it is wanted, which brings the server; elsewhere the server alone."""
    offered = with_plugin or (options.asks and not options.yes)
    sure = replace(options, yes=options.yes or with_plugin)
    answers = [_take(step, sure) for step in _plugin_steps(clients, home, offered, with_plugin)]
    have = {each["client"] for each in answers if each["written"] or each["state"] == "there" or sure.dry_run}
    if have:  # a second server would be one too many
        answers += [_take(step, sure) for step in _undo_steps(home, tuple(have))]
    rest = [each for each in clients if each.id not in have]
    return answers + [_take(step, options) for step in _entry_steps(rest, home)]


def _plugin_steps(clients: list[Client], home: Path, offered: bool, with_plugin: bool) -> list[InitStep]:
    """For the clients that take the plugin; `with_plugin` renews it where it is, and says why it cannot be had."""
    known = {} if with_plugin else plugin.read_plugins(home)
    there = [InitStep(each, _PLUGIN, "there") for each in clients if each.id in known]
    changes = [each for each in plugin.plan_plugins(clients, plugin.plugin_folder()) if each.client.id not in known]
    if with_plugin and not changes:
        hint = "Claude Code and Codex do, if they are on PATH."
        raise BadInput("no client that takes the plugin was found.", hint=hint)
    if with_plugin and not plugin.find_program("memsweep"):
        raise BadInput("the plugin calls `memsweep`, which is not on PATH.", hint=f"In a checkout of it: {INSTALL}")
    if not (offered and plugin.find_program("memsweep")):
        return there
    machine = this_machine()
    return there + [
        _plugin_step(each, partial(plugin.add_plugin, each, home, machine), "Added the plugin.") for each in changes
    ]


def _removal_steps(home: Path, chosen: tuple[str, ...]) -> list[InitStep]:
    planned = plugin.plan_removal(home, chosen)
    return [_plugin_step(each, partial(plugin.remove_plugin, each, home), "Removed the plugin.") for each in planned]


def _plugin_step(change: plugin.PluginChange, make: Callable[[], object], done: str) -> InitStep:
    why = "" if change.program else f"`{change.commands[0][0]}` is not on PATH"
    state: State = "changed" if change.program else "refused"
    return InitStep(change.client, _PLUGIN, state, "\n".join(change.shown), "Run it?", done, make, why)


def _entry_steps(clients: list[Client], home: Path) -> list[InitStep]:
    machine, entry = this_machine(), server_entry()
    changes = [plan_entry(each, machine, entry) for each in clients]
    return [_file_step(change, partial(apply.write, change, home)) for change in changes]


def _undo_steps(home: Path, chosen: tuple[str, ...]) -> list[InitStep]:
    planned = apply.plan_undo(home, chosen)
    return [_file_step(change, partial(apply.undo, done, change, home)) for done, change in planned]


def _file_step(change: ConfigChange, make: Callable[[], object]) -> InitStep:
    path = str(change.path)
    done = f"Wrote {harmless(path)}. {change.client.restart}"
    gone = change.state == "there" and change.before is None and not change.after
    return InitStep(change.client, path, change.state, change.diff, "Write it?", done, make, change.why, gone)


def _take(step: InitStep, options: AskOptions) -> dict[str, Any]:
    """Show a change, ask, and make it; what became of it."""
    if not options.quiet:
        _show(step)
    changes = step.state in ("new", "changed")
    done = changes and not options.dry_run and (options.yes or (options.asks and typer.confirm(step.question)))
    if done or (step.without_asking and not options.dry_run):
        step.make()
    if done and not options.quiet:
        print(step.done)
    elif changes and not (options.quiet or options.dry_run or options.asks):
        print("Nothing was done; pass --yes to do it.")
    said = {"client": step.client.id, "path": step.path, "state": step.state, "diff": step.diff}
    return {**said, "written": done, **({"why": step.why} if step.why else {})}


def _show(step: InitStep) -> None:
    print(f"{step.client.title}: {harmless(step.path)}")
    if step.state == "refused":
        print(f"  is left as it is: {harmless(step.why)}. Change it by hand, or correct that first.")
    elif step.diff:
        print(harmless(step.diff))
    else:
        print("  nothing to change.")


def _offer(*, hooks: bool, index: bool, asks: bool, workspace: str) -> None:
    """Offer the extras of a project: git hooks, and a first index."""
    with_app(lambda app: _offer_in(app, hooks=hooks, index=index, asks=asks, workspace=workspace))


def _offer_in(app: App, *, hooks: bool, index: bool, asks: bool, workspace: str) -> None:
    project = app.resolver.project
    if project is None or not project.is_git:
        if hooks or index:
            raise BadInput("no git repository was found here.", hint="Run it in one, or give --project.")
        return
    if hooks or (asks and typer.confirm(f"Install git hooks in {project.folder} that refresh the index?")):
        from memsweep.code.hooks import find_hooks

        installed = find_hooks(project.folder)
        installed.install(workspace)
        print(f"The hooks are in {harmless(str(installed.folder))}.")
    if index or (asks and typer.confirm(f"Index {project.folder} now?")):
        memory = app.memory(workspace)
        found = memory.code.index(project.folder)
        print(f"Indexed {counted(found.files_indexed, 'file')} into workspace {memory.workspace_id!r}.")
