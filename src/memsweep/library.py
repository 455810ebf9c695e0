"""The library door: `open_memory()`, and the same for asyncio."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from memsweep.app import BY_LIBRARY, App, make_app
from memsweep.forking import wait_first
from memsweep.services.memory import AsyncMemory, Memory
from memsweep.settings import load_settings


def open_memory(
    workspace: str = "",
    *,
    home: str | Path | None = None,
    project: str | Path = "",
    client: str = "",
    session: str = "",
) -> Memory:
    """A workspace of the configured home (or of another folder). The first write creates it.

    Without a name it is that of the project: the one a folder is in, by default the working directory. `client` and
    `session` name the program and its run: what is remembered keeps them as its origin.
    """
    return _app(home, project, client, session).memory(workspace)


def open_memory_async(
    workspace: str = "",
    *,
    home: str | Path | None = None,
    project: str | Path = "",
    client: str = "",
    session: str = "",
) -> AsyncMemory:
    """The same, with operations to await."""
    return _app(home, project, client, session).async_memory(workspace)


def _app(home: str | Path | None, project: str | Path, client: str, session: str) -> App:
    wait_first()
    overrides = {} if home is None else {"MEMSWEEP_HOME": str(home)}
    origin = replace(BY_LIBRARY, client=client, session=session)
    return make_app(load_settings(overrides=overrides), opened_by=origin, project=str(project))
