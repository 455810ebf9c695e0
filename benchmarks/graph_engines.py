"""The graph as a whole on both engines, side by side: import, survey, export, status, and walks from anywhere."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from random import Random

from common import Figure, arguments, show_figures, write_json
from falkor_server import server_in
from memsweep.app import make_app
from memsweep.clock import new_id, now
from memsweep.graph import carrying
from memsweep.graph.whole_graph import load
from memsweep.model.graph import ExportedEntity, ExportedRelation, GraphDump
from memsweep.services.access import graph_facts
from memsweep.services.memory import Memory
from memsweep.settings import load_settings

TYPES = ("Person", "Project", "Concept")
KINDS = ("KNOWS", "USES", "CALLS")
TIMES, WALKS = 3, 100
SLOWER_AT_MOST = 3.0


def graph_of(entities: int, relations: int) -> GraphDump:
    """Entities, and relations between any two of them, told over the last hundred days."""
    chance, moment = Random(1), now()

    def earlier() -> timedelta:
        return timedelta(days=100 * chance.random())

    things = tuple(
        ExportedEntity(
            new_id("ent"), f"name {number}", chance.choice(TYPES), 1.0, True, False, moment - timedelta(100),
            moment - earlier(),
        )
        for number in range(entities)
    )  # fmt: skip
    ends = {(chance.randrange(entities), chance.choice(KINDS), chance.randrange(entities)) for _ in range(relations)}
    facts = tuple(
        ExportedRelation(
            new_id("rel"), things[one].id, things[other].id, kind, chance.random(), 1, True, moment - timedelta(100),
            moment - earlier(), moment - timedelta(100), None,
        )
        for one, kind, other in sorted(ends)
    )  # fmt: skip
    return GraphDump(things, facts)


def timed(act: Callable[[], object]) -> float:
    begin = time.perf_counter()
    act()
    return time.perf_counter() - begin


def measure(memory: Memory, dump: GraphDump) -> dict[str, float]:
    memory.graph.relate("begin", "MAKES", "workspace")
    tools = graph_facts(memory._access)
    taken = timed(lambda: load(tools, dump))
    names = Random(2).sample([thing.name for thing in dump.entities], WALKS)
    walks = [timed(lambda name=name: memory.graph.related(name, depth=2)) for name in names]  # type: ignore[misc]
    acts: dict[str, Callable[[], object]] = {
        "survey": tools.survey,
        "dump": lambda: carrying.dump(tools.store),
        "status": memory.graph.status,
        "import again": lambda: load(tools, dump),
    }
    found = {name: min(timed(act) for _ in range(TIMES)) for name, act in acts.items()}
    return {"import": taken, **found, "walk of two steps": statistics.median(walks)}


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--entities", type=int, default=20_000, help="(%(default)s)")
    parser.add_argument("--relations", type=int, default=100_000, help="(%(default)s)")
    options = parser.parse_args()
    dump = graph_of(options.entities, options.relations)
    told: list[dict[str, float]] = []
    with tempfile.TemporaryDirectory(prefix="memsweep-graphs-") as folder:
        (Path(folder) / "server").mkdir()
        with server_in(Path(folder) / "server") as server:
            for store in ({}, {"MEMSWEEP_STORE": server.url}):
                app = make_app(load_settings({"MEMSWEEP_HOME": str(Path(folder) / "home"), **store}))
                told.append(measure(app.memory("graph"), dump))
                app.close()
    sqlite, falkor = told
    figures = []
    for name, seconds in falkor.items():
        ratio = seconds / sqlite[name]
        shown = f"{name}: falkor / sqlite"
        figures.append(Figure(shown, ratio, "times as long", f"<= {SLOWER_AT_MOST:g}", ratio <= SLOWER_AT_MOST))
    show_figures(figures)
    print({name: (round(sqlite[name], 4), round(seconds, 4)) for name, seconds in falkor.items()})
    write_json(options.json, "graph_engines", figures, sqlite=sqlite, falkor=falkor, entities=options.entities)


if __name__ == "__main__":
    main()
