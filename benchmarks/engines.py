"""Both engines side by side on one machine, the same work: add, search, index, plan, apply, undo, restart, 8 writers.

The workspace is filled in SQLite and copied to FalkorDB, so that both search the same chunks. Both sync before they
answer. Processor time, the server's included, is told too: others disturb it less, and it says what holds writers up.
"""

from __future__ import annotations

import multiprocessing
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from multiprocessing.synchronize import Barrier
from pathlib import Path
from random import Random

from common import Figure, arguments, show_figures, table, write_json
from falkor_server import Server, server_in
from memsweep.app import App, make_app
from memsweep.clock import new_id
from memsweep.embed.protocol import quantise
from memsweep.model.memory import MemoryDraft, NewMemory
from memsweep.model.revision import Piece
from memsweep.model.text import content_hash
from memsweep.settings import load_settings
from memsweep.store.adding import add_in
from memsweep.store.sqlite.rows import SqliteRows

WRITERS, EACH, ADDS, SEARCHES, BATCH = 8, 100, 200, 60, 1000
SLOWER_AT_MOST = 3.0
Times = dict[str, float]


def app_of(home: Path, url: str) -> App:
    store = {"MEMSWEEP_STORE": url} if url else {}
    return make_app(load_settings({"MEMSWEEP_HOME": str(home), **store}))


def texts(count: int, seed: int) -> list[str]:
    random = Random(seed)
    words = [f"word{number}" for number in range(4000)]
    return [f"{' '.join(random.choices(words, k=40))} number {number} of {seed}" for number in range(count)]


def timed(act: Callable[[], object]) -> float:
    begin = time.perf_counter()
    act()
    return time.perf_counter() - begin


def costs(act: Callable[[str], object], given: str) -> tuple[float, float]:
    """Seconds, and those of processor time of this process."""
    before = time.process_time()
    seconds = timed(lambda: act(given))
    return seconds, time.process_time() - before


def measure(apps: Sequence[App], source: Path, server: Server) -> list[Times]:
    """Turn by turn, so that whatever else the machine does disturbs both engines alike."""
    memories = [app.memory("bench") for app in apps]
    for memory in memories:
        memory.search("warm up")
    queries = [" ".join(text.split()[:8]) for text in texts(SEARCHES, 1)]
    found: list[Times] = [{} for _ in apps]
    for name, given in (("remember", texts(ADDS, 2)), ("search", queries)):
        before = server.cpu_seconds()
        spent = [[costs(getattr(memory, name), each) for memory in memories] for each in given]
        served = server.cpu_seconds() - before
        for times, mine, more in zip(found, zip(*spent, strict=True), (0.0, served), strict=True):
            times[name] = statistics.median(seconds for seconds, _ in mine)
            times[f"{name}, ms of CPU"] = 1000 * (sum(cpu for _, cpu in mine) + more) / len(given)
    works = [_indexing(app, source) | _collecting(app) for app in apps]
    for name in works[0]:
        for times, work, is_served in zip(found, works, (False, True), strict=True):
            before = server.cpu_seconds()
            times[name], cpu = costs(lambda _, act=work[name]: act(), "")  # type: ignore[misc]
            times[f"{name}, ms of CPU"] = 1000 * (cpu + (server.cpu_seconds() - before if is_served else 0.0))
    return found


def _indexing(app: App, source: Path) -> dict[str, Callable[[], object]]:
    code = app.memory("code")
    return {"index": lambda: code.code.index(source), "index again": lambda: code.code.index(source)}


def _collecting(app: App) -> dict[str, Callable[[], object]]:
    """All of the workspace has expired: plan, apply, undo."""
    memory, made = app.memory("bench"), list[str]()

    def plan() -> None:
        made.append(memory.sweep.plan("expired", ttl_days=1e-6).id)

    def apply() -> None:
        made.append(memory.sweep.apply(made[0], confirm=True, allow_large=True).id)

    return {"plan": plan, "apply": apply, "undo": lambda: memory.sweep.undo(made[1])}


def write_many(home: Path, url: str, number: int, together: Barrier) -> None:
    app = app_of(home, url)
    memory = app.memory(f"writer-{number}")
    memory.remember("what is opened and loaded once is opened and loaded now")
    together.wait()
    for text in texts(EACH, 100 + number):
        memory.remember(text)
    together.wait()
    app.close()


def eight_writers(home: Path, url: str, server: Server) -> Times:
    """Memories a second of all writers together, each in a workspace of its own, from when all of them are ready."""
    for number in range(WRITERS):
        app_of(home, url).create_workspace(f"writer-{number}")
    context = multiprocessing.get_context("fork")
    together = context.Barrier(WRITERS + 1)
    children = [context.Process(target=write_many, args=(home, url, number, together)) for number in range(WRITERS)]
    for child in children:
        child.start()
    together.wait()
    before, clients = server.cpu_seconds(), _children_cpu(children)
    seconds = timed(together.wait)
    told = {
        "8 writers, memories a second": WRITERS * EACH / seconds,
        "8 writers, client ms of CPU a memory": 1000 * (_children_cpu(children) - clients) / (WRITERS * EACH),
        "8 writers, server ms of CPU a memory": 1000 * (server.cpu_seconds() - before) / (WRITERS * EACH)
        if url
        else 0.0,
    }
    for child in children:
        child.join()
    return told


