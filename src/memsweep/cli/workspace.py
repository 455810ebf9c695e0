"""memsweep workspace …, where, status, trust, doctor, compact, backup, restore, reembed"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from memsweep.app import App
from memsweep.care.invariants import next_step, sentence
from memsweep.cli.door import (
    Force,
    Id,
    InProject,
    InWorkspace,
    Json,
    WorkspaceId,
    Yes,
    answering,
    harmless,
    in_commands,
    in_project,
    progress_bar,
    say,
    show,
    show_way_back,
    with_app,
)
from memsweep.cli.where import lines, print_where
from memsweep.errors import StoreError
from memsweep.hooks.files import HookFiles
from memsweep.model.text import counted
from memsweep.report import Answer, care
from memsweep.report import memory as report
from memsweep.report import status as project_report
from memsweep.services.memory import Memory
from memsweep.services.projects import ProjectStatus

if TYPE_CHECKING:
    from rich.console import Console


cli = typer.Typer(help="Isolated memories: list, create, delete, reembed, copy, adopt.", no_args_is_help=True)


@cli.command("list")
def list_all(
    deleted: Annotated[bool, Option("--deleted", help="List those in the trash, and how to bring them back.")] = False,
    as_json: Json = False,
) -> None:
    """List all workspaces; the current one is marked."""
    answer = with_app(lambda app: _listed(app, deleted=deleted))

    def words(console: object) -> None:
        for item in answer["workspaces"]:
            mark = "*" if item["workspace_id"] == answer["current"] else " "
            about = harmless(" ".join(item["description"].split()))
            print(f"{mark} {item['workspace_id']:24} {item['created_at'][:10]}  {about}".rstrip())
        if not answer["workspaces"]:
            print("None yet; the first memory creates one.")

    def deleted_words(console: object) -> None:
        show_deleted(answer["workspaces"])
        if not answer["workspaces"]:
            print("No workspace is in the trash.")

    show(answer, as_json, deleted_words if deleted else words)


def show_deleted(workspaces: Iterable[Answer]) -> None:
    for item in workspaces:
        about = harmless(" ".join(item["description"].split()))
        times = f"deleted {item['deleted_at'][:16]}  kept until {item['kept_until'][:10]}"
        print(f"  {item['workspace_id']:24} {times}  {item['receipt_id']}  {about}".rstrip())
        if item["message"].startswith("undo_prune"):
            show_way_back(item["receipt_id"])
        else:
            print(in_commands(item["message"]))


def _listed(app: App, *, deleted: bool) -> Answer:
    current = app.workspace_id
    if not deleted:
        return report.workspaces(app.workspaces(), current)
    return report.workspaces_deleted(
        app.workspaces(deleted=True), app.workspaces(), current, app.settings.gc.purge_days
    )


@cli.command()
@answering(lambda console, answer: console.print(f"Created workspace {answer['workspace_id']!r}."))
def create(app: App, workspace_id: Id, description: Annotated[str, Option(help="Its purpose.")] = "") -> Answer:
    """Create a workspace."""
    return report.workspace(app.create_workspace(workspace_id, description))


@cli.command()
@answering()
def delete(app: App, workspace_id: Id, yes: Yes = False) -> Answer:
    """Move a workspace to the trash."""
    sure = yes
    if not yes and sys.stdin.isatty():
        memories = counted(app.memory(workspace_id).stats().total_memories, "memory", "memories")
        sure = typer.confirm(f"Move workspace {workspace_id!r} with {memories} to the trash?")
    return report.workspace_deleted(app.delete_workspace(workspace_id, confirm=sure))


@cli.command("reembed")
def reembed_one(workspace_id: WorkspaceId = "", as_json: Json = False) -> None:
    """Recompute all embeddings with the configured model; the same as `memsweep reembed`."""
    reembed(workspace=workspace_id, as_json=as_json)


@cli.command()
@answering()
def copy(
    app: App,
    workspace_id: WorkspaceId = "",
    source: Annotated[
        str, Option("--from", help="sqlite, sqlite:FOLDER or falkor://…; by default the configured store.")
    ] = "",
    target: Annotated[
        str, Option("--to", help="sqlite, sqlite:FOLDER or falkor://…; by default the configured store.")
    ] = "",
    new_name: Annotated[str, Option("--as", metavar="ID", help="The name of the copy; by default the same.")] = "",
    replace: Annotated[bool, Option("--replace", help="Move an existing workspace of that name to the trash.")] = False,
    as_json: Json = False,
) -> Answer:
    """Copy a whole workspace to another store or another name, and verify the copy."""
    with progress_bar("copying", quiet=as_json) as progress:
        options: dict[str, Any] = {"new_name": new_name, "replace": replace, "progress": progress}
        return report.copied(app.copy_workspace(workspace_id, source, target, **options))


@cli.command()
def adopt(
    workspace_id: Annotated[
        str, Argument(metavar="[ID]", help="The workspace; by default the one whose project had this name and is gone.")
    ] = "",
    project: InProject = "",
    as_json: Json = False,
) -> None:
    """Give a project that was moved the workspace it had before."""
    in_project(project)
    name = with_app(lambda app: app.projects.adopt(workspace_id))
    words = f"This project uses workspace {name!r} now."
    show({"workspace_id": name}, as_json, lambda console: console.print(words, markup=False))


File = Annotated[Path, Argument(metavar="FILE")]


def doctor(
    repair: Annotated[
        bool, Option("--repair", help="Repair what can be repaired, and say what could not be saved.")
    ] = False,
    workspace: InWorkspace = "",
    as_json: Json = False,
) -> None:
    """Check a workspace and the data folder. The exit status is 5 if a problem remains."""

    def run(app: App) -> Answer:
        return care.checked(app.memory(workspace).care.doctor(repair=repair), sentence, next_step)

    answer = with_app(run)
    show(answer, as_json, lambda console: _checkup(console, answer))
    if not answer["healthy"]:
        raise typer.Exit(StoreError.exit_status)


@answering()
def compact(memory: Memory) -> Answer:
    """Return unused space to the disk."""
    return care.compacted(memory.workspace_id, memory.care.compact())


@answering()
def backup(memory: Memory, file: File, force: Force = False) -> Answer:
    """Copy a workspace to a file, even while others use it."""
    return care.backed_up(memory.care.backup(file, force=force))


def restore(
    file: File,
    replace: Annotated[bool, Option("--replace", help="Move an existing workspace to the trash first.")] = False,
    workspace: InWorkspace = "",
    as_json: Json = False,
) -> None:
    """Create a workspace from a backup."""
    answer = care.restored(with_app(lambda app: app.restore(file, workspace, replace=replace)))
    show(answer, as_json, lambda console: say(console, answer["message"]))


def _embedded(console: Console, answer: Answer) -> None:
    console.print(f"Embedded {counted(answer['chunks'], 'chunk')} with {answer['model']}.")


@answering(_embedded)
def reembed(memory: Memory, as_json: Json = False) -> Answer:
    """Recompute all embeddings with the configured model. A run that was stopped continues where it left off."""
    with progress_bar("embedding", quiet=as_json) as progress:
        chunks = memory.care.reembed(progress)
    return care.reembedded(memory.workspace_id, chunks, memory.care.model())


def _checkup(console: Console, answer: Answer) -> None:
    for item in answer["findings"]:
        mark = "repaired: " if item["repaired"] else ""
        console.print(harmless(f"{mark}{item['sentence']}"), markup=False)
        if item["next_step"]:
            say(console, f"  next: {item['next_step']}")
    for loss in answer["lost"]:
        console.print(harmless(f"not saved: {loss}"), markup=False)
    for remark in answer["remarks"]:
        say(console, remark)
    for note in answer["notes"]:
        say(console, f"not repaired: {note}")
    for stranded in answer["stranded"]:
        console.print(harmless(stranded), markup=False)
    say(console, answer["message"])


def where(project: InProject = "", as_json: Json = False) -> None:
    """Show which workspace is used here, and why."""
    print_where(project, as_json)


def status(project: InProject = "", as_json: Json = False) -> None:
    """Show what is stored for this project, how fresh it is, what a collection would take, and what hooks did."""
    in_project(project)
    found = with_app(_with_hooks)
    answer = project_report.status(found)
    said = [*lines(answer["where"]), *project_report.lines(found)]
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
