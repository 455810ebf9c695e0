"""The library door."""

import asyncio
import inspect
import sys
import threading
from operator import attrgetter
from pathlib import Path

import pytest

import memsweep
from memsweep import AsyncMemory, Memory, MemsweepError, open_memory, open_memory_async
from memsweep.context.service import ContextWindow
from memsweep.errors import BadInput, StoreCorrupt
from memsweep.operation import operation
from memsweep.services.care import CareService
from memsweep.services.code import CodeService
from memsweep.services.graph import GraphService
from memsweep.services.memory import BaseMemory
from memsweep.services.sweep import SweepService
from tests.support import store_files
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
    assert run([sys.executable, "-c", code], home=home).out == "[]\n[]\n"


def test_every_public_name_can_be_had() -> None:
    for name in memsweep.__all__:
        assert getattr(memsweep, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        memsweep.nonsense  # type: ignore[attr-defined]


def test_a_memory_is_used_in_a_with(home: Path) -> None:
    with open_memory("notes", home=home) as memory:
        added = memory.remember("x")
        assert memory.workspace_id == "notes"
    with open_memory("notes", home=str(home)) as memory:
        assert memory.get(added.memory_id).text == "x"


def test_a_memory_may_be_used_after_it_was_closed(home: Path) -> None:
    memory = open_memory(home=home)
    memory.remember("x")
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
        memory.remember("x")
    assert home.exists()


def operations(kind: type) -> set[str]:
    return {name for name, value in inspect.getmembers(kind) if not name.startswith("_") and callable(value)}


SERVICES = [BaseMemory, CodeService, GraphService, SweepService, CareService, ContextWindow]


@pytest.mark.parametrize("kind", SERVICES)
def test_every_public_method_is_an_operation_with_a_description(kind: type) -> None:
    plain = [name for name in operations(kind) if not isinstance(inspect.getattr_static(kind, name), operation)]
    assert plain == (["context"] if kind is BaseMemory else []), "what is not awaited must not read or write"
    assert [name for name in operations(kind) if not getattr(kind, name).__doc__] == []


def test_both_doors_have_the_same_operations_with_the_same_signatures(home: Path) -> None:
    direct, awaited = open_memory(home=home), open_memory_async(home=home)
    assert operations(AsyncMemory) == operations(Memory)
    for get in (lambda m: m, *map(attrgetter, ("code", "graph", "sweep", "care")), lambda m: m.context("w")):
        assert type(get(awaited)) is type(get(direct)) or get(direct) is direct
        for name in operations(type(get(direct))) - {"context"}:
            one, other = getattr(get(direct), name), getattr(get(awaited), name)
            assert inspect.signature(one) == inspect.signature(other)
            assert (inspect.iscoroutinefunction(one), inspect.iscoroutinefunction(other)) == (False, True)


def test_the_asynchronous_door_does_the_same(home: Path) -> None:
    async def use() -> None:
        async with open_memory_async("notes", home=home) as memory:
            assert memory.workspace_id == "notes"
            added = await memory.remember("an asynchronous note", tags=["a"])
            assert (await memory.get(added.memory_id)).tags == ("a",)
            assert (await memory.search("asynchronous")).total == 1
            assert (await memory.stats()).total_memories == 1
            with pytest.raises(MemsweepError):
                await memory.get("nothing")
            await memory.graph.relate("Ada", "KNOWS", "Charles")
            assert (await memory.graph.status()).entities == 2
            plan = await memory.sweep.plan("all")
            assert (await memory.sweep.get_plan(plan.id)).item_count == 0
            assert (await memory.care.doctor()).findings == ()
            await memory.context("w").add([{"text": "a line", "type": "log"}])
            assert [row.project_id for row in await memory.contexts()] == ["w"]

    asyncio.run(use())


def test_asynchronous_calls_run_at_once_and_never_hold_up_the_loop(home: Path) -> None:
    """The loop keeps ticking while a call waits for a lock that only the loop can release."""

    async def use() -> None:
        memory = open_memory_async(home=home)
        await memory.remember("first")
        with store_files.held(home):
            waiting = [asyncio.create_task(memory.remember(f"note {number}")) for number in range(5)]
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
        added.append(memory.remember(f"note {number}").memory_id)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(added)) == 8
    assert memory.stats().total_memories == 8
    memory.close()


def test_an_awaited_operation_says_what_is_damaged_too(home: Path) -> None:
    async def use() -> None:
        async with open_memory_async(home=home) as memory:
            added = await memory.remember("a note that will be damaged")
            await memory.context("w").add([{"segment_id": "s", "text": "a line", "type": "log"}])
            store_files.damage(home, "no text")
            for damaged in (memory.get(added.memory_id), memory.context("w").segments()):
                with pytest.raises(StoreCorrupt):
                    await damaged

    asyncio.run(use())