def _children_cpu(children: Sequence[multiprocessing.process.BaseProcess]) -> float:
    """Seconds of processor time that processes have used so far."""
    ticks = 0
    for child in children:
        fields = Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def news(app: App, wanted: Sequence[str]) -> Iterator[NewMemory]:
    """Memories of one chunk each, ready to be stored."""
    now = datetime.now(UTC)
    for text, vector in zip(wanted, quantise(app.embedder.embed(list(wanted))), strict=True):
        chunk = Piece(new_id("chk"), text, 0, 1, 1, vector)
        yield NewMemory(new_id("mem"), MemoryDraft(text), content_hash(text), (chunk,), (), (), now)


def fill(home: Path, chunks: int) -> None:
    """Many memories in each transaction: what is measured is what comes afterwards."""
    app = app_of(home, "")
    app.memory("bench").remember("the workspace is made, and its model decided")
    store = app.engine.open("bench")
    every = texts(chunks, 1)
    for at in range(0, chunks, BATCH):
        with store._pool.writing() as db:  # type: ignore[attr-defined]
            for new in news(app, every[at : at + BATCH]):
                add_in(SqliteRows(db), new, app.embedder.model)
    app.close()


def compare(home: Path, server: Server, chunks: int, source: Path) -> tuple[Times, Times, Times]:
    sizes = {"fill": timed(lambda: fill(home, chunks))}
    app, empty = app_of(home, ""), server.used_bytes()
    sizes["copy from sqlite"] = timed(lambda: app.copy_workspace("bench", "", server.url))
    app.close()
    sizes["bytes a memory"] = (server.used_bytes() - empty) / chunks
    apps = [app_of(home, url) for url in ("", server.url)]
    server.rewrite_log()  # the server would do so by itself, in the middle of what is measured
    sizes["of them in the vector set"] = apps[1].memory("bench").stats().vector_bytes / chunks
    sqlite, falkor = measure(apps, source, server)
    for app in apps:
        app.close()
    server.rewrite_log()
    for times, url in ((sqlite, ""), (falkor, server.url)):
        times |= eight_writers(home, url, server)
    server.rewrite_log()
    server.stop()
    sizes["server restart"] = server.start()
    for times, url in ((sqlite, ""), (falkor, server.url)):
        app = app_of(home, url)
        times["restart"] = timed(lambda app=app: app.memory("bench").search("anything"))  # type: ignore[misc]
        app.close()
    falkor["restart"] += sizes["server restart"]
    return sqlite, falkor, sizes


def figures_of(sqlite: Times, falkor: Times) -> Iterator[Figure]:
    for name, value in falkor.items():
        if "CPU" in name:
            continue
        more_is_better = "a second" in name
        ratio = sqlite[name] / value if more_is_better else value / sqlite[name]
        limit = 1.0 if more_is_better else SLOWER_AT_MOST
        yield Figure(f"{name}: falkor / sqlite", ratio, "times as long", f"<= {limit:g}", ratio <= limit)


def _ratio(sqlite: float, falkor: float) -> str:
    return f"{falkor / sqlite:.2f}" if sqlite else ""


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--chunks", type=int, nargs="+", default=[10_000, 100_000], help="how many (%(default)s)")
    parser.add_argument(
        "--source", type=Path, default=Path(os.__file__).parent / "json", help="code to index (%(default)s)"
    )
    options = parser.parse_args()
    figures, told = [], {}
    for chunks in options.chunks:
        with tempfile.TemporaryDirectory(prefix="memsweep-engines-") as folder:
            (Path(folder) / "server").mkdir()
            with server_in(Path(folder) / "server") as server:
                sqlite, falkor, sizes = compare(Path(folder) / "home", server, chunks, options.source)
        print(f"\n{chunks:,} chunks", flush=True)
        ratios = list(figures_of(sqlite, falkor))
        show_figures(ratios)
        rows = [
            [name, f"{sqlite[name]:.4g}", f"{falkor[name]:.4g}", _ratio(sqlite[name], value)]
            for name, value in falkor.items()
        ]
        print(table(["", "sqlite", "falkor", "falkor / sqlite"], rows))
        print(", ".join(f"{name}: {value:.4g}" for name, value in sizes.items()), flush=True)
        figures += [replace(figure, name=f"{figure.name}, {chunks:,} chunks") for figure in ratios]
        told[str(chunks)] = {"sqlite": sqlite, "falkor": falkor, "sizes": sizes}
    write_json(options.json, "engines", figures, chunks=told)


if __name__ == "__main__":
    main()
