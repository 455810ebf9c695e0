"""Calls in their threads, and what becomes of them when the client does not wait for the answer."""

from __future__ import annotations

import asyncio
import gc
import threading
from functools import partial

import anyio
import pytest

from memsweep.server.tool import _in_a_thread
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
                tasks.start_soon(partial(_in_a_thread(slow), number=number))
            while len(begun) < 32:
                await anyio.sleep(0.01)
            tasks.cancel_scope.cancel()
            asyncio.get_running_loop().call_later(0.1, release.set)

    anyio.run(hang_up_in_the_middle)
    assert len(begun) == 32
    assert sorted(ended) == sorted(begun)  # nobody went away before them


def test_a_cancelled_call_that_fails_later_leaves_no_warning(caplog: pytest.LogCaptureFixture) -> None:
    release, begun = threading.Event(), threading.Event()

    def failing() -> None:
        begun.set()
        release.wait(PATIENCE)
        raise ValueError("too late")

    async def hang_up() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_in_a_thread(failing))
            while not begun.is_set():
                await anyio.sleep(0.01)
            tasks.cancel_scope.cancel()
            asyncio.get_running_loop().call_later(0.1, release.set)

    anyio.run(hang_up)
    gc.collect()  # a future says so when it is freed
    assert caplog.messages == []
