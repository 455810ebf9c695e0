"""Calls in their threads, and what becomes of them when the client does not wait for the answer."""

import asyncio
import gc
import json
import threading
from functools import partial
from pathlib import Path

import anyio
import pytest

from memsweep.app import App
from memsweep.server.tool import WRITERS, WRITING, in_a_thread
from tests.support import store_files
from tests.support.client import raw_server
from tests.support.waiting import PATIENCE

MANY = 100


def test_of_cancelled_calls_those_that_have_begun_end_and_the_others_never_begin() -> None:
    release, begun, ended = threading.Event(), [], []

    def slow(number: int) -> None:
        begun.append(number)
        release.wait(PATIENCE)
        ended.append(number)

    async def hang_up_in_the_middle() -> None:
        async with anyio.create_task_group() as tasks:
            for number in range(MANY):
                tasks.start_soon(partial(in_a_thread(slow, WRITING), number=number))
            while len(begun) < WRITERS:
                await anyio.sleep(0.01)
            tasks.cancel_scope.cancel()
            asyncio.get_running_loop().call_later(0.1, release.set)

    anyio.run(hang_up_in_the_middle)
    assert len(begun) == WRITERS
    assert sorted(ended) == sorted(begun)  # nobody went away before them


def test_writers_that_stand_still_in_one_workspace_leave_threads_to_the_others() -> None:
    release = threading.Event()

    def write(workspace_id: str) -> str:
        assert workspace_id != "still" or release.wait(PATIENCE)
        return workspace_id

    async def crowd() -> None:
        call = in_a_thread(write, WRITING)
        async with anyio.create_task_group() as tasks:
            for _ in range(MANY):
                tasks.start_soon(partial(call, workspace_id="still"))
            await anyio.sleep(0)
            assert [await call(workspace_id=f"other {number}") for number in range(MANY)]
            release.set()

    anyio.run(crowd)


@pytest.mark.slow
def test_a_cancelled_call_that_fails_later_leaves_no_warning(caplog: pytest.LogCaptureFixture) -> None:
    release, begun = threading.Event(), threading.Event()

    def failing() -> None:
        begun.set()
        release.wait(PATIENCE)
        raise ValueError("too late")

    async def hang_up() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(in_a_thread(failing, WRITING))
            while not begun.is_set():
                await anyio.sleep(0.01)
            tasks.cancel_scope.cancel()
            asyncio.get_running_loop().call_later(0.1, release.set)

    anyio.run(hang_up)
    gc.collect()  # a future says so when it is freed
    assert caplog.messages == []


@pytest.mark.slow
def test_a_search_is_answered_while_forty_adds_wait_for_the_lock(home: Path, app: App) -> None:
    app.memory().remember("the parser was rewritten in spring")
    app.close()
    with raw_server(home) as server:
        server.initialize()
        with store_files.held(home):
            for number in range(40):
                server.send("tools/call", {"name": "add_memory", "arguments": {"text": f"waiting {number}"}})
            search = server.send("tools/call", {"name": "search_memory", "arguments": {"query": "parser"}})
            resource = server.send("resources/read", {"uri": "memsweep://default/trash"})
            first = [json.loads(server.line()) for _ in range(2)]
            assert {answer["id"] for answer in first} == {search, resource}  # and none of the adds has given up
            assert all("result" in answer for answer in first)
        later = [json.loads(server.line()) for _ in range(40)]
        assert all(answer["result"]["isError"] is False for answer in later)
