"""memsweep hooks …, hook"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from memsweep.app import App
from memsweep.cli.door import InWorkspace, Json, harmless, show, with_app
from memsweep.code.hooks import find_hooks
from memsweep.hooks.door import run as answer_hook
from memsweep.hooks.event import EVENTS
from memsweep.hooks.files import HookFiles
from memsweep.project.runs import runs as runs_in

if TYPE_CHECKING:
    from rich.console import Console


cli = typer.Typer(
    help="Hooks: those of git refresh the index, those of agents' clients can be switched off.", no_args_is_help=True
)
Repository = Annotated[str, Argument(metavar="PATH", help="Any path inside the repository.")]


@cli.command()
def off(
    here: Annotated[bool, Option("--here", help="Only for the project of this folder.")] = False, as_json: Json = False
) -> None:
    """Switch the hooks of agents' clients off, everywhere or for this project. Nothing is removed."""
    _switch(False, here, as_json)


@cli.command()
def on(
    here: Annotated[bool, Option("--here", help="Only for the project of this folder.")] = False, as_json: Json = False
) -> None:
    """Switch the hooks of agents' clients on again."""
    _switch(True, here, as_json)


def _switch(on: bool, here: bool, as_json: bool) -> None:
    def change(app: App) -> dict[str, Any]:
        files = HookFiles(app.settings.home)
        files.switch(on, app.workspace_id if here else "")
        everywhere, projects = files.off()
        return {"off": everywhere, "off_for": projects, "workspace_id": app.workspace_id}

    answer = with_app(change)

    def words(console: Console) -> None:
        if answer["off"]:
            console.print("The hooks of agents' clients are off everywhere.", markup=False)
        elif answer["workspace_id"] in answer["off_for"]:
            console.print(f"The hooks of agents' clients are off for {answer['workspace_id']}.", markup=False)
        else:
            console.print("The hooks of agents' clients are on.", markup=False)

    show(answer, as_json, words)


@cli.command()
def log(limit: Annotated[int, Option(min=1, max=1000, help="How many.")] = 20, as_json: Json = False) -> None:
    """Show what hooks did recently, and how long they took."""
    runs = with_app(lambda app: runs_in(app.settings.home))[-limit:]

    def words(console: Console) -> None:
        for run in runs:
            at = datetime.fromtimestamp(run.get("at", 0), UTC)
            line = (
                f"{at:%Y-%m-%d %H:%M:%S}  {run.get('event', ''):16} {run.get('ms', 0):>5} ms  {run.get('outcome', '')}"
            )
            console.print(harmless(line), markup=False)
        if not runs:
            console.print("No hook has run yet.", markup=False)

    show({"runs": runs}, as_json, words)


@cli.command()
def install(path: Repository = ".", workspace: InWorkspace = "", as_json: Json = False) -> None:
    """Install git hooks that refresh the index after a commit, merge, checkout or rewrite; existing hooks are kept."""
    hooks = find_hooks(path)
    new = hooks.install(workspace)
    words = f"Installed {', '.join(new)} in {hooks.folder}." if new else f"Already installed in {hooks.folder}."
    show({"folder": str(hooks.folder), "installed": new}, as_json, lambda console: console.print(words, markup=False))


@cli.command()
def remove(path: Repository = ".", as_json: Json = False) -> None:
    """Remove the git hooks and restore what was there before."""
    hooks = find_hooks(path)
    gone = hooks.remove()
    words = f"Removed {', '.join(gone)} from {hooks.folder}." if gone else f"None of ours in {hooks.folder}."
    show({"folder": str(hooks.folder), "removed": gone}, as_json, lambda console: console.print(words, markup=False))


@cli.command()
def status(path: Repository = ".", as_json: Json = False) -> None:
    """Show which git hooks are installed."""
    hooks = find_hooks(path)
    states = hooks.status()

    def words(console: object) -> None:
        for name, state in states.items():
            print(f"{name:14} {state}")

    show({"folder": str(hooks.folder), "hooks": states}, as_json, words)


def hook(event: Annotated[str, Argument(metavar="EVENT", help=f"One of {', '.join(EVENTS)}.")]) -> None:
    """Answer an event of an agent's client, described in JSON on standard input. The plugin of the client calls it.

    The exit status is 0 whatever happens; `memsweep hooks log` shows what did.
    """
    raise typer.Exit(answer_hook([event]))
