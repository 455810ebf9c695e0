"""memsweep index, watch"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Annotated, TypeVar

from typer import Argument, Option

from memsweep.app import App
from memsweep.cli.door import InWorkspace, Json, print_error, progress_bar, say, show, with_app
from memsweep.errors import MemsweepError
from memsweep.model.code import IndexResult
from memsweep.model.visible import escaped_in_json
from memsweep.project.runs import GIT, note_run
from memsweep.report import Answer
from memsweep.report import code as report

T = TypeVar("T")
Folder = Annotated[str, Argument(metavar="PATH", help="The folder of code.")]
Language = Annotated[list[str] | None, Option("--language", "-l", help="Only this language; can be repeated.")]
MaxSize = Annotated[int | None, Option(metavar="BYTES", help="Skip files larger than this.")]


def index(
    path: Folder = ".",
    language: Language = None,
    recursive: Annotated[bool, Option(help="Include subfolders.")] = True,
    max_file_size: MaxSize = None,
    tests: Annotated[bool, Option(help="Include tests.")] = True,
    allow_empty: Annotated[bool, Option("--allow-empty", help="Accept that the folder is gone or empty.")] = False,
    join: Annotated[bool, Option("--join", help="Do nothing if another run is already waiting to start.")] = False,
    workspace: InWorkspace = "",
    as_json: Json = False,
) -> None:
    """Index a folder of code, or refresh its index. Only changed files are read."""

    def run(app: App) -> Answer | None:
        if join and not app.memory(workspace).code.wait_to_index(path):
            return None
        with progress_bar("indexing", quiet=as_json) as progress:
            result = app.memory(workspace).code.index(
                path,
                languages=language,
                recursive=recursive,
                max_file_size=max_file_size,
                include_tests=tests,
                allow_empty=allow_empty,
                progress=progress,
            )
        return report.indexed(result)

    answer = with_app(lambda app: _noted(app, workspace, run) if join else run(app))
    if answer is None:
        show({"joined": True}, as_json, lambda console: console.print("Another run is about to start."))
        return
    show(answer, as_json, lambda console: say(console, _with_warnings(answer)))


def _noted(app: App, workspace: str, run: Callable[[App], T]) -> T:
    """As git hooks run it: how long it took is for `memsweep status`."""
    began, failed = time.monotonic(), True
    try:
        answer = run(app)
        failed = False
        return answer
    finally:
        outcome, name = "failed" if failed else "refreshed the index", app.memory(workspace).workspace_id
        took = time.monotonic() - began
        note_run(app.settings.home, GIT, app.clock().timestamp(), took, outcome, workspace=name)


def _with_warnings(answer: Answer) -> str:
    return "\n".join([answer["message"], *(f"Warning: {said}." for said in answer.get("warnings", ()))])


_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class _Stopped(Exception):
    """Somebody wants it to end."""


def watch(path: Folder = ".", language: Language = None, workspace: InWorkspace = "", as_json: Json = False) -> None:
    """Keep the index of a folder up to date. Prints one line for every refresh that changed something.

    Ctrl-C (or SIGTERM) ends it with status 0, even in the middle of a refresh.
    """
    stop = threading.Event()

    def leave(*_: object) -> None:
        stop.set()
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_DFL)  # who asks twice does not want to wait

    for number in _SIGNALS:
        signal.signal(number, leave)

    def progress(done: int, total: int) -> None:
        if stop.is_set():
            raise _Stopped

    def run(app: App) -> None:
        from memsweep.code.watch import watch as refreshes

        memory = app.memory(workspace)
        first = True
        refresh = partial(memory.code.index, path, languages=language, progress=progress)
        with suppress(_Stopped):
            for outcome in refreshes(path, refresh, stop, app.settings.home):
                _tell(outcome, as_json, always=first)
                first = False

    with_app(run)


def _tell(outcome: IndexResult | MemsweepError, as_json: bool, *, always: bool) -> None:
    if isinstance(outcome, MemsweepError):
        print_error(outcome)
        return
    changed = outcome.files_indexed or outcome.files_moved or outcome.files_removed
    if not changed and not always:
        return
    if as_json:
        import json

        from memsweep.report.code import indexed

        print(escaped_in_json(json.dumps(indexed(outcome), ensure_ascii=False)), flush=True)
    else:
        print(
            f"{outcome.files_indexed} indexed, {outcome.files_moved} moved, {outcome.files_removed} removed,"
            f" {outcome.files_unchanged} unchanged in {outcome.processing_time_ms:.0f} ms",
            flush=True,
        )
