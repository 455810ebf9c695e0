"""memsweep where, status, trust"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from typer import Argument, Option

from memsweep.app import App
from memsweep.cli.door import InProject, Json, harmless, in_project, show, with_app
from memsweep.cli.where import lines, print_where
from memsweep.hooks.files import HookFiles
from memsweep.report import status as report
from memsweep.services.projects import ProjectStatus


def where(project: InProject = "", as_json: Json = False) -> None:
    """Show which workspace is used here, and why."""
    print_where(project, as_json)


def status(project: InProject = "", as_json: Json = False) -> None:
    """Show what is stored for this project, how fresh it is, what a collection would take, and what hooks did."""
    in_project(project)
    found = with_app(_with_hooks)
    answer = report.status(found)
    said = [*lines(answer["where"]), *report.lines(found)]
    show(answer, as_json, lambda console: print("\n".join(harmless(line) for line in said)))


def _with_hooks(app: App) -> ProjectStatus:
    """Return the status with the state of agents' hooks, which only their own room knows."""
    found = app.projects.status()
    on = HookFiles(app.settings.home).is_on(found.whereabouts.place.workspace_id)
    return replace(found, hooks_on=app.settings.hooks.enabled and on)


def trust(
    workspace_id: Annotated[
        str, Argument(metavar="[ID]", help="The workspace; by default the one that .memsweep.toml names.")
    ] = "",
    revoke: Annotated[bool, Option("--revoke", help="Withdraw the permission.")] = False,
    project: InProject = "",
    as_json: Json = False,
) -> None:
    """Let this project use the workspace that its .memsweep.toml names, or add to one that another project names."""
    in_project(project)
    name, new = with_app(lambda app: app.projects.trust(workspace_id, agreed=not revoke))
    may = "may no longer" if revoke else "may"
    words = f"This project {may} use workspace {name!r}{'' if new else ', as before'}."
    show({"workspace_id": name, "trusted": not revoke, "changed": new}, as_json, lambda console: console.print(words))
