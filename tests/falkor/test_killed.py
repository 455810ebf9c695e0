"""Index runs whose process is killed, and collections whose FalkorDB server is: nothing lost, nothing by half."""

import random
import threading
from pathlib import Path

import pytest

from memsweep.errors import StoreError
from tests.falkor.bookkeeper import Bookkeeper
from tests.falkor.servers import Start, opened
from tests.support.commands import run_warm
from tests.support.counts import TIMES


@pytest.mark.soak
def test_an_index_run_on_falkor_killed_at_any_command_is_mended_by_the_next(start: Start, tmp_path: Path) -> None:
    order = [str(start().port), str(tmp_path), str(10 * TIMES)]
    ran = run_warm("-m", "tests.falkor.killed_index", *order)
    assert ran.status == 0, ran.err
    assert ran.json["problems"] == []
    assert ran.json["commands"] > 20


@pytest.mark.soak
def test_a_falkor_that_is_killed_in_the_middle_of_collections_loses_nothing_and_halves_nothing(
    start: Start, tmp_path: Path
) -> None:
    server, book, chance = start(durable=True), Bookkeeper(), random.Random(31)
    for _ in range(4 * TIMES):
        with opened(server.url, tmp_path) as app:
            killer = threading.Timer(0.3 + chance.random(), server.kill)
            killer.start()
            with pytest.raises(StoreError):
                book.work(app, chance)
            killer.join()
        server.start()
        with opened(server.url, tmp_path) as app:
            if app.workspaces():
                graph = app.engine.open("default")._graph
                graph.link.write("DEL", f"{graph.name}:writer")  # the lease would end by itself
                book.compare(app)
                assert app.memory().care.doctor().findings == ()
    assert book.live
