"""The library door: `open_memory()`, and the same operations for asyncio made from the same methods."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from memsweep.app import make_app
from memsweep.memory import Memory
from memsweep.settings import load_settings

P = ParamSpec("P")
T = TypeVar("T")


def open_memory(workspace: str = "", *, home: str | Path | None = None) -> Memory:
    """A workspace of the configured home (or of another folder). The first write creates it."""
    overrides = {} if home is None else {"MEMSWEEP_HOME": str(home)}
    return make_app(load_settings(overrides=overrides)).memory(workspace)


def open_memory_async(workspace: str = "", *, home: str | Path | None = None) -> AsyncMemory:
    """The same, with operations to await."""
    return AsyncMemory(open_memory(workspace, home=home))


def _awaitable(
    method: Callable[Concatenate[Memory, P], T],
) -> Callable[Concatenate[AsyncMemory, P], Awaitable[T]]:
    @functools.wraps(method)
    def call(self: AsyncMemory, /, *args: P.args, **kwargs: P.kwargs) -> Awaitable[T]:
        return asyncio.to_thread(method, self.memory, *args, **kwargs)

    return call


class AsyncMemory:
    """`Memory` for asyncio: each call runs in a thread, so that the loop never waits for the disk."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.workspace_id = memory.workspace_id

    add = _awaitable(Memory.add)
    search = _awaitable(Memory.search)
    get = _awaitable(Memory.get)
    index = _awaitable(Memory.index)
    wait_to_index = _awaitable(Memory.wait_to_index)
    stats = _awaitable(Memory.stats)
    model = _awaitable(Memory.model)
    reembed = _awaitable(Memory.reembed)
    plan_prune = _awaitable(Memory.plan_prune)
    plan = _awaitable(Memory.plan)
    plan_items = _awaitable(Memory.plan_items)
    apply_plan = _awaitable(Memory.apply_plan)
    prune = _awaitable(Memory.prune)
    undo = _awaitable(Memory.undo)
    recover = _awaitable(Memory.recover)
    trash = _awaitable(Memory.trash)
    purge = _awaitable(Memory.purge)
    delete = _awaitable(Memory.delete)
    clear = _awaitable(Memory.clear)
    pin = _awaitable(Memory.pin)
    explain = _awaitable(Memory.explain)
    audit = _awaitable(Memory.audit)
    tombstones = _awaitable(Memory.tombstones)
    remove_tombstone = _awaitable(Memory.remove_tombstone)
    collecting = _awaitable(Memory.collecting)
    close = _awaitable(Memory.close)

    async def __aenter__(self) -> AsyncMemory:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
