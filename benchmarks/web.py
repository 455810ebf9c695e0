"""The page: server time and weight of every screen at two sizes, the first paint in a browser, start to first page.

The store is written in bulk. Times are those of the whole answer behind the guard, without a network; the first visit
of each screen after a change of the workspace, and those that follow. The first paint is measured where
$MEMSWEEP_BROWSER names a Chromium (`MEMSWEEP_BROWSER=$(sh scripts/browser)`).
"""

from __future__ import annotations

import http.client
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from starlette.testclient import TestClient

from common import Figure, arguments, at_most, show_figures, table, write_json
from memsweep.app import App
from memsweep.settings import load_settings
from memsweep.web.guard import GuardedApp, make_guard
from memsweep.web.login import OneTimeLink
from memsweep.web.page import make_page
from memsweep.web.screens import SCREENS
from memsweep.web.serving import address_of, listen, page_server
from notes import WORKSPACE, build

PORT = 8737
HOME = f"http://127.0.0.1:{PORT}"
# Which pages load after themselves.
PARTS = ("what a collection would take", "why it is kept", "why a name is kept", "nothing has changed")
PAINT = """() => new Promise((done) => new PerformanceObserver((list) => {
    for (const entry of list.getEntriesByName("first-contentful-paint")) done(entry.startTime);
}).observe({type: "paint", buffered: true}))"""
MOST_MS, MOST_PAINT_MS, MOST_START_S = 300, 500, 1.5


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--memories", type=int, nargs="+", default=[10_000, 100_000], help="sizes (%(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="visits of each screen (%(default)s)")
    options = parser.parse_args()
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory(prefix="memsweep-web-") as folder:
        for count in options.memories:
            home = Path(folder) / str(count)
            build(home, count)
            figures += measure(home, count, options.rounds, is_first=count == min(options.memories))
    show_figures(figures)
    write_json(options.json, "web", figures, memories=options.memories)


def measure(home: Path, count: int, rounds: int, *, is_first: bool) -> list[Figure]:
    app = App(load_settings({"MEMSWEEP_HOME": str(home), "MEMSWEEP_WORKSPACE": WORKSPACE}))
    places = paths_of(app)
    rows, worst = [], ("", 0.0)
    with browsing(app) as client:
        for name, path in places.items():
            first, later, size, packed = visits(app, client, path, rounds)
            rows.append((name, f"{first:.0f}", f"{later:.0f}", f"{size / 1000:.0f}", f"{packed / 1000:.1f}"))
            worst = max(worst, (name, later), key=lambda each: each[1])
    print(
        f"\n{count:,} memories\n" + table(("screen", "first ms", "ms", "KB", "KB packed"), rows), end="\n\n", flush=True
    )
    figures = (
        [at_most(f"slowest screen at {count:,} memories ({worst[0]})", worst[1], MOST_MS, "ms")] if is_first else []
    )
    if os.environ.get("MEMSWEEP_BROWSER"):
        paint = first_paints(app, places)
        print(
            table(("screen", "first paint ms"), [(name, f"{value:.0f}") for name, value in paint.items()]), end="\n\n"
        )
        if is_first:
            figures.append(at_most(f"first paint at {count:,} memories", max(paint.values()), MOST_PAINT_MS, "ms"))
    app.close()
    if is_first:
        figures.append(at_most("start to first page", start_to_first_page(home), MOST_START_S, "s"))
    return figures


def paths_of(app: App) -> dict[str, str]:
    """A path for every screen, by its name; and what the screens lead to."""
    memory = app.memory(WORKSPACE)
    note = memory.memories(limit=1, filters={"kind": "memory"}).memories[0].id
    known = {screen.title: screen.path for screen in SCREENS if screen.icon}
    (name,) = memory.graph.entities(sort_by="relations", limit=1)[0]
    return known | {
        "around a name": f"/graph/{name.id}",
        "why a name is kept": f"/graph/{name.id}/why",
        "what a collection would take": "/collect/found",
        "search": "/memories?q=what+did+they+decide+about+the+deploy",
        "memory": f"/memories/{note}",
        "why it is kept": f"/memories/{note}/why",
        "plan of stale code": f"/plans/{memory.sweep.plan('stale_code').id}",
        "forgetting": "/forget?q=deploy",
        "nothing has changed": "/pulse",
    }


@contextmanager
def browsing(app: App) -> Iterator[TestClient]:
    link = OneTimeLink()
    with TestClient(GuardedApp(make_page(app, link.redeem, PORT), make_guard(PORT)), base_url=HOME) as client:
        client.post("/login", data={"token": link.token}, headers={"origin": HOME})
        yield client


def visits(app: App, client: TestClient, path: str, rounds: int) -> tuple[float, float, int, int]:
    """Milliseconds of the first visit after a change, of later ones; bytes of the page, plain and packed."""
    app.memory(WORKSPACE).pin(app.memory(WORKSPACE).memories(limit=1).memories[0].id)
    address = f"/w/{WORKSPACE}{path}"
    first = timed(lambda: client.get(address))
    later = median(timed(lambda: client.get(address)) for _ in range(rounds))
    with client.stream("GET", address) as answer:
        packed = sum(len(part) for part in answer.iter_raw())
    return first, later, len(client.get(address).content), packed


def timed(ask: Callable[[], Any]) -> float:
    began = time.perf_counter()
    answer = ask()
    assert answer.status_code in (200, 204), answer.text[:500]
    return (time.perf_counter() - began) * 1000


def first_paints(app: App, places: dict[str, str]) -> dict[str, float]:
    """Of each screen, in a browser that has its style sheet and script already."""
    from playwright.sync_api import sync_playwright

    link, found = OneTimeLink(), {}
    with listen(0) as listener, sync_playwright() as playwright:
        server = page_server(app, link, listener)
        thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
        thread.start()
        chromium = playwright.chromium.launch(executable_path=os.environ["MEMSWEEP_BROWSER"], args=["--no-sandbox"])
        page = chromium.new_page()
        opening = address_of(listener, link)
        page.goto(opening)
        address = opening.partition("/login")[0]
        page.wait_for_url(f"{address}/w/**")
        for name, path in places.items():
            if name not in PARTS:
                page.goto(f"{address}/w/{WORKSPACE}{path}")
                found[name] = float(page.evaluate(PAINT))
        chromium.close()
        server.should_exit = True
        thread.join()
    return found


def start_to_first_page(home: Path) -> float:
    """Seconds from the command to the whole first screen, as a browser that follows the link gets it."""
    environment = {**os.environ, "MEMSWEEP_HOME": str(home), "MEMSWEEP_WORKSPACE": WORKSPACE}
    began = time.perf_counter()
    command = [sys.executable, "-m", "memsweep", "ui", "--port", "0", "--no-open"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as ui:
        assert ui.stdout is not None
        found = re.search(r"http://127\.0\.0\.1:(\d+)/login#(\S+)", ui.stdout.readline())
        assert found is not None
        origin = f"http://127.0.0.1:{found[1]}"
        with closing(http.client.HTTPConnection("127.0.0.1", int(found[1]), timeout=30)) as browser:
            form = {"origin": origin, "content-type": "application/x-www-form-urlencoded"}
            browser.request("POST", "/login", f"token={found[2]}", form)
            cookie = (answer := browser.getresponse()).headers["set-cookie"].partition(";")[0]
            answer.read()
            browser.request("GET", f"/w/{WORKSPACE}/", headers={"cookie": cookie})
            assert b"Overview" in browser.getresponse().read()
        took = time.perf_counter() - began
        ui.terminate()
    return took


if __name__ == "__main__":
    main()
