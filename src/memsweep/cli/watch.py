"""memsweep watch"""

from __future__ import annotations

import signal
import sys
import threading

from memsweep.app import App
from memsweep.cli.door import InWorkspace, Json, with_app
from memsweep.cli.index import Folder, Language
from memsweep.errors import MemsweepError
from memsweep.model.code import IndexResult


def watch(path: Folder = ".", language: Language = None, workspace: InWorkspace = "", as_json: Json = False) -> None:
    """Keep the index of a folder current until you stop it: one line for every refresh that changed something."""
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())

    def run(app: App) -> None:
        from memsweep.code.watch import watch as refreshes

        memory = app.memory(workspace)
        first = True
        for outcome in refreshes(path, lambda: memory.index(path, languages=language), stop):
            _tell(outcome, as_json, always=first)
            first = False

    with_app(run)


def _tell(outcome: IndexResult | MemsweepError, as_json: bool, *, always: bool) -> None:
    if isinstance(outcome, MemsweepError):
        print(f"Error: {outcome}", file=sys.stderr, flush=True)
        return
    changed = outcome.files_indexed or outcome.files_moved or outcome.files_removed
    if not changed and not always:
        return
    if as_json:
        import json

        from memsweep.report.code import indexed

        print(json.dumps(indexed(outcome), ensure_ascii=False), flush=True)
    else:
        print(
            f"{outcome.files_indexed} indexed, {outcome.files_moved} moved, {outcome.files_removed} removed,"
            f" {outcome.files_unchanged} unchanged in {outcome.processing_time_ms:.0f} ms",
            flush=True,
        )
