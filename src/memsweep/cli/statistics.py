"""Counts by day and indexed folders in words: `memsweep stats --history`, `memsweep stats --code`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memsweep.cli.door import harmless, say, show_pair
from memsweep.model.text import counted

if TYPE_CHECKING:
    from rich.console import Console

    from memsweep.report.statistics import CodeAnswer, CountsAnswer

_NAMES = ("sources", "tags", "tiers", "clients", "doors", "languages", "states")
_SHOWN = 12


def show_counts(console: Console, answer: CountsAnswer) -> None:
    """One line for each day on which something was made, then the most frequent of each kind."""
    for day in answer["days"]:
        if day["notes"] or day["files"]:
            files = f", {counted(day['files'], 'file')}" if day["files"] else ""
            total = f"{day['total_notes'] + day['total_files']:,} in all"
            show_pair(console, day["day"], f"+{counted(day['notes'], 'memory', 'memories')}{files}; {total}")
    for name in _NAMES:
        counts: dict[str, int] = answer[name]  # type: ignore[literal-required]  # it is one of them
        shown = [f"{harmless(each) or '(none)'} {count:,}" for each, count in counts.items() if count][:_SHOWN]
        if shown:
            show_pair(console, f"{name:9}", ", ".join(shown))


def show_code(console: Console, answer: CodeAnswer) -> None:
    for root in answer["roots"]:
        languages = ", ".join(f"{name} {count:,}" for name, count in root["languages"].items())
        fresh = f"verified {root['verified_at']}" if root["verified_at"] else "never verified"
        stale = f", {root['stale_files']:,} stale" if root["stale_files"] else ""
        say(console, f"{harmless(root['path'])}: {counted(root['files'], 'file')}{stale}; {fresh}; {languages}")
    for run in answer["runs"]:
        changed = ", ".join(f"{run[name]:,} {said}" for name, said in _CHANGED if run.get(name))
        show_pair(console, run["at"], changed)
    if not answer["roots"]:
        console.print("No folder is indexed here.")


_CHANGED = (("memories", "written"), ("stale", "stale"), ("returned", "returned"))
