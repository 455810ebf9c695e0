"""Everything that a door of memsweep needs, imported once: what is forked from such a process starts at once."""

from __future__ import annotations

import gc
import io
import os
import sys
import tempfile
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memsweep.app import App


@cache
def warm_up() -> Any:
    """Import what the doors need and load the model, once, before the first fork."""
    import memsweep.library
    import memsweep.server.app
    import memsweep.server.tools.graph  # noqa: F401
    from memsweep.app import App, make_app
    from memsweep.cli.door import command_line
    from memsweep.embed.local import LocalEmbedder
    from memsweep.settings import load_settings

    command_line()
    model = LocalEmbedder()
    model.embed(["warm"])
    App.local_model = model  # type: ignore[assignment]  # for the children: it is only read
    with tempfile.TemporaryDirectory() as folder:
        _rehearse(make_app(load_settings({"MEMSWEEP_HOME": folder})))
    gc.freeze()
    return model


def _rehearse(app: App) -> None:
    """Features are imported when they are first used, and schemas of tools made; a child should not have to."""
    from memsweep.server.app import make_server

    make_server(app, "full")
    make_server(app)
    memory = app.memory()
    note = memory.remember("Ada met Grace.", relations=[{"from": "Ada", "relation": "knows", "to": "Grace"}])
    memory.search("Ada")
    memory.sweep.undo(memory.delete(note.memory_id, confirm=True).id)
    memory.context("talk").add([{"text": "a word"}])
    memory.graph.load(memory.graph.dump())
    memory.graph.plan_merge(["Ada"], "Grace")
    memory.care.doctor()
    app.close()


def take_place(descriptors: tuple[int, int, int], env: dict[str, str], folder: str | os.PathLike[str]) -> None:
    """In a forked child: become the process that an order describes, with these as standard input, output and error."""
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
    os.closerange(3, 1024)
    os.environ.clear()
    os.environ.update(env)
    os.chdir(folder)
    sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, closefd=False)))
    sys.stdout = io.TextIOWrapper(io.BufferedWriter(io.FileIO(1, "w", closefd=False)))
    sys.stderr = io.TextIOWrapper(io.FileIO(2, "w", closefd=False), write_through=True)
