"""The library door: `open_memory()`, and the same for asyncio."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from memsweep.app import BY_LIBRARY, App, make_app
from memsweep.services.memory import AsyncMemory, Memory
from memsweep.settings import load_settings


def open_memory(workspace: str = "", *, home: str | Path | None = None, client: str = "", session: str = "") -> Memory:
    """A workspace of the configured home (or of another folder). The first write creates it.

    `client` and `session` name the program and its run: what is remembered keeps them as its origin.
    """
    return _app(home, client, session).memory(workspace)


def open_memory_async(
    workspace: str = "", *, home: str | Path | None = None, client: str = "", session: str = ""
) -> AsyncMemory:
    """The same, with operations to await."""
    return _app(home, client, session).async_memory(workspace)


def _app(home: str | Path | None, client: str, session: str) -> App:
    overrides = {} if home is None else {"MEMSWEEP_HOME": str(home)}
    origin = replace(BY_LIBRARY, client=client, session=session)
    return make_app(load_settings(overrides=overrides), opened_by=origin)
