"""Processes that index, forked from one that has imported everything; to be killed, or to run side by side."""

import multiprocessing
import os
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import memsweep.library
import memsweep.memory.recall
import memsweep.store.sqlite.engine  # noqa: F401
from memsweep.code import index
from memsweep.code.sandbox import Sandbox
from tests.code.indexed_workspace import IndexedWorkspace
from tests.support.waiting import PATIENCE

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload([__name__])


class Indexer:
    """A child that indexes one folder once; it says the numbers of its run, if it lives to see them."""

    def __init__(self, home: Path, root: Path, *, batch_chunks: int = 512, **options: Any) -> None:
        self._ours, theirs = _context.Pipe()
        self.process: BaseProcess = _context.Process(
            target=_index, args=(theirs, str(home), str(root), batch_chunks, options), daemon=True
        )
        self.process.start()
        theirs.close()

    def said(self) -> Any:
        """The next thing it says: `begun`, how far it is (and then waits for `go`), or its result."""
        assert self._ours.poll(PATIENCE), "the child says nothing"
        return self._ours.recv()

    def go(self) -> None:
        self._ours.send("go")

    def cpu_seconds(self) -> float | None:
        """How much it has worked so far; None when it has ended."""
        try:
            return int(Path(f"/proc/{self.process.pid}/schedstat").read_text().split()[0]) / 1e9
        except (OSError, IndexError):
            return None

    def kill(self) -> None:
        self.process.kill()
        self.end()

    def end(self) -> int | None:
        self.process.join(PATIENCE)
        self._ours.close()
        return self.process.exitcode


def _index(pipe: Connection, home: str, root: str, batch_chunks: int, options: dict[str, Any]) -> None:
    stop_at = options.pop("stop_at", None)

    def progress(done: int, total: int) -> None:
        if stop_at is not None and done >= stop_at:
            pipe.send([done, total])
            pipe.recv()

    index._BATCH_CHUNKS = batch_chunks
    with Sandbox() as sandbox, IndexedWorkspace(Path(home), sandbox) as workspace:
        pipe.send("begun")
        result = workspace.memory.code.index(root, progress=progress, **options)
        pipe.send({name: getattr(result, name) for name in ("files_indexed", "files_moved", "chunks_embedded")})
    os._exit(0)
