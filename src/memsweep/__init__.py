"""Long-term memory for AI agents, with a garbage collector that can be trusted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0.dev0"

if TYPE_CHECKING:
    from memsweep.context import ContextHeap, sweep_messages
    from memsweep.errors import MemsweepError
    from memsweep.library import open_memory, open_memory_async
    from memsweep.services.memory import AsyncMemory, Memory

__all__ = [
    "AsyncMemory",
    "ContextHeap",
    "Memory",
    "MemsweepError",
    "__version__",
    "open_memory",
    "open_memory_async",
    "sweep_messages",
]

_ROOMS = {
    "AsyncMemory": "services.memory",
    "ContextHeap": "context",
    "Memory": "services.memory",
    "MemsweepError": "errors",
    "sweep_messages": "context",
}


def __getattr__(name: str) -> Any:
    """Import on first use, so that `import memsweep` costs nothing."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_ROOMS.get(name, 'library')}"), name)
