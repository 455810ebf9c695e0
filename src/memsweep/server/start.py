"""From the command to a server, by its profile; the first questions are answered on the way. Standard library alone."""

from __future__ import annotations

import gc
import signal
import sys
from contextlib import suppress
from typing import Literal, get_args

from memsweep.errors import BadInput
from memsweep.project.resolver import existing_folder
from memsweep.server.front import Front
from memsweep.settings import load_settings

Profile = Literal["default", "core", "graph", "context", "full", "read-only"]
PROFILES: tuple[Profile, ...] = get_args(Profile)
ABOUT = "default, core (the 8 most used), graph, context, read-only, or full (all)"

_MEMORIES = ("briefing", "search_memory", "get_memory", "add_memory")
CHOSEN: dict[Profile, tuple[str, ...]] = {
    "core": (*_MEMORIES, "update_memory", "delete_memory", "prune_memory", "undo"),
    "graph": (
        *_MEMORIES,
        "undo",
        "graph_relate",
        "graph_reinforce",
        "graph_query",
        "graph_entities",
        "get_related",
        "build_graph",
        "graph_status",
        "graph_validate",
        "graph_communities",
        "graph_context",
        "graph_prune",
        "graph_decay",
        "merge_entities",
        "unmerge_entity",
        "export_graph",
        "import_graph",
    ),
    "context": (
        *_MEMORIES,
        "undo",
        "context_add",
        "context_gc_analyze",
        "context_gc_prune",
        "context_gc_pin",
        "context_gc_unpin",
        "context_gc_configure",
        "context_stash_search",
        "context_restore",
        "context_compress",
        "context_working_set",
        "context_list",
        "context_delete",
    ),
}
"""Profiles that name their tools; the others go by what a tool's row says."""


def offers(profile: Profile, tool: str, *, in_default: bool, reads: bool) -> bool:
    """Return whether a profile has a tool, which is in the default one or not, and only reads or not."""
    match profile:
        case "full":
            return True
        case "default":
            return in_default
        case "read-only":
            return reads
    return tool in CHOSEN[profile]


_OBJECTS_BETWEEN_LOOKS = 10_000
_M_ARENA_MAX = -8
"""As malloc.h has it."""


def look_for_cycles_seldom() -> None:
    """Of what a call makes hardly anything is part of a cycle: to look every 700 objects took 2 to 10 % of a search."""
    gc.set_threshold(_OBJECTS_BETWEEN_LOOKS)


def share_few_heaps() -> None:
    """Let all threads share two heaps: glibc has eight a core, and each keeps what the largest call needed of it."""
    if sys.platform == "linux":
        import ctypes

        with suppress(OSError, AttributeError):  # other libraries than glibc have one heap, and no such switch
            ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 2)


def known_profile(name: str) -> Profile:
    for known in PROFILES:
        if known == name:
            return known
    raise BadInput(f"profile {name!r} is unknown.", hint=f"Use one of: {', '.join(PROFILES)}.")


def start(profile: str, project: str = "") -> None:
    """Serve until the client hangs up. What is heavy is imported while the front answers."""
    chosen = known_profile(profile)
    look_for_cycles_seldom()
    # Python's way to stop would wait for the thread that reads standard input; nothing here needs a farewell.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    settings = load_settings()  # a server that cannot serve does not greet
    folder = existing_folder(project) if project else ""
    front = Front()
    front.answer_early(chosen)
    share_few_heaps()

    from memsweep.app import make_app
    from memsweep.server.app import serve

    serve(make_app(settings, project=folder), chosen, front)
