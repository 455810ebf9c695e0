"""The library door."""

from __future__ import annotations

import asyncio
import inspect
import sys
import threading
from pathlib import Path

import pytest

import memsweep
from memsweep import AsyncMemory, Memory, MemsweepError, open_memory, open_memory_async
from memsweep.errors import BadInput
from tests.support.commands import run


def test_opening_costs_nothing_and_makes_nothing(home: Path) -> None:
    open_memory(home=home).close()
    assert not home.exists()


def test_importing_the_package_imports_nothing_heavy(home: Path) -> None:
    code = (
        "import sys, memsweep\n"
        "heavy = {'apsw', 'numpy', 'tokenizers', 'mcp', 'rich', 'typer', 'pydantic', 'httpx', 'asyncio'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
        "memsweep.open_memory\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    assert run([sys.executable, "-c", code], home=home).out == "[]\n['asyncio']\n"


def test_every_public_name_can_be_had() -> None:
    for name in memsweep.__all__:
        assert getattr(memsweep, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        memsweep.nonsense  # type: ignore[attr-defined]


def test_a_memory_is_used_in_a_with(home: Path) -> None:
    with open_memory("notes", home=home) as memory:
        added = memory.add("x")
        assert memory.workspace_id == "notes"
    with open_memory("notes", home=str(home)) as memory:
        assert memory.get(added.memory_id).text == "x"


def test_a_memory_may_be_used_after_it_was_closed(home: Path) -> None:
    memory = open_memory(home=home)
    memory.add("x")
    memory.close()
    assert memory.stats().total_memories == 1
    memory.close()
    memory.close()


def test_a_bad_workspace_is_refused_at_once(home: Path) -> None:
    with pytest.raises(BadInput):
        open_memory("../../escape", home=home)
    assert issubclass(BadInput, MemsweepError)


def test_the_environment_says_where_if_nobody_else_does(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMSWEEP_HOME", str(home))
    monkeypatch.setenv("MEMSWEEP_WORKSPACE", "chosen")
    with open_memory() as memory:
        assert memory.workspace_id == "chosen"
        memory.add("x")
    assert home.exists()


def public(kind: type) -> set[str]:
    return {name for name, value in inspect.getmembers(kind) if not name.startswith("_") and callable(value)}


def test_the_asynchronous_door_has_every_operation_with_the_same_signature() -> None:
    assert public(AsyncMemory) == public(Memory)
    for name in public(Memory):
        twin, original = getattr(AsyncMemory, name), getattr(Memory, name)
        assert inspect.signature(twin).parameters == inspect.signature(original).parameters


def test_the_asynchronous_door_does_the_same(home: Path) -> None:
    async def use() -> None:
        async with open_memory_async("notes", home=home) as memory:
            assert memory.workspace_id == "notes"
            added = await memory.add("an asynchronous note", tags=["a"])
            assert (await memory.get(added.memory_id)).tags == ("a",)
            assert (await memory.search("asynchronous")).total == 1
            assert (await memory.stats()).total_memories == 1
            with pytest.raises(MemsweepError):
                await memory.get("nothing")

    asyncio.run(use())


def test_asynchronous_calls_run_at_once_and_never_hold_up_the_loop(home: Path) -> None:
    """The loop keeps ticking while a call waits for a lock that only the loop can release."""

    async def use() -> None:
        memory = open_memory_async(home=home)
        await memory.add("first")
        engine = memory.memory._app.engine
        store = engine.open("default")
        with store._pool.writing():  # type: ignore[attr-defined]
            waiting = [asyncio.create_task(memory.add(f"note {number}")) for number in range(5)]
            found = await memory.search("first")  # readers do not wait
            assert found.total == 1
            assert not any(task.done() for task in waiting)
        await asyncio.gather(*waiting)
        assert (await memory.stats()).total_memories == 6
        await memory.close()

    asyncio.run(use())


def test_many_threads_may_make_the_first_write_at_once(home: Path) -> None:
    memory, barrier, added = open_memory(home=home), threading.Barrier(8), []

    def work(number: int) -> None:
        barrier.wait()
        added.append(memory.add(f"note {number}").memory_id)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(added)) == 8
    assert memory.stats().total_memories == 8
    memory.close()
