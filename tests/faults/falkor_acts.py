"""What clients of FalkorDB do when they die, beside collections: every other call that writes to a workspace."""

import os
import random
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from memsweep import clock
from memsweep.app import App, make_app
from memsweep.settings import load_settings

NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)
Given = Mapping[str, Any]


def frozen_app(variables: Mapping[str, str]) -> App:
    """In a child: an app whose clock stands still and whose ids are always the same."""
    clock.now = lambda: NOW
    clock._entropy.pid, clock._entropy.left = os.getpid(), random.Random(1).randbytes(8 * 10_000)
    app = make_app(load_settings({**variables, "MEMSWEEP_CONTEXT_ENCODING": "length/4"}))
    app.clock = lambda: NOW
    return app


def furnish(variables: Mapping[str, str]) -> dict[str, Any]:
    """A workspace with a bit of everything; the ids that the acts need."""
    app = make_app(load_settings({**variables, "MEMSWEEP_CONTEXT_ENCODING": "length/4"}))
    memory = app.memory()
    note = memory.remember("Hub was seen with Ada in London.", entities=["Hub", "Ada"], tags=["red"])
    memory.graph.relate("Ada", "knows", "Hub", weight=0.5)
    window = memory.context("talk")
    window.add([{"segment_id": f"s{n}", "text": f"message {n}", "type": "code"} for n in range(5)])
    window.prune(["s3"], strategy="stash")
    other = app.memory("elsewhere")
    other.graph.relate("Ada", "visited", "Paris")
    graph = other.graph.dump()
    app.close()
    return {"note": note.memory_id, "graph": graph}


ACTS: dict[str, Callable[[App, Given], object]] = {
    "add": lambda app, g: app.memory().remember(
        "Grace Hopper wrote to Ada.", thread_id="talk", relations=[{"from": "Grace", "relation": "knows", "to": "Ada"}]
    ),
    "add again": lambda app, g: app.memory().remember("Hub was seen with Ada in London.", tags=["blue"]),
    "add long": lambda app, g: app.memory().remember("The observatory of Maria Mitchell found a comet. " * 150),
    "relate": lambda app, g: app.memory().graph.relate("Ada", "knows", "Charles", replaces=True),
    "reinforce": lambda app, g: app.memory().graph.reinforce("Ada", "knows", "Hub"),
    "build": lambda app, g: app.memory().graph.build("Lin (Person) -[WORKS_ON]-> Engine (Project)"),
    "import": lambda app, g: app.memory().graph.load(g["graph"]),
    "context add": lambda app, g: app.memory().context("talk").add([{"text": "a word", "type": "code"}]),
    "context stash": lambda app, g: app.memory().context("talk").prune(["s0", "s1"], strategy="stash"),
    "context delete": lambda app, g: app.memory().context("talk").prune(["s0"], strategy="delete", confirm=True),
    "context restore": lambda app, g: app.memory().context("talk").restore(["s3"]),
    "context compress": lambda app, g: app.memory().context("talk").compress(["s0", "s1"], "in short"),
    "context pin": lambda app, g: app.memory().context("talk").pin(["s2"]),
    "context configure": lambda app, g: app.memory().context("talk").configure(soft_tokens=5000),
}
