"""The library door: `open_memory()`, and the same for asyncio."""

from __future__ import annotations

from pathlib import Path

from memsweep.app import App, make_app
from memsweep.services.memory import AsyncMemory, Memory
from memsweep.settings import load_settings


def open_memory(workspace: str = "", *, home: str | Path | None = None) -> Memory:
    """A workspace of the configured home (or of another folder). The first write creates it."""
    return _app(home).memory(workspace)


def open_memory_async(workspace: str = "", *, home: str | Path | None = None) -> AsyncMemory:
    """The same, with operations to await."""
    return _app(home).async_memory(workspace)


def _app(home: str | Path | None) -> App:
    overrides = {} if home is None else {"MEMSWEEP_HOME": str(home)}
    return make_app(load_settings(overrides=overrides))
