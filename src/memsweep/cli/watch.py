"""memsweep watch"""

from __future__ import annotations

import signal
import threading
from contextlib import suppress
from functools import partial

from memsweep.app import App
from memsweep.cli.door import InWorkspace, Json, print_error, with_app
from memsweep.cli.index import Folder, Language
from memsweep.errors import MemsweepError
from memsweep.model.code import IndexResult
from memsweep.model.visible import escaped_in_json

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
