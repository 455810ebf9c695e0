"""What clients of FalkorDB do when they die, beside collections: every other call that writes to a workspace."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from memsweep import app as app_module
from memsweep import clock, knowledge, memory
from memsweep.app import App, make_app
from memsweep.settings import load_settings

NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)
Given = Mapping[str, Any]


def frozen_app(variables: Mapping[str, str]) -> App:
    """In a child: an app whose clock stands still and whose ids are always the same."""
    for module in (app_module, knowledge, memory, clock):
        module.now = lambda: NOW  # type: ignore[attr-defined]
    clock._entropy.pid, clock._entropy.left = os.getpid(), random.Random(1).randbytes(8 * 10_000)
    return make_app(load_settings({**variables, "MEMSWEEP_CONTEXT_ENCODING": "length/4"}))


def furnish(variables: Mapping[str, str]) -> dict[str, Any]:
    """A workspace with a bit of everything; the ids that the acts need."""
    app = make_app(load_settings({**variables, "MEMSWEEP_CONTEXT_ENCODING": "length/4"}))
    memory = app.memory()
    note = memory.add("Hub was seen with Ada in London.", entities=["Hub", "Ada"], tags=["red"])
    memory.relate("Ada", "knows", "Hub", weight=0.5)
    window = memory.window("talk")
    window.add([{"segment_id": f"s{n}", "text": f"message {n}", "type": "code"} for n in range(5)])
    window.prune(["s3"], strategy="stash")
    other = app.memory("elsewhere")
    other.relate("Ada", "visited", "Paris")
    graph = other.dump_graph()
    app.close()
    return {"note": note.memory_id, "graph": graph}


ACTS: dict[str, Callable[[App, Given], object]] = {
    "add": lambda app, g: app.memory().add(
        "Grace Hopper wrote to Ada.", thread_id="talk", relations=[{"from": "Grace", "relation": "knows", "to": "Ada"}]
    ),
    "add again": lambda app, g: app.memory().add("Hub was seen with Ada in London.", tags=["blue"]),
    "add long": lambda app, g: app.memory().add("The observatory of Maria Mitchell found a comet. " * 150),
    "relate": lambda app, g: app.memory().relate("Ada", "knows", "Charles", replaces=True),
    "reinforce": lambda app, g: app.memory().reinforce("Ada", "knows", "Hub"),
    "build": lambda app, g: app.memory().build_graph("Ada (Person) -[WORKS_ON]-> Engine (Project)"),
    "import": lambda app, g: app.memory().load_graph(g["graph"]),
    "context add": lambda app, g: app.memory().window("talk").add([{"text": "a word", "type": "code"}]),
    "context stash": lambda app, g: app.memory().window("talk").prune(["s0", "s1"], strategy="stash"),
    "context delete": lambda app, g: app.memory().window("talk").prune(["s0"], strategy="delete", confirm=True),
    "context restore": lambda app, g: app.memory().window("talk").restore(["s3"]),
    "context compress": lambda app, g: app.memory().window("talk").compress(["s0", "s1"], "in short"),
    "context pin": lambda app, g: app.memory().window("talk").pin(["s2"]),
    "context configure": lambda app, g: app.memory().window("talk").configure(soft_tokens=5000),
}
