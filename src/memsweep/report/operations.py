"""What an operation is called at each door, and sentences about tools said in commands. Pure.

Messages are written once, in the words of the tools. The command line translates them where it prints them. The
library does not: both other doors call the same methods, and a message that changed with the caller would be harder to
search for than one that names the tool; `docs/tools.md` has the table.
"""

from __future__ import annotations

import functools
import re
from typing import NamedTuple


class Operation(NamedTuple):
    """`command` and `method` are empty where a door does not have it."""

    tool: str
    command: str
    method: str


OPERATIONS = (
    Operation("add_memory", "remember", "memory.remember"),
    Operation("search_memory", "search", "memory.search"),
    Operation("get_memory", "get", "memory.get"),
    Operation("get_stats", "stats", "memory.stats"),
    Operation("index_codebase", "index", "memory.code.index"),
    Operation("prune_memory", "prune", "memory.sweep.prune"),
    Operation("undo_prune", "undo", "memory.sweep.undo"),
    Operation("delete_memory", "delete", "memory.delete"),
    Operation("recover_memory", "recover", "memory.sweep.recover"),
    Operation("list_trash", "trash", "memory.sweep.trash"),
    Operation("purge_trash", "purge", "memory.sweep.purge"),
    Operation("clear_all", "", "memory.sweep.clear"),
    Operation("explain_memory", "explain", "memory.sweep.explain"),
    Operation("pin", "pin", "memory.pin"),
    Operation("graph_relate", "graph relate", "memory.graph.relate"),
    Operation("graph_reinforce", "graph reinforce", "memory.graph.reinforce"),
    Operation("graph_entities", "graph entities", "memory.graph.entities"),
    Operation("get_related", "graph related", "memory.graph.related"),
    Operation("graph_prune", "graph prune", "memory.graph.prune"),
    Operation("graph_decay", "graph decay", "memory.graph.decay"),
    Operation("merge_entities", "graph merge", "memory.graph.merge"),
    Operation("unmerge_entity", "graph unmerge", "memory.graph.unmerge"),
    Operation("build_graph", "graph build", "memory.graph.build"),
    Operation("graph_query", "graph query", "memory.graph.query"),
    Operation("graph_status", "graph status", "memory.graph.status"),
    Operation("graph_validate", "graph validate", "memory.graph.validate"),
    Operation("graph_communities", "graph communities", "memory.graph.communities"),
    Operation("graph_context", "graph context", "memory.graph.briefing"),
    Operation("export_graph", "graph export", "memory.graph.export_file"),
    Operation("import_graph", "graph import", "memory.graph.import_file"),
    Operation("context_add", "context import", "memory.context(…).add"),
    Operation("context_gc_analyze", "context analyze", "memory.context(…).analyze"),
    Operation("context_gc_prune", "context prune", "memory.context(…).prune"),
    Operation("context_gc_pin", "context pin", "memory.context(…).pin"),
    Operation("context_gc_unpin", "context unpin", "memory.context(…).unpin"),
    Operation("context_gc_configure", "", "memory.context(…).configure"),
    Operation("context_stash_search", "context search", "memory.context(…).search"),
    Operation("context_restore", "context restore", "memory.context(…).restore"),
    Operation("context_compress", "", "memory.context(…).compress"),
    Operation("context_working_set", "", "memory.context(…).working_set"),
    Operation("context_list", "context list", "memory.contexts"),
    Operation("context_delete", "context delete", "memory.context(…).delete"),
    Operation("create_workspace", "workspace create", ""),
    Operation("list_workspaces", "workspace list", ""),
    Operation("delete_workspace", "workspace delete", ""),
)

OPTIONS = {
    "active_file": "--active-file",
    "allow_empty": "--allow-empty",
    "allow_large": "--allow-large",
    "as_of": "--as-of",
    "confirm": "--yes",
    "date_from": "--since",
    "date_to": "--until",
    "deleted_workspaces": "--deleted-workspaces",
    "edge_threshold": "--edge-threshold",
    "expires_at": "--expires",
    "forever": "--forever",
    "from_entity": "FROM",
    "from_type": "--from-type",
    "include_ended": "--ended",
    "include_orphans": "--orphans",
    "include_stale": "--include-stale",
    "include_tests": "--tests",
    "max_age_days": "--max-age-days",
    "max_candidates": "--limit",
    "max_file_size": "--max-file-size",
    "memory_id": "ID",
    "memory_ids": "--memory",
    "min_confidence": "--min-confidence",
    "min_size": "--min-size",
    "min_weight": "--min-weight",
    "node_threshold": "--node-threshold",
    "older_than_days": "--older-than-days",
    "overwrite": "--force",
    "plan_id": "--plan",
    "project_id": "--project",
    "receipt_id": "RECEIPT",
    "relation_ids": "--relation",
    "relation_types": "--relation",
    "repo_path": "PATH",
    "segment_ids": "ids",
    "sort_by": "--sort-by",
    "strategy": "--strategy",
    "target_tokens": "--target",
    "task_id": "--task",
    "thread_id": "--thread",
    "to_entity": "TO",
    "to_type": "--to-type",
    "ttl_days": "--ttl-days",
    "valid_at": "--valid-at",
    "workspace_id": "--workspace",
}
"""Arguments of tools as options and arguments of commands."""

# A command shows what it would do unless it is told to go on; that has no option of its own.
_PHRASES = {
    "Make a new one with dry_run=true": "Make a new one with `memsweep prune`",
    "Set dry_run=false and confirm=true": "Pass --yes",
    "with dry_run=true": "without --yes",
    "Set confirm=true": "Pass --yes",
    "clear_all": "`memsweep workspace delete`",
}
_COMMANDS = {each.tool: f"memsweep {each.command}" for each in OPERATIONS if each.command and "_" in each.tool}
_VALUE = r"""(?<![^\s(])'(?:[^'\\]|\\.)*'(?!\w)|(?<![^\s(])"(?:[^"\\]|\\.)*"(?!\w)|`[^`]*`"""


@functools.cache
def _places() -> re.Pattern[str]:
    """Where a sentence may have to change; made when it is first needed, for most commands end without it."""
    arguments = "|".join(name for name in OPTIONS if "_" in name)
    return re.compile(
        rf"(?P<value>{_VALUE})"
        rf"|(?P<phrase>{'|'.join(map(re.escape, _PHRASES))})"
        rf"|\b(?P<tool>{'|'.join(_COMMANDS)})\b(?: with (?P<given>\w+=true\b|[a-z]+_[0-9a-z]+\b))?"
        rf"|(?<![\w.\]-])(?P<name>{'|'.join(OPTIONS)})=(?P<set>\w+)"
        rf"|(?<![\w.\]-])(?P<argument>{arguments})(?!\w|\.\w|\[)"
    )


def in_commands(sentence: str) -> str:
    """A sentence about tools and their arguments as one about commands and their options.

    What stands in quotes is somebody's value, and stays as it is.
    """
    return _places().sub(_replaced, sentence)


def _replaced(found: re.Match[str]) -> str:
    match found.groupdict():
        case {"phrase": str(phrase)}:
            return _PHRASES[phrase]
        case {"tool": str(tool), "given": given}:
            return f"`{_COMMANDS[tool]}{f' {in_commands(given)}' if given else ''}`"
        case {"name": str(name), "set": value}:
            return OPTIONS[name] if value == "true" else f"{OPTIONS[name]} {value}"
        case {"argument": str(name)}:
            return OPTIONS[name]
    return found.group()
