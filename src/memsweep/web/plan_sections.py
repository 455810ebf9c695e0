"""Plans in the words of the page: the strategies, and the groups of a plan, a section for each cause. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from memsweep.model.plan import Folder, PlanGroup, PlanGroups, PlanView
from memsweep.report.collector import why


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


NOUNS = {
    "memory": ("memory", "memories"),
    "chunk": ("chunk", "chunks"),
    "entity": ("name", "names"),
    "relation": ("fact", "facts"),
    "segment": ("segment", "segments"),
    "record": ("record", "records"),
}
_TITLES = {
    "expired": "Past their date",
    "not_seen": "Not seen for a long time",
    "duplicate": "Word for word the same",
    "near_duplicate": "Nearly the same",
    "superseded_memory": "Replaced memories",
    "superseded": "Replaced facts",
    "faded_relation": "Faded facts",
    "faded_entity": "Faded names",
    "left_without_root": "Names that only these keep alive",
    "empty_memory": "Empty memories",
    "falls_back": "Facts that fall back",
    "holds_again": "Facts that hold again",
}
_SHOWN_NAMES = 7


@dataclass(slots=True)
class Section:
    """A part of a plan that is ticked or spared at once."""

    title: str
    reason: str
    """Said once where it is the same for all of them; else empty."""
    folder: Folder | None = None
    groups: list[PlanGroup] = field(default_factory=list)

    @property
    def count(self) -> int:
        return self.folder.files if self.folder else len(self.groups)

    @property
    def chunks(self) -> int:
        return self.folder.chunks if self.folder else sum(group.root.chunk_count for group in self.groups)

    @property
    def followers(self) -> int:
        return self.folder.followers if self.folder else sum(group.followers for group in self.groups)

    @property
    def noun(self) -> tuple[str, str]:
        return ("file", "files") if self.folder else NOUNS[self.groups[0].root.kind]


def sections(found: PlanGroups) -> list[Section]:
    """Of one page; a folder that goes on on the next one is counted as a whole."""
    folders = {(each.root, each.path): each for each in found.folders}
    several = len({each.root for each in found.folders}) > 1
    made: dict[tuple[str, ...], Section] = {}
    for group in found.groups:
        root, folder = _root_of(group), group.folder
        key = ("folder", root, folder) if folder is not None else ("reason", group.root.kind, group.root.reason)
        if key not in made:
            place = folders.get((root, folder)) if folder is not None else None
            made[key] = Section(_title(group, root if several else ""), _one_reason(group.root), place)
        made[key].groups.append(group)
    return list(made.values())


def names_of(group: PlanGroup) -> tuple[list[str], int]:
    """Some of the names that go along, without the module they stand in, and how many more there are."""
    entities = [each.name for each in group.first if each.kind == "entity" and each.name]
    named = [name.rpartition(".")[2] for name in entities if "/" not in name]  # the file itself is one of them
    unique = list(dict.fromkeys(name for name in named if name))[:_SHOWN_NAMES]
    return unique, max(0, group.followers - len(unique)) if unique else 0


def is_all_memories(groups: Iterable[PlanGroup]) -> bool:
    return all(group.root.kind == "memory" for group in groups)


def _title(group: PlanGroup, root: str) -> str:
    if group.folder is None:
        many = NOUNS[group.root.kind][1].capitalize()
        return f"{many} with a secret" if group.root.reason == "secret" else _TITLES.get(group.root.reason, many)
    inside = f"{group.folder}/" if group.folder else "./"
    return f"{root}/{inside}" if root else inside


def _one_reason(item: PlanView) -> str:
    return "" if item.evidence else why(item.reason, {})


def _root_of(group: PlanGroup) -> str:
    """The folder that was indexed: the path of the file without its place below that."""
    whole, below = group.root.file_path or "", group.root.relative_path or ""
    return whole.removesuffix(below).rstrip("/")
