"""The code index."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Annotated

import anyio
import anyio.from_thread
import anyio.to_thread
from mcp.server.mcpserver import Context
from pydantic import Field

from memsweep.app import App
from memsweep.report import Answer
from memsweep.report import code as report
from memsweep.server.tools import ToolRow

Languages = Annotated[list[str] | None, Field(description="index only these; other files stay as they were")]
AllowEmpty = Annotated[bool, Field(description="accept that the folder is gone or empty")]


_RUNS = 8  # runs at a time; others wait here, and not in the threads that answer quick questions


class _Cancelled(Exception):
    """The client does not want the answer any more."""


def code_tools(app: App) -> list[ToolRow]:
    places = anyio.CapacityLimiter(_RUNS)

    async def index_codebase(
        repo_path: str,
        context: Context,
        languages: Languages = None,
        recursive: bool = True,
        max_file_size: int | None = None,
        include_tests: bool = True,
        workspace_id: str = "",
        allow_empty: AllowEmpty = False,
    ) -> Answer:
        """Index a folder of code, or refresh its index after changes, so that search_memory finds it. Reads what
        changed and runs nothing. Deleted files become stale; prune_memory collects them."""
        cancelled = threading.Event()
        run = partial(
            app.memory(workspace_id).code.index,
            repo_path,
            languages=languages,
            recursive=recursive,
            max_file_size=max_file_size,
            include_tests=include_tests,
            allow_empty=allow_empty,
            progress=_reporter(context, cancelled),
        )
        try:
            done = await anyio.to_thread.run_sync(run, abandon_on_cancel=True, limiter=places)
            return report.indexed(done)
        finally:
            cancelled.set()  # a thread that was left behind stops at its next batch

    return [ToolRow(index_codebase, repeats=True, files=True)]


def _reporter(context: Context, cancelled: threading.Event) -> Callable[[int, int], None]:
    def progress(done: int, total: int) -> None:
        if cancelled.is_set():
            raise _Cancelled
        anyio.from_thread.run(context.report_progress, done, total, f"{done} of {total} files")

    return progress
