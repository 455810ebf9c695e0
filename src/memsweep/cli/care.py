"""memsweep doctor, compact, backup, restore, reembed"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from memsweep.app import App
from memsweep.care.invariants import next_step, sentence
from memsweep.cli.door import InWorkspace, Json, harmless, progress_bar, say, show, with_app
from memsweep.cli.options import Force
from memsweep.errors import StoreError
from memsweep.model.text import counted
from memsweep.report import care as report

if TYPE_CHECKING:
    from rich.console import Console

File = Annotated[Path, Argument(metavar="FILE")]


def doctor(
    repair: Annotated[
        bool, Option("--repair", help="Repair what can be repaired, and say what could not be saved.")
    ] = False,
    workspace: InWorkspace = "",
    as_json: Json = False,
) -> None:
    """Check a workspace and the data folder. The exit status is 5 if a problem remains."""

    def run(app: App) -> report.CheckupAnswer:
        return report.checked(app.memory(workspace).care.doctor(repair=repair), sentence, next_step)

    answer = with_app(run)
    show(answer, as_json, lambda console: _checkup(console, answer))
    if not answer["healthy"]:
        raise typer.Exit(StoreError.exit_status)


def compact(workspace: InWorkspace = "", as_json: Json = False) -> None:
    """Return unused space to the disk."""

    def run(app: App) -> report.CompactAnswer:
        memory = app.memory(workspace)
        return report.compacted(memory.workspace_id, memory.care.compact())

    answer = with_app(run)
    show(answer, as_json, lambda console: say(console, answer["message"]))


def backup(
    file: File,
    force: Force = False,
    workspace: InWorkspace = "",
    as_json: Json = False,
) -> None:
    """Copy a workspace to a file, even while others use it."""
    answer = report.backed_up(with_app(lambda app: app.memory(workspace).care.backup(file, force=force)))
    show(answer, as_json, lambda console: say(console, answer["message"]))


def restore(
    file: File,
    replace: Annotated[bool, Option("--replace", help="Move an existing workspace to the trash first.")] = False,
    workspace: InWorkspace = "",
    as_json: Json = False,
) -> None:
    """Create a workspace from a backup."""
    answer = report.restored(with_app(lambda app: app.restore(file, workspace, replace=replace)))
    show(answer, as_json, lambda console: say(console, answer["message"]))


def reembed(workspace: InWorkspace = "", as_json: Json = False) -> None:
    """Recompute all embeddings with the configured model. A run that was stopped continues where it left off."""

    def run(app: App) -> report.ReembeddedAnswer:
        memory = app.memory(workspace)
        with progress_bar("embedding", quiet=as_json) as progress:
            chunks = memory.care.reembed(progress)
        return report.reembedded(memory.workspace_id, chunks, memory.care.model())

    answer = with_app(run)
    chunks = counted(answer["chunks"], "chunk")
    show(answer, as_json, lambda console: console.print(f"Embedded {chunks} with {answer['model']}."))


def _checkup(console: Console, answer: report.CheckupAnswer) -> None:
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
