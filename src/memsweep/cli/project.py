"""memsweep where, trust"""

from __future__ import annotations

from typing import Annotated

from typer import Argument, Option

from memsweep.cli.door import Json, in_project, show, with_app
from memsweep.cli.where import print_where

InProject = Annotated[
    str,
    Option("--project", metavar="FOLDER", help="A folder of the project; by default the current one."),
]


def where(project: InProject = "", as_json: Json = False) -> None:
    """Show which workspace is used here, and why."""
    print_where(project, as_json)


def trust(
    workspace_id: Annotated[str, Argument(metavar="[ID]", help="The workspace that .memsweep.toml names.")] = "",
    revoke: Annotated[bool, Option("--revoke", help="No longer agree.")] = False,
    project: InProject = "",
    as_json: Json = False,
) -> None:
    """Let this project use the workspace that its .memsweep.toml names, though it is not its own."""
    in_project(project)
    name, new = with_app(lambda app: app.projects.trust(workspace_id, agreed=not revoke))
    may = "may no longer" if revoke else "may"
    words = f"This project {may} use workspace {name!r}{'' if new else ', as before'}."
    show({"workspace_id": name, "trusted": not revoke, "changed": new}, as_json, lambda console: console.print(words))
