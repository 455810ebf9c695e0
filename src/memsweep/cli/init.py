"""memsweep init"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import typer
from typer import Option

from memsweep.app import App
from memsweep.cli.door import InWorkspace, Json, harmless, show, with_app
from memsweep.clients import apply
from memsweep.clients.plan import Change, find_clients, plan_entry
from memsweep.clients.server_entry import server_entry, this_machine
from memsweep.errors import BadInput, Conflict
from memsweep.model.text import counted
from memsweep.settings import load_settings


def init(
    client: Annotated[
        list[str] | None,
        Option("--client", metavar="ID", help="claude-code, codex, cursor, vscode or claude-desktop; can be repeated."),
    ] = None,
    dry_run: Annotated[bool, Option("--dry-run", help="Only show what would change.")] = False,
    yes: Annotated[bool, Option("--yes", "-y", help="Do not ask.")] = False,
    undo: Annotated[bool, Option("--undo", help="Take back what earlier runs wrote.")] = False,
    hooks: Annotated[bool, Option("--hooks", help="Also install git hooks that refresh the index.")] = False,
    index: Annotated[bool, Option("--index", help="Also index this project.")] = False,
    workspace: InWorkspace = "",
    as_json: Json = False,
) -> None:
    """Add memsweep to the agent clients on this machine: shows each change, asks, and keeps a copy."""
    chosen = tuple(client or ())
    steps = _undo_steps(chosen) if undo else _entry_steps(chosen)
    asks = sys.stdin.isatty() and not as_json
    answers = [_take(change, step, dry_run=dry_run, yes=yes, asks=asks, quiet=as_json) for change, step in steps]
    if as_json:
        show({"clients": answers}, True, lambda console: None)
    elif not answers:
        print("Nothing to undo." if undo else "No client was found; name one with --client.")
    elif not undo and not dry_run:
        _offer(hooks=hooks, index=index, asks=asks, workspace=workspace)
    if any(answer["state"] == "refused" for answer in answers):
        raise typer.Exit(Conflict.exit_status)


def _entry_steps(chosen: tuple[str, ...]) -> list[tuple[Change, Callable[[], object]]]:
    machine, home, entry = this_machine(), load_settings().home, server_entry()
    changes = [plan_entry(each, machine, entry) for each in find_clients(machine, chosen)]
    return [(change, partial(apply.write, change, home)) for change in changes]


def _undo_steps(chosen: tuple[str, ...]) -> list[tuple[Change, Callable[[], object]]]:
    home = load_settings().home
    find_clients(this_machine(), chosen)  # an unknown name is a mistake here, too
    planned = apply.plan_undo(home, chosen)
    return [(change, partial(apply.undo, done, change, home)) for done, change in planned]


def _take(
    change: Change, step: Callable[[], object], *, dry_run: bool, yes: bool, asks: bool, quiet: bool
) -> dict[str, Any]:
    """Show a change, ask, and make it; what became of it."""
    if not quiet:
        _show(change)
    done = False
    if change.state in ("new", "changed") and not dry_run and (yes or (asks and typer.confirm("Write it?"))):
        step()
        done = True
        if not quiet:
            print(f"Wrote {harmless(str(change.path))}. {change.client.restart}")
    elif change.state == "there" and not dry_run and change.before is None and not change.after:
        step()  # an entry of the record whose file is gone
    elif change.state in ("new", "changed") and not quiet and not (dry_run or asks):
        print("Nothing was written; pass --yes to write it.")
    said = {"client": change.client.id, "path": str(change.path), "state": change.state, "diff": change.diff}
    return {**said, "written": done, **({"why": change.why} if change.why else {})}


def _show(change: Change) -> None:
    print(f"{change.client.title}: {harmless(str(change.path))}")
    if change.state == "refused":
        print(f"  is left as it is: {harmless(change.why)}. Add memsweep by hand, or correct the file first.")
    elif change.diff:
        print(harmless(change.diff))
    else:
        print("  nothing to change.")


def _offer(*, hooks: bool, index: bool, asks: bool, workspace: str) -> None:
    """What a project may want beside: git hooks, and a first index."""
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
