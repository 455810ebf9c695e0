"""The items of a plan by their cause, as they are shown: the files of a folder, what has one reason. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from memsweep.model.plan import PlanView
from memsweep.report.reasons import why


@dataclass(slots=True)
class Group:
    """What is ticked or spared at once."""

    title: str
    is_code: bool
    reason: str
    """Said once, where it is the same for all of them; else empty."""
    items: list[PlanView] = field(default_factory=list)

    @property
    def chunks(self) -> int:
        return sum(item.chunk_count for item in self.items)

    @property
    def noun(self) -> tuple[str, str]:
        return ("file", "files") if self.is_code else _NOUNS[self.items[0].kind]


_NOUNS = {
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
    "left_without_root": "Names that only these keep alive",
    "secret": "Texts with a secret",
    "empty_memory": "Empty memories",
    "falls_back": "Facts that fall back",
    "holds_again": "Facts that hold again",
}


def grouped(items: Iterable[PlanView]) -> list[Group]:
    groups: dict[tuple[str, str, str], Group] = {}
    for item in items:
        path = item.relative_path if item.kind == "memory" else None
        title = _folder(path) if path else _TITLES.get(item.reason) or _NOUNS[item.kind][1].capitalize()
        same = why(item.reason, {}) if not item.evidence else ""
        key = (title, item.kind, item.reason)
        groups.setdefault(key, Group(title, bool(path), same)).items.append(item)
    return list(groups.values())


def _folder(path: str) -> str:
    return f"{path.rpartition('/')[0]}/" if "/" in path else "./"
