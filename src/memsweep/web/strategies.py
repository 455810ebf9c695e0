"""The strategies in the words of the page: a name, what each finds, and in which order they are offered. Pure."""

from __future__ import annotations

from typing import NamedTuple


class Offered(NamedTuple):
    name: str
    title: str
    finds: str
    on_request: bool = False
    """It reads every text, or the disk: asked for, not looked at with every visit."""


OFFERED = (
    Offered("stale_code", "Stale code", "Files that left a folder you indexed"),
    Offered("expired", "Expired", "Memories past the date they were given"),
    Offered("superseded", "Replaced", "Memories and facts that another one has replaced"),
    Offered("decayed", "Faded facts", "Facts that nobody has confirmed for a long time"),
    Offered("unreachable_entities", "Unreachable names", "Names that nothing alive leads to"),
    Offered("orphaned_entities", "Lone names", "Names without a mention and without a fact"),
    Offered("orphaned_chunks", "Lone chunks", "Pieces whose memory is gone"),
    Offered("empty_memories", "Empty memories", "Memories that no search can find"),
    Offered("duplicates", "Duplicates", "Notes that say the same, or nearly; the best is kept", on_request=True),
    Offered("missing_files", "Missing files", "Indexed files that are no longer on the disk", on_request=True),
    Offered("secrets", "Secrets", "Passwords and keys in stored texts; a mark takes their place", on_request=True),
)
BY_NAME = {each.name: each for each in OFFERED}
_OTHERS = {
    "stale_files": "Stale code",
    "all": "Everything dead",
    "origin": "Taken back",
    "chosen": "Chosen by hand",
    "delete": "Deleted",
    "clear": "Cleared",
    "update": "Edited",
    "merge": "Merged",
    "unmerge": "Split off",
    "context": "Context",
}


def strategy_name(name: str) -> str:
    """As a heading; what the page does not know is shown in plain words."""
    if known := BY_NAME.get(name):
        return known.title
    return _OTHERS.get(name) or name.replace("_", " ").capitalize()
