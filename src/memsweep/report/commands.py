"""Sentences about tools, said in commands. Pure.

Messages are written once, in the words of the tools. The command line translates them where it prints them. The
library does not: both other doors call the same methods, and a message that changed with the caller would be harder to
search for than one that names the tool; `docs/tools.md` has the table.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class OperationNames(NamedTuple):
    """`command` and `method` are empty where a door does not have it."""

    tool: str
    command: str
    method: str


OPERATIONS = (
    OperationNames("add_memory", "remember", "memory.remember"),
    OperationNames("briefing", "briefing", "memory.briefing"),
    OperationNames("search_memory", "search", "memory.search"),
    OperationNames("get_memory", "get", "memory.get"),
    OperationNames("list_memories", "list", "memory.memories"),
    OperationNames("update_memory", "update", "memory.update"),
    OperationNames("get_stats", "stats", "memory.stats"),
    OperationNames("index_codebase", "index", "memory.code.index"),
    OperationNames("prune_memory", "prune", "memory.sweep.prune"),
    OperationNames("undo", "undo", "memory.sweep.undo"),
    OperationNames("undo_prune", "undo", "memory.sweep.undo"),
    OperationNames("delete_memory", "delete", "memory.delete"),
    OperationNames("recover_memory", "recover", "memory.sweep.recover"),
    OperationNames("list_trash", "trash", "memory.sweep.trash"),
    OperationNames("list_receipts", "receipts", "memory.sweep.receipts"),
    OperationNames("purge_trash", "purge", "memory.sweep.purge"),
    OperationNames("clear_all", "", "memory.sweep.clear"),
    OperationNames("explain_memory", "explain", "memory.sweep.explain"),
    OperationNames("pin", "pin", "memory.pin"),
    OperationNames("release_memory", "release", "memory.release"),
    OperationNames("graph_relate", "graph relate", "memory.graph.relate"),
    OperationNames("graph_reinforce", "graph reinforce", "memory.graph.reinforce"),
    OperationNames("graph_entities", "graph entities", "memory.graph.entities"),
    OperationNames("get_related", "graph related", "memory.graph.related"),
    OperationNames("graph_prune", "graph prune", "memory.graph.prune"),
    OperationNames("graph_decay", "graph decay", "memory.graph.decay"),
    OperationNames("merge_entities", "graph merge", "memory.graph.merge"),
    OperationNames("unmerge_entity", "graph unmerge", "memory.graph.unmerge"),
    OperationNames("build_graph", "graph build", "memory.graph.build"),
    OperationNames("graph_query", "graph query", "memory.graph.query"),
    OperationNames("graph_status", "graph status", "memory.graph.status"),
    OperationNames("graph_validate", "graph validate", "memory.graph.validate"),
    OperationNames("graph_communities", "graph communities", "memory.graph.communities"),
    OperationNames("graph_context", "graph context", "memory.graph.briefing"),
    OperationNames("export_graph", "graph export", "memory.graph.export_file"),
    OperationNames("import_graph", "graph import", "memory.graph.import_file"),
    OperationNames("context_add", "context import", "memory.context(…).add"),
    OperationNames("context_gc_analyze", "context analyze", "memory.context(…).analyze"),
    OperationNames("context_gc_prune", "context prune", "memory.context(…).prune"),
    OperationNames("context_gc_pin", "context pin", "memory.context(…).pin"),
    OperationNames("context_gc_unpin", "context unpin", "memory.context(…).unpin"),
    OperationNames("context_gc_configure", "", "memory.context(…).configure"),
    OperationNames("context_stash_search", "context search", "memory.context(…).search"),
    OperationNames("context_restore", "context restore", "memory.context(…).restore"),
    OperationNames("context_compress", "", "memory.context(…).compress"),
    OperationNames("context_working_set", "", "memory.context(…).working_set"),
    OperationNames("context_list", "context list", "memory.contexts"),
    OperationNames("context_delete", "context delete", "memory.context(…).delete"),
    OperationNames("create_workspace", "workspace create", ""),
    OperationNames("list_workspaces", "workspace list", ""),
    OperationNames("delete_workspace", "workspace delete", ""),
)

_SAME_NAMES = """
    active_file allow_empty allow_large as_of deleted_workspaces edge_threshold forever from_type include_stale
    max_age_days max_file_size min_confidence min_size min_weight mode node_threshold older_than_days sort_by
    strategy to_type ttl_days valid_at
