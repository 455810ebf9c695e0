"""What is looked at for a question, and what a resource shows, has the time of a call like the call itself."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp_types import ElicitResult

from memsweep import deadline
from memsweep.app import App
from memsweep.errors import StoreBusy
from memsweep.server.app import make_server
from memsweep.server.tool import in_a_thread
from memsweep.store.things.collected import TombstoneRow
from tests.support.inside import store_of

USED_UP = "used up its processor time"


def test_a_question_and_a_resource_have_no_more_time_than_a_call(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    note = app.memory().remember("The harbour opens at dawn.").memory_id
    monkeypatch.setattr(deadline, "CALL_SECONDS", 0.0)
    asked: list[Any] = []

    async def ask(_: Any, params: Any) -> ElicitResult:
        asked.append(params)
        return ElicitResult(action="decline")

    async def use() -> tuple[str, str]:
        async with Client(make_server(app, "full"), elicitation_callback=ask) as client:
            shown = await client.read_resource("memsweep://default/stats")
            called = await client.call_tool("delete_memory", {"memory_id": note, "confirm": True})
        return str(shown.contents), str(called.content)

    assert [USED_UP in said for said in anyio.run(use)] == [True, True]
    assert asked == []


def spin() -> None:
    """Compute for ever, and ask nothing of anybody."""
    number = 0
    while True:
        number += 1


def test_a_call_that_only_computes_is_ended_and_its_thread_serves_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadline, "CALL_SECONDS", 0.2)
    threads = ThreadPoolExecutor(1)

    async def use() -> str:
        with pytest.raises(StoreBusy) as refused:
            await in_a_thread(spin, threads)()
        await in_a_thread(lambda: sum(range(1000)), threads)()
        return refused.value.message

    assert USED_UP in anyio.run(use)


def test_what_it_had_begun_is_taken_back_and_nothing_stays_locked(app: App) -> None:
    memory = app.memory()
    memory.remember("The harbour opens at dawn.")
    store = store_of(memory)

    def change() -> None:
        with deadline.at_most(0.2), store.collector.changing() as tx:
            tx.tombstones.add([TombstoneRow(b"0" * 16, datetime.now(UTC), "mem_000000000000", "")])
            spin()

    with pytest.raises(StoreBusy):
        change()
    assert memory.sweep.tombstones() == []
    assert memory.remember("The harbour closes at dusk.").memory_id


def test_a_child_that_was_forked_beside_a_call_has_calls_of_its_own() -> None:
    with deadline.at_most(60):
        pass
    begun, ended = threading.Event(), threading.Event()

    def wait() -> None:
        with deadline.at_most(60):
            begun.set()
            ended.wait(30)

    other = threading.Thread(target=wait)
    other.start()
    begun.wait(30)
    child = os.fork()
    if child == 0:
        try:
            with deadline.at_most(2.0):
                spin()
        except StoreBusy:
            os._exit(7)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    ended.set()
    other.join()
    assert os.waitstatus_to_exitcode(status) == 7
