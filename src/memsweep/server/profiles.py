"""The tools that a server offers. Standard library alone."""

from __future__ import annotations

from typing import Literal, get_args

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
