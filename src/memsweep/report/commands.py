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
_VALUE = r"""(?<![^\s(])'(?:[^'\\]|\\.)*'(?!\w)|(?<![^\s(])"(?:[^"\\]|\\.)*"(?!\w)|`[^`]*`"""
_ARGUMENTS = "|".join(name for name in OPTIONS if "_" in name)
_PLACES = re.compile(
    rf"(?P<value>{_VALUE})"
    rf"|(?P<phrase>{'|'.join(map(re.escape, _PHRASES))})"
    rf"|\b(?P<tool>{'|'.join(_COMMANDS)})\b(?: with (?P<given>\w+=true\b|[a-z]+_[0-9a-z]+\b))?"
    rf"|(?<![\w.\]-])(?P<name>{'|'.join(OPTIONS)})=(?P<set>\w+)"
    rf"|(?<![\w.\]-])(?P<argument>{_ARGUMENTS})(?!\w|\.\w|\[)"
)
"""Where a sentence may have to change."""


def in_commands(sentence: str) -> str:
    """A sentence about tools and their arguments as one about commands and their options.

    What stands in quotes is somebody's value, and stays as it is.
    """
    return _PLACES.sub(_replaced, sentence)


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
