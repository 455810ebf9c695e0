"""The library door: `open_memory()`, and the same for asyncio."""

from __future__ import annotations

from pathlib import Path

from memsweep.app import App, make_app
from memsweep.services.memory import AsyncMemory, Memory
from memsweep.settings import load_settings


def open_memory(workspace: str = "", *, home: str | Path | None = None, project: str | Path = "") -> Memory:
    """A workspace of the configured home (or of another folder). The first write creates it.

    Without a name it is that of the project: the one a folder is in, by default the working directory.
    """
    return _app(home, project).memory(workspace)


def open_memory_async(workspace: str = "", *, home: str | Path | None = None, project: str | Path = "") -> AsyncMemory:
    """The same, with operations to await."""
    return _app(home, project).async_memory(workspace)


def _app(home: str | Path | None, project: str | Path) -> App:
    overrides = {} if home is None else {"MEMSWEEP_HOME": str(home)}
    return make_app(load_settings(overrides=overrides), project=str(project))