""".split()
OPTIONS = {name: f"--{name.replace('_', '-')}" for name in _SAME_NAMES} | {
    "confirm": "--yes",
    "date_from": "--since",
    "date_to": "--until",
    "exclude": "--except",
    "expires_at": "--expires",
    "from_entity": "FROM",
    "include_ended": "--ended",
    "include_orphans": "--orphans",
    "include_tests": "--tests",
    "max_candidates": "--limit",
    "memory_id": "ID",
    "memory_ids": "--memory",
    "overwrite": "--force",
    "plan_id": "--plan",
    "project_id": "--project",
    "receipt_id": "RECEIPT",
    "relation_ids": "--relation",
    "relation_types": "--relation",
    "repo_path": "PATH",
    "segment_ids": "ids",
    "target_tokens": "--target",
    "task_id": "--task",
    "thread_id": "--thread",
    "to_entity": "TO",
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
_QUOTED = r"""(?<![^\s(])'(?:[^'\\]|\\.)*'(?!\w)|(?<![^\s(])"(?:[^"\\]|\\.)*"(?!\w)"""
_VALUE = rf"{_QUOTED}|`[^`]*`"
_ARGUMENTS = "|".join(name for name in OPTIONS if "_" in name)
_PLACES = re.compile(
    rf"(?P<value>{_VALUE})"
    rf"|(?P<phrase>{'|'.join(map(re.escape, _PHRASES))})"
    rf"|\b(?P<tool>{'|'.join(_COMMANDS)})\b(?: with (?P<given>\w+=true\b|[a-z]+_[0-9a-z]+\b))?"
    rf"|(?<![\w.\]-])(?P<name>{'|'.join(OPTIONS)})=(?P<set>\w+)"
    rf"|(?<![\w.\]-])(?P<argument>{_ARGUMENTS})(?!\w|\.\w|\[)"
)
"""Where a sentence may have to change."""
_ENOUGH = {"search_memory": " ''"}  # lists the newest
_EVERYWHERE = {"config", "schedule", "serve"}
_OF_ONE_WORKSPACE = (["delete"], ["reembed"])
_FAMILIES = "|".join(sorted({each.command.split()[0] for each in OPERATIONS if each.command}))
_OTHERS = "audit|backup|compact|config|doctor|hooks|plan|receipts|restore|schedule|serve|tombstone|unpin|watch"
_COMMAND = re.compile(rf"(?P<value>{_QUOTED})|(?<![\w-])memsweep (?:{_FAMILIES}|{_OTHERS})\b(?:[^`;,.\n]*[^`;,.\s])?")


def in_commands(sentence: str, workspace_id: str = "") -> str:
    """A sentence about tools and their arguments as one about commands and their options.

    What stands in quotes is somebody's value, and stays as it is. With a workspace, every command names it, so that it
    can be pasted.
    """
    said = _PLACES.sub(_replaced, sentence)
    if not workspace_id:
        return said
    return _COMMAND.sub(lambda found: found["value"] or in_workspace(found.group(), workspace_id), said)


def in_workspace(command: str, workspace_id: str) -> str:
    """A command that means this workspace wherever it is pasted; some have no need of it, or say it already."""
    words = command.split()
    if not workspace_id or words[1] in _EVERYWHERE or {"-w", "--workspace", workspace_id} & set(words):
        return command
    if words[1] == "workspace":
        return f"{command} {workspace_id}" if words[2:] in _OF_ONE_WORKSPACE else command
    return f"{command} -w {workspace_id}"


def _replaced(found: re.Match[str]) -> str:
    match found.groupdict():
        case {"phrase": str(phrase)}:
            return _PHRASES[phrase]
        case {"tool": str(tool), "given": given}:
            return f"`{_COMMANDS[tool]}{f' {in_commands(given)}' if given else _ENOUGH.get(tool, '')}`"
        case {"name": str(name), "set": value}:
            return OPTIONS[name] if value == "true" else f"{OPTIONS[name]} {value}"
        case {"argument": str(name)}:
            return OPTIONS[name]
    return found.group()
