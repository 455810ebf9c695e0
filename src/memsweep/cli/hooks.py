"""memsweep hooks …"""

from __future__ import annotations

from typing import Annotated

import typer
from typer import Argument

from memsweep.cli.door import InWorkspace, Json, show
from memsweep.code.hooks import find_hooks

cli = typer.Typer(help="Git hooks that refresh the index in the background.", no_args_is_help=True)
Repository = Annotated[str, Argument(metavar="PATH", help="Any path inside the repository.")]


@cli.command()
def install(path: Repository = ".", workspace: InWorkspace = "", as_json: Json = False) -> None:
    """Install hooks that refresh the index after a commit, merge, checkout or rewrite; existing hooks are kept."""
    hooks = find_hooks(path)
    new = hooks.install(workspace)
    words = f"Installed {', '.join(new)} in {hooks.folder}." if new else f"Already installed in {hooks.folder}."
    show({"folder": str(hooks.folder), "installed": new}, as_json, lambda console: console.print(words, markup=False))


@cli.command()
def remove(path: Repository = ".", as_json: Json = False) -> None:
    """Remove the hooks and restore what was there before."""
    hooks = find_hooks(path)
    gone = hooks.remove()
    words = f"Removed {', '.join(gone)} from {hooks.folder}." if gone else f"None of ours in {hooks.folder}."
    show({"folder": str(hooks.folder), "removed": gone}, as_json, lambda console: console.print(words, markup=False))


@cli.command()
def status(path: Repository = ".", as_json: Json = False) -> None:
    """Show which hooks are installed."""
    hooks = find_hooks(path)
    states = hooks.status()

    def words(console: object) -> None:
        for name, state in states.items():
            print(f"{name:14} {state}")

    show({"folder": str(hooks.folder), "hooks": states}, as_json, words)
