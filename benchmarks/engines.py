"""Both engines side by side on one machine, the same work: add, search, index, plan, apply, undo, restart, 8 writers.

The workspace is filled in SQLite and copied to FalkorDB, so that both search the same chunks.
"""

from __future__ import annotations

import multiprocessing
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

from common import Figure, arguments, show_figures, write_json
from falkor_server import Server, server_in
from memsweep.app import App, make_app
from memsweep.settings import load_settings

WRITERS, EACH, ADDS, SEARCHES = 8, 40, 200, 60
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


def measure(app: App, source: Path) -> Times:
    memory = app.memory("bench")
    memory.search("warm up")
    adds = [timed(lambda text=text: memory.add(text)) for text in texts(ADDS, 2)]  # type: ignore[misc]
    queries = [" ".join(text.split()[:8]) for text in texts(SEARCHES, 1)]
    searches = [timed(lambda query=query: memory.search(query)) for query in queries]  # type: ignore[misc]
    code = app.memory("code")
    found: Times = {
        "add": statistics.median(adds),
        "search": statistics.median(searches),
        "index": timed(lambda: code.index(source)),
        "index again": timed(lambda: code.index(source)),
    }
    old = {name: timed(act) for name, act in _collecting(app).items()}
    return found | old


def _collecting(app: App) -> dict[str, Callable[[], object]]:
    """All of the workspace has expired: plan, apply, undo."""
    memory, made = app.memory("bench"), list[str]()

    def plan() -> None:
        made.append(memory.plan_prune("expired", ttl_days=1e-6).id)

    def apply() -> None:
        made.append(memory.apply_plan(made[0], confirm=True, allow_large=True).id)

    return {"plan": plan, "apply": apply, "undo": lambda: memory.undo(made[1])}


def write_many(home: Path, url: str, number: int) -> None:
    app = app_of(home, url)
    memory = app.memory(f"writer-{number}")
    for text in texts(EACH, 100 + number):
        memory.add(text)
    app.close()


def eight_writers(home: Path, url: str) -> float:
    """Memories a second of all writers together, each in a workspace of its own; their start is included."""
    for number in range(WRITERS):
        app_of(home, url).create_workspace(f"writer-{number}")
    context = multiprocessing.get_context("fork")
    children = [context.Process(target=write_many, args=(home, url, number)) for number in range(WRITERS)]

    def run() -> None:
        for child in children:
            child.start()
        for child in children:
            child.join()

    return WRITERS * EACH / timed(run)


def fill(home: Path, chunks: int) -> None:
    app = app_of(home, "")
    memory = app.memory("bench")
    for text in texts(chunks, 1):
        memory.add(text)
    app.close()


def compare(home: Path, server: Server, chunks: int, source: Path) -> tuple[Times, Times]:
    fill(home, chunks)
    app = app_of(home, "")
    copying = timed(lambda: app.copy_workspace("bench", "", server.url))
    app.close()
    told: list[Times] = []
    for url in ("", server.url):
        app = app_of(home, url)
        told.append(measure(app, source))
        app.close()
        told[-1]["8 writers, memories a second"] = eight_writers(home, url)
    told[1]["copy from sqlite"] = copying
    server.client().execute_command("BGREWRITEAOF")
    while server.client().info("persistence")["aof_rewrite_in_progress"]:
        time.sleep(0.1)
    server.stop()
    told[1]["restart"] = server.start()
    app = app_of(home, "")
    told[0]["restart"] = timed(lambda: app.memory("bench").search("anything"))
    app.close()
    return told[0], told[1]


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--chunks", type=int, default=10_000, help="how many are searched (%(default)s)")
    parser.add_argument(
        "--source", type=Path, default=Path(os.__file__).parent / "json", help="code to index (%(default)s)"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="memsweep-engines-") as folder:
        (Path(folder) / "server").mkdir()
        with server_in(Path(folder) / "server") as server:
            sqlite, falkor = compare(Path(folder) / "home", server, options.chunks, options.source)
    figures = []
    for name, value in falkor.items():
        if name in sqlite:
            more_is_better = "a second" in name
            ratio = sqlite[name] / value if more_is_better else value / sqlite[name]
            limit = 1.0 if more_is_better else SLOWER_AT_MOST
            figures.append(Figure(f"{name}: falkor / sqlite", ratio, "times as long", f"<= {limit:g}", ratio <= limit))
    show_figures(figures)
    print({name: (round(sqlite.get(name, 0.0), 4), round(value, 4)) for name, value in falkor.items()})
    write_json(options.json, "engines", figures, chunks=options.chunks, sqlite=sqlite, falkor=falkor)


if __name__ == "__main__":
    main()
