"""The knowledge graph at 1,000 and at 100,000 entities: walks, status, doubts, communities, export and import,
pruning.

The store is written in bulk; everything that is measured is the product, through the library. Entities have
five relations each on average, most of them to near ones, and some to a few hubs that everything refers to.
"""

from __future__ import annotations

import os
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw

from common import Figure, arguments, at_most, percentile, show_figures, write_json
from memsweep import Memory, open_memory
from memsweep.clock import now
from memsweep.model.times import to_micros
from memsweep.store.file import connect
from memsweep.store.file.schema import WORKSPACE_MIGRATIONS

TYPES = ("Person", "Project", "Concept", "Decision", "Fact", "Event", "Object", "Function")
RELATIONS = ("KNOWS", "WORKS_ON", "USES", "DEPENDS_ON", "MENTIONS", "CALLS", "PART_OF")
HUBS = 50
HUB_SHARE = 0.02  # of the relations lead to a hub
DAY = 86_400_000_000


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--entities", type=int, default=100_000, help="of the large graph (%(default)s)")
    parser.add_argument("--relations", type=int, default=500_000, help="of the large graph (%(default)s)")
    parser.add_argument("--queries", type=int, default=200, help="walks that are timed (%(default)s)")
    options = parser.parse_args()
    figures: list[Figure] = []
    for entities, relations, limit in ((1_000, 5_000, 20.0), (options.entities, options.relations, 100.0)):
        with tempfile.TemporaryDirectory(prefix="memsweep-graph-") as folder:
            began = time.perf_counter()
            build(Path(folder), entities, relations)
            print(
                f"{entities:,} entities, {relations:,} relations made in {time.perf_counter() - began:.0f} s",
                flush=True,
            )
            with open_memory("graph", home=Path(folder)) as memory:
                figures += walks(memory, entities, options.queries, limit)
                figures += surveys(memory, entities, Path(folder))
                figures += pruning(memory, entities)
    show_figures(figures)
    write_json(options.json, "graph", figures, entities=options.entities, relations=options.relations)


def walks(memory: Memory, entities: int, queries: int, limit_ms: float) -> list[Figure]:
    """A walk of two steps from entities anywhere, and from hubs, of which there is nothing larger."""
    chance = random.Random(1)
    anywhere = [f"name {chance.randrange(entities)}" for _ in range(queries)]
    hubs = [f"name {hub}" for hub in range(min(HUBS, entities))]

    def related(name: str) -> Any:
        return memory.graph.related(name, depth=2)

    def query(name: str) -> Any:
        return memory.graph.query([name], hops=2, min_weight=0.1)

    size = f"{entities:,}"
    return [
        at_most(f"get_related depth 2, p50, {size}", p50(related, anywhere), limit_ms, "ms"),
        at_most(f"graph_query 2 hops, p50, {size}", p50(query, anywhere), limit_ms, "ms"),
        Figure(f"get_related depth 2 from a hub, p50, {size}", p50(related, hubs), "ms"),
    ]


def surveys(memory: Memory, entities: int, folder: Path) -> list[Figure]:
    size = f"{entities:,}"
    calls: dict[str, Callable[[], Any]] = {
        "graph_entities": lambda: memory.graph.entities("name 1", limit=20),
        "graph_status": memory.graph.status,
        "graph_validate": memory.graph.validate,
        "graph_communities": memory.graph.communities,
        "graph_context": memory.graph.briefing,
        "export_graph (json)": lambda: memory.graph.export_file(folder / "graph.json"),
        "import_graph (json, nothing new)": lambda: memory.graph.import_file(folder / "graph.json"),
    }
    return [Figure(f"{name}, {size}", seconds(call), "s") for name, call in calls.items()]


def pruning(memory: Memory, entities: int) -> list[Figure]:
    """graph_prune of what has faded: about a tenth of the relations, and what they leave alone."""
    limits = (0.04, 0.1) if entities <= 1_000 else (3.0, 3.0)
    size = f"{entities:,}"
    plans: list[Any] = []
    memory.graph.plan_prune()  # as a server that has planned before
    preview = seconds(lambda: plans.append(memory.graph.plan_prune(edge_threshold=0.08)))
    receipts: list[Any] = []
    execute = seconds(lambda: receipts.append(memory.sweep.apply(plans[0].id, confirm=True)))
    totals = receipts[0].totals
    return [
        at_most(f"graph_prune preview, {size}", preview, limits[0], "s"),
        at_most(f"graph_prune execute, {size}", execute, limits[1], "s"),
        Figure(f"  entities and relations pruned, {size}", totals.entities + totals.relations),
        Figure(f"undo of it, {size}", seconds(lambda: memory.sweep.undo(receipts[0].id)), "s"),
    ]


def p50(call: Callable[[str], Any], names: list[str]) -> float:
    """Milliseconds; the first call, which opens the file, is not counted."""
    call(names[0])
    return percentile([seconds(lambda name=name: call(name)) for name in names], 0.5) * 1000  # type: ignore[misc]


def seconds(call: Callable[[], Any]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def build(home: Path, entities: int, relations: int) -> None:
    with open_memory("graph", home=home) as memory:
        memory.graph.relate("a first fact", "MAKES", "the workspace")
    (file,) = (home / "workspaces").glob("*.db")
    db = connect.connect(file, WORKSPACE_MIGRATIONS)
    db.execute("pragma synchronous=off; pragma cache_size=-400000")
    with db:
        fill(db, entities, relations)
    db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    db.close()


def fill(db: apsw.Connection, entities: int, relations: int) -> None:
    chance = random.Random(2)
    at, first = to_micros(now()), 10

    def things() -> Iterator[tuple[Any, ...]]:
        for n in range(entities):
            kind, seen = TYPES[n % len(TYPES)], at - chance.randrange(400) * DAY
            yield first + n, f"ent_{n:012}", f"name {n}", f"name {n}", kind, kind.lower(), seen, seen

    def facts() -> Iterator[tuple[Any, ...]]:
        for n in range(relations):
            subject = n % entities
            far = chance.random()
            target = chance.randrange(HUBS) if far < HUB_SHARE else (subject + chance.randrange(1, 200)) % entities
            relation, seen = chance.choice(RELATIONS), at - chance.randrange(400) * DAY
            ends = (first + subject, first + target)
            yield f"rel_{n:012}", *ends, relation, relation.lower(), chance.random(), seen, seen, seen

    db.executemany(
        "insert into entity (id, uid, name, name_key, type, type_key, created_at, last_seen)"
        " values (?, ?, ?, ?, ?, ?, ?, ?)",
        things(),
    )
    db.executemany(
        "insert into relation (uid, subject, object, relation, relation_key, weight, created_at, last_seen, valid_at)"
        " values (?, ?, ?, ?, ?, ?, ?, ?, ?) on conflict do nothing",
        facts(),
    )


if __name__ == "__main__":
    os.environ.pop("MEMSWEEP_HOME", None)
    main()
