"""Sentences about tools, said in commands. Pure.

Messages are written once, in the words of the tools. The command line translates them where it prints them. The
library does not: both other doors call the same methods, and a message that changed with the caller would be harder to
search for than one that names the tool; `docs/tools.md` has the table.
"""

from __future__ import annotations

import re

from memsweep.report.operations import OPERATIONS, OPTIONS

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
