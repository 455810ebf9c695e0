"""The library door: `open_memory()`, and the same operations for asyncio made from the same methods."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Concatenate, Generic, ParamSpec, TypeVar

from memsweep.app import make_app
from memsweep.context.service import ContextWindow
from memsweep.memory import Memory
from memsweep.model.window import DEFAULT_PROJECT
from memsweep.settings import load_settings

P = ParamSpec("P")
S = TypeVar("S")
T = TypeVar("T")


def open_memory(workspace: str = "", *, home: str | Path | None = None) -> Memory:
    """A workspace of the configured home (or of another folder). The first write creates it."""
    overrides = {} if home is None else {"MEMSWEEP_HOME": str(home)}
    return make_app(load_settings(overrides=overrides)).memory(workspace)


def open_memory_async(workspace: str = "", *, home: str | Path | None = None) -> AsyncMemory:
    """The same, with operations to await."""
    return AsyncMemory(open_memory(workspace, home=home))


class _Behind(Generic[S]):
    """Something whose methods are called in threads."""

    def __init__(self, inner: S) -> None:
        self._inner = inner


def _awaitable(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[_Behind[S], P], Awaitable[T]]:
    @functools.wraps(method)
    def call(self: _Behind[S], /, *args: P.args, **kwargs: P.kwargs) -> Awaitable[T]:
        return asyncio.to_thread(method, self._inner, *args, **kwargs)

    return call


class AsyncWindow(_Behind[ContextWindow]):
    """`ContextWindow` for asyncio."""

    add = _awaitable(ContextWindow.add)
    add_transcript = _awaitable(ContextWindow.add_transcript)
    analyze = _awaitable(ContextWindow.analyze)
    prune = _awaitable(ContextWindow.prune)
    delete = _awaitable(ContextWindow.delete)
    pin = _awaitable(ContextWindow.pin)
    unpin = _awaitable(ContextWindow.unpin)
    configure = _awaitable(ContextWindow.configure)
    search = _awaitable(ContextWindow.search)
    restore = _awaitable(ContextWindow.restore)
    compress = _awaitable(ContextWindow.compress)
    working_set = _awaitable(ContextWindow.working_set)
    segments = _awaitable(ContextWindow.segments)
    state = _awaitable(ContextWindow.state)


class AsyncMemory(_Behind[Memory]):
    """`Memory` for asyncio: each call runs in a thread, so that the loop never waits for the disk."""

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory)
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
    relate = _awaitable(Memory.relate)
    relate_many = _awaitable(Memory.relate_many)
    reinforce = _awaitable(Memory.reinforce)
    entities = _awaitable(Memory.entities)
    related = _awaitable(Memory.related)
    query_graph = _awaitable(Memory.query_graph)
    graph_status = _awaitable(Memory.graph_status)
    validate_graph = _awaitable(Memory.validate_graph)
    graph_communities = _awaitable(Memory.graph_communities)
    graph_context = _awaitable(Memory.graph_context)
    build_graph = _awaitable(Memory.build_graph)
    dump_graph = _awaitable(Memory.dump_graph)
    load_graph = _awaitable(Memory.load_graph)
    export_graph = _awaitable(Memory.export_graph)
    import_graph = _awaitable(Memory.import_graph)
    plan_graph_prune = _awaitable(Memory.plan_graph_prune)
    prune_graph = _awaitable(Memory.prune_graph)
    decay_graph = _awaitable(Memory.decay_graph)
    plan_merge = _awaitable(Memory.plan_merge)
    merge_entities = _awaitable(Memory.merge_entities)
    unmerge_entity = _awaitable(Memory.unmerge_entity)
    doctor = _awaitable(Memory.doctor)
    compact = _awaitable(Memory.compact)
    backup = _awaitable(Memory.backup)
    windows = _awaitable(Memory.windows)
    validate_deletion_safety = _awaitable(Memory.validate_deletion_safety)
    close = _awaitable(Memory.close)

    def window(self, project_id: str = DEFAULT_PROJECT) -> AsyncWindow:
        """One context window of this workspace; nothing is read yet."""
        return AsyncWindow(self.memory.window(project_id))

    async def __aenter__(self) -> AsyncMemory:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
