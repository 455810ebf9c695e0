"""The collector: plan, apply and undo 10,000 memories out of 100,000, beside plain SQL that deletes the same rows.

The store is written in bulk, not through `add`; everything else is the product. The plain deletion works on
a copy of the same file with the same pragmas and keeps the full text in step as the product does, but it
cannot undo, and it does not look at what it deletes. Each side runs in a fresh process, in turns.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import apsw

import notes
from common import Figure, arguments, at_most, blend, conversations_from, show_figures, table, write_json
from engines import SLOWER_AT_MOST, app_of
from falkor_server import server_in
from memsweep import Memory, open_memory
from memsweep.clock import now
from memsweep.model.text import content_hash
from memsweep.model.times import to_micros
from memsweep.store.file import connect
from memsweep.store.file.schema import WORKSPACE_MIGRATIONS

WORKSPACE = "large"
DIMENSION = 256
CHUNKS = 3  # of each memory
PRUNED = 10  # every so many-th memory is stale
ENTITIES, RELATIONS = 200_000, 1_000_000
DEAD = 10  # every so many-th cluster of entities has no root
CLUSTER = 1000
DAY = 86_400_000_000
MAKE_LISTS = "".join(
    f"create temp table picked_{kind} (key integer primary key);" for kind in ("memory", "chunk", "entity", "relation")
)
UNINDEX_CHUNKS = """
    insert into chunk_fts (chunk_fts, rowid, text)
    select 'delete', chunk.id, spread_script(chunk.text || ' ' || chunk.words) from temp.picked_chunk
    join chunk on chunk.id = temp.picked_chunk.key order by chunk.id"""
MENTION = "insert into mention (chunk, entity) values (?, ?) on conflict do nothing"


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--memories", type=int, default=100_000, help="how many (%(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="of each measurement; the best counts (%(default)s)")
    parser.add_argument(
        "--falkor", action="store_true", help="only the notes, on a FalkorDB server that is filled first (minutes)"
    )
    parser.add_argument("--side", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.side:
        name, home = options.side
        print(json.dumps(SIDES[name](Path(home))))
        return
    if options.falkor:
        with tempfile.TemporaryDirectory(prefix="memsweep-collector-") as folder:
            figures = on_falkor(Path(folder), options.memories, options.rounds)
        show_figures(figures)
        write_json(options.json, "collector on FalkorDB", figures, memories=options.memories)
        return
    conversations, what = conversations_from(options.data)
    texts = (turn.text for turn in blend(conversations, options.memories * CHUNKS))
    with tempfile.TemporaryDirectory(prefix="memsweep-collector-") as folder:
        bench = Bench(Path(folder), options.rounds)
        print(f"{what}; {options.memories:,} memories with {CHUNKS} chunks each, one in {PRUNED} stale", flush=True)
        bench.build("prune", lambda db: fill_memories(db, texts, options.memories))
        figures = pruning(bench)
        print(f"{ENTITIES:,} entities, {RELATIONS:,} relations, one in {DEAD} clusters without a root", flush=True)
        bench.build("graph", fill_graph)
        figures += unreachable(bench)
        bench.build("small", lambda db: fill_memories(db, small_texts(), 1998, stale_every=2))
        figures += small(bench)
        figures += one_and_all(bench, options.memories)
    print()
    print(table(("seconds, each round", "", ""), bench.rows), end="\n\n")
    show_figures(figures)
    write_json(options.json, "collector", figures, text=what, memories=options.memories, seconds=bench.seconds)


def small_texts() -> Iterator[str]:
    return (f"a short remark, number {number}, about the weather" for number in range(1998 * CHUNKS))


class Bench:
    """Stores that are made once and copied for each measurement, and what was measured."""

    def __init__(self, folder: Path, rounds: int) -> None:
        self._folder, self._rounds = folder, rounds
        self.seconds: dict[str, dict[str, list[float]]] = {}

    def build(self, name: str, fill: Callable[[apsw.Connection], None]) -> None:
        """A home with one workspace, filled in bulk."""
        home = self._folder / name
        began = time.perf_counter()
        with open_memory(WORKSPACE, home=home) as memory:
            memory.remember("a first memory, which makes the workspace and names its model")
        with connect.plain_errors(home):
            db = connect.connect(workspace_file(home), WORKSPACE_MIGRATIONS)
            db.execute("pragma synchronous=off; pragma cache_size=-400000")
            with db:
                fill(db)
            db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            db.close()
        size = workspace_file(home).stat().st_size / 1e6
        print(f"  store {name!r} of {size:,.0f} MB made in {time.perf_counter() - began:.0f} s", flush=True)

    def build_notes(self, name: str, count: int) -> None:
        began = time.perf_counter()
        notes.build(self._folder / name, count)
        print(f"  store {name!r} made in {time.perf_counter() - began:.0f} s", flush=True)

    def run(self, store: str, sides: Sequence[str]) -> dict[str, dict[str, float]]:
        """Every side in turn, each on a fresh copy in a fresh process; the best round, which noise spoiled least."""
        measured: dict[str, list[dict[str, float]]] = {side: [] for side in sides}
        for _ in range(self._rounds):
            for side in sides:
                home = self._folder / "copy"
                shutil.copytree(self._folder / store, home)
                command = [sys.executable, __file__, "--side", side, str(home)]
                done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
                measured[side].append(json.loads(done.stdout))
                shutil.rmtree(home)
        for side, runs in measured.items():
            for what in runs[0]:
                self.seconds.setdefault(f"{store}: {side}", {})[what] = [run[what] for run in runs]
        return {side: {what: min(run[what] for run in runs) for what in runs[0]} for side, runs in measured.items()}

    @property
    def rows(self) -> list[tuple[str, str, str]]:
        return [
            (side, what, " ".join(f"{value:,.3f}" for value in values))
            for side, runs in self.seconds.items()
            for what, values in runs.items()
            if what != "megabytes"
        ]


def pruning(bench: Bench) -> list[Figure]:
    sides = bench.run("prune", ("plain deletion", "product"))
    plain, product = sides["plain deletion"]["delete"], sides["product"]
    return [
        Figure("plain SQL deletes 10,000 memories", plain, "s"),
        ratio("plan", product["plan"], plain, 4.0, "a plain deletion"),
        ratio("apply", product["apply"], plain, 2.5, "a plain deletion"),
        ratio("undo", product["undo"], plain, 2.5, "a plain deletion"),
        Figure("purge of what was applied", product["purge"], "s"),
        Figure("peak memory of plan, apply, undo, purge", product["megabytes"], "MB"),
    ]


def unreachable(bench: Bench) -> list[Figure]:
    sides = bench.run("graph", ("union-find", "unreachable"))
    bare, product = sides["union-find"]["union-find"], sides["unreachable"]
    return [
        Figure("bare union-find over the edges in a list", bare, "s"),
        ratio("plan of unreachable_entities", product["plan"], bare, 5.0, "a bare union-find"),
        Figure("apply of unreachable_entities", product["apply"], "s"),
        ratio("undo of unreachable_entities", product["undo"], product["apply"], 3, "its apply"),
        Figure("peak memory of it", product["megabytes"], "MB"),
    ]


def small(bench: Bench) -> list[Figure]:
    measured = bench.run("small", ("under a thousand",))["under a thousand"]
    return [
        at_most(
            "999 stale memories, plan and apply",
            measured["both"],
            5 / 20,
            "s",
            " (a twentieth of 5 s)",
        )
    ]


def one_and_all(bench: Bench, memories: int) -> list[Figure]:
    """A verdict on one thing, the plan of duplicates, a page and the counts, at a tenth of the memories and at all."""
    figures: list[Figure] = []
    for count in (memories // 10, memories):
        bench.build_notes(f"notes {count}", count)
        seen = bench.run(f"notes {count}", ("notes",))["notes"]
        for name, limits in NOTES.items():
            figures.append(at_most(f"{name}, {count:,} memories", seen[name], limits[count == memories], "s"))
        figures.append(Figure(f"peak memory of it, {count:,} memories", seen["megabytes"], "MB"))
    return figures


def on_falkor(folder: Path, memories: int, rounds: int) -> list[Figure]:
    """The same on a FalkorDB server, with the processor time of the server; the best of some rounds."""
    figures: list[Figure] = []
    for count in (memories // 10, memories):
        home, place = folder / f"notes {count}", folder / f"server {count}"
        notes.build(home, count)
        place.mkdir()
        with server_in(place) as server:
            embedded = app_of(home, "")
            embedded.copy_workspace(notes.WORKSPACE, "", server.url)
            embedded.close()
            app = app_of(home, server.url)
            runs = [looked_at(app.memory(notes.WORKSPACE), server.cpu_seconds) for _ in range(rounds)]
            app.close()
        for name, limits in NOTES.items():
            best, limit = min(run[name] for run in runs), limits[count == memories]
            limit *= 1 if name in ("explain", "plan of duplicates") else SLOWER_AT_MOST
            figures.append(at_most(f"{name}, {count:,} memories on FalkorDB", best, limit, "s"))
        figures.append(Figure(f"peak memory so far, {count:,} memories on FalkorDB", peak_megabytes(), "MB"))
    return figures


def ratio(name: str, seconds: float, base: float, limit: float, what: str) -> Figure:
    return at_most(name, seconds / base, limit, "x", f" {what}; {seconds:.3f} s")


def workspace_file(home: Path) -> Path:
    (file,) = (home / "workspaces").glob("*.db")
    return file


# Stores


def fill_memories(db: apsw.Connection, texts: Iterator[str], count: int, stale_every: int = PRUNED) -> None:
    """Code files of three chunks with vectors, tags, mentions and relations that they state."""
    chance = random.Random(3)
    at = to_micros(now()) - 30 * DAY
    db.execute("insert into code_root (id, path) values (1, '/repository')")
    fill_entities(db, count, at)
    for memory in range(2, count + 2):
        parts = [next(texts) for _ in range(CHUNKS)]
        text = "\n\n".join(parts)
        db.execute(
            "insert into memory (id, uid, text, source, created_at, updated_at, last_seen_at, content_hash, stale,"
            " tags) values (?, ?, ?, 'code_indexer', ?, ?, ?, ?, ?, '[\"tag\"]')",
            (memory, f"mem_{memory:012}", text, at, at, at, content_hash(text), memory % stale_every == 0),
        )
        db.execute("insert into memory_tag values ('tag', ?)", (memory,))
        db.execute(
            "insert into code_file (memory, root, path, language, stamp, digest, read_at_ns, lines, functions, classes,"
            " encoding) values (?, 1, ?, 'python', '1:1', 'd', 1, 3, 1, 0, 'utf-8')",
            (memory, f"src/file{memory}.py"),
        )
        for position, part in enumerate(parts):
            chunk = (memory - 2) * CHUNKS + position + 2
            db.execute(
                "insert into chunk (id, uid, memory, position, text, start, first_line, last_line, hash, stream,"
                " stream_position) values (?, ?, ?, ?, ?, 0, 1, 1, ?, ?, ?)",
                (chunk, f"chk_{chunk:012}", memory, position, part, content_hash(part), -memory, position),
            )
            db.execute("insert into vector values (?, ?)", (chunk, chance.randbytes(DIMENSION)))
            db.execute("insert into chunk_fts (rowid, text) values (?, spread_script(? || ' '))", (chunk, part))
            db.execute(MENTION, (chunk, chance.randrange(1, count // 5 + 1)))
        db.execute(MENTION, (chunk, count // 5 + memory - 1))
        db.execute("insert into relation_source values (?, ?)", (memory - 1, memory))


def fill_entities(db: apsw.Connection, count: int, at: int) -> None:
    """Names that many files share, one that each has to itself, and a relation between the two."""
    shared = count // 5
    db.executemany(
        "insert into entity (id, uid, name, name_key, type, type_key, created_at, last_seen)"
        " values (?, ?, ?, ?, 'Function', 'function', ?, ?)",
        ((n, f"ent_{n:012}", f"name{n}", f"name{n}", at, at) for n in range(1, shared + count + 1)),
    )
    db.executemany(
        "insert into relation (id, uid, subject, object, relation, relation_key, weight, created_at, last_seen)"
        " values (?, ?, ?, ?, 'CALLS', 'calls', 1.0, ?, ?)",
        ((n, f"rel_{n:012}", shared + n, n % shared + 1, at, at) for n in range(1, count + 1)),
    )


def fill_graph(db: apsw.Connection) -> None:
    """Clusters of entities, each well connected; a memory mentions one entity of all clusters but some."""
    chance = random.Random(5)
    at = to_micros(now()) - 30 * DAY
    db.executemany(
        "insert into entity (id, uid, name, name_key, type, type_key, created_at, last_seen)"
        " values (?, ?, ?, ?, 'Concept', 'concept', ?, ?)",
        ((n, f"ent_{n:012}", f"name{n}", f"name{n}", at, at) for n in range(1, ENTITIES + 1)),
    )

    def relations() -> Iterator[tuple[object, ...]]:
        for number in range(RELATIONS):
            first, which = divmod(number, RELATIONS // ENTITIES)
            step = chance.randrange(CLUSTER) if which else 1  # the first of each makes the cluster a ring
            second = first // CLUSTER * CLUSTER + (first + step) % CLUSTER
            yield number + 1, f"rel_{number:012}", first + 1, second + 1, f"r{which}", f"r{which}", at, at

    db.executemany(
        "insert into relation (id, uid, subject, object, relation, relation_key, weight, created_at, last_seen)"
        " values (?, ?, ?, ?, ?, ?, 1.0, ?, ?)",
        relations(),
    )
    db.executemany(
        "insert into mention (chunk, entity) values (1, ?)",
        ((cluster * CLUSTER + 1,) for cluster in range(ENTITIES // CLUSTER) if cluster % DEAD),
    )


# Sides


def plain_deletion(home: Path) -> dict[str, float]:
    """The same rows, gone for good, by keys that were looked up before."""
    db = connect.connect(workspace_file(home), WORKSPACE_MIGRATIONS)
    db.execute(MAKE_LISTS)
    db.execute("insert into temp.picked_memory select id from memory where stale")
    db.execute("insert into temp.picked_chunk select id from chunk where memory in temp.picked_memory")
    db.execute(
        "insert into temp.picked_relation select relation from relation_source where memory in temp.picked_memory"
    )
    db.execute("insert into temp.picked_entity select subject from relation where id in temp.picked_relation")
    began = time.perf_counter()
    with connect.immediate(db):
        db.execute(UNINDEX_CHUNKS)
        for table_name, column, listed in (
            ("vector", "chunk", "chunk"),
            ("mention", "chunk", "chunk"),
            ("chunk", "id", "chunk"),
            ("relation_source", "memory", "memory"),
            ("relation", "id", "relation"),
            ("entity", "id", "entity"),
            ("memory_tag", "memory", "memory"),
            ("code_file", "memory", "memory"),
            ("memory", "id", "memory"),
        ):
            db.execute(f"delete from {table_name} where {column} in (select key from temp.picked_{listed})")
    return {"delete": time.perf_counter() - began}


def product(home: Path) -> dict[str, float]:
    """Plan, apply, undo; then apply once more and purge."""
    with open_memory(WORKSPACE, home=home) as memory:
        memory.stats()
        seconds, plan = timed(lambda: memory.sweep.plan("stale_code"))
        measured = {"plan": seconds}
        measured["apply"], receipt = timed(lambda: memory.sweep.apply(plan.id, confirm=True, allow_large=True))
        assert receipt.totals == plan.totals, (receipt.totals, plan.totals)
        measured["undo"], undone = timed(lambda: memory.sweep.undo(receipt.id))
        assert undone.totals == plan.totals, (undone.totals, plan.totals)
        memory.sweep.prune("stale_code", confirm=True, allow_large=True)
        measured["purge"], _ = timed(lambda: memory.sweep.purge(0, confirm=True))
    return {**measured, "megabytes": peak_megabytes()}


def union_find(home: Path) -> dict[str, float]:
    """Nothing but the algorithm, over a list of edges."""
    db = connect.connect(workspace_file(home), WORKSPACE_MIGRATIONS)
    edges = list(db.execute("select subject, object from relation"))
    began = time.perf_counter()
    parent = list(range(ENTITIES + 1))
    for a, b in edges:
        while parent[a] != a:
            parent[a] = a = parent[parent[a]]
        while parent[b] != b:
            parent[b] = b = parent[parent[b]]
        if a != b:
            parent[b if a < b else a] = a if a < b else b
    return {"union-find": time.perf_counter() - began}


def unreachable_entities(home: Path) -> dict[str, float]:
    with open_memory(WORKSPACE, home=home) as memory:
        memory.stats()
        seconds, plan = timed(lambda: memory.sweep.plan("unreachable_entities"))
        assert plan.totals.entities == ENTITIES // DEAD, plan.totals
        measured = {"plan": seconds}
        measured["apply"], receipt = timed(lambda: memory.sweep.apply(plan.id, confirm=True))
        assert receipt.totals == plan.totals
        measured["undo"], _ = timed(lambda: memory.sweep.undo(receipt.id))
    return {**measured, "megabytes": peak_megabytes()}


def under_a_thousand(home: Path) -> dict[str, float]:
    with open_memory(WORKSPACE, home=home) as memory:
        memory.stats()

        def both() -> Any:
            plan = memory.sweep.plan("stale_code")
            return memory.sweep.apply(plan.id, confirm=True, allow_large=True)

        seconds, receipt = timed(both)
        assert receipt.totals.memories == 999, receipt.totals
    return {"both": seconds}


def many_notes(home: Path) -> dict[str, float]:
    with open_memory(notes.WORKSPACE, home=home) as memory:
        measured = looked_at(memory)
    return {**measured, "megabytes": peak_megabytes()}


def looked_at(memory: Memory, served: Callable[[], float] = lambda: 0.0) -> dict[str, float]:
    """Each as processor time, also of the server (`served`): what else runs on the machine is not measured."""

    def busy(work: Callable[[], Any]) -> float:
        began, before = time.process_time(), served()
        work()
        return time.process_time() - began + served() - before

    memory.stats()
    listed = memory.memories(limit=20)
    entities = memory.graph.names(limit=10).entities
    things = [*(each.id for each in listed.memories), *(each.id for each in entities)]
    memory.sweep.explain(things[0])
    return {
        "explain": median(busy(partial(memory.sweep.explain, each)) for each in things),
        "a page of memories": busy(lambda: memory.memories(filters={"tags": ["deploy"]}, cursor=None)),
        "the counts": busy(memory.counts),
        "plan of duplicates": busy(lambda: memory.sweep.plan("duplicates")),
    }


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    began = time.perf_counter()
    result = work()
    return time.perf_counter() - began, result


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)


SIDES = {
    "plain deletion": plain_deletion,
    "product": product,
    "union-find": union_find,
    "unreachable": unreachable_entities,
    "under a thousand": under_a_thousand,
    "notes": many_notes,
}
# Seconds of a processor at a tenth of 100,000 memories, and at all of them.
NOTES = {
    "explain": (0.05, 0.6),
    "plan of duplicates": (2.0, 24.0),
    "a page of memories": (0.01, 0.1),
    "the counts": (0.05, 0.3),
}


if __name__ == "__main__":
    os.environ.pop("MEMSWEEP_HOME", None)
    main()
