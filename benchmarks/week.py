"""Does code that is indexed in the same workspace drown memories? Questions to a week of notes, alone and beside code.

python benchmarks/week.py [--releases FOLDER] [--wrong] [--json FILE]

`data/week.json` has 60 memories of a week and 32 questions to them, most in other words than the memory. They are asked
of these memories alone and, given the folder with the sdists of httpx and click (`pip download --no-deps
--no-binary :all: httpx==0.28.1 click==8.1.8`), of a workspace in which both are indexed, too. A question is answered
where a right memory is among the first k hits, whatever kind the others are of.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from changes import unpacked
from common import at_least, show_figures, table, write_json
from memsweep import Memory, open_memory
from memsweep.model.search import SearchMode

DATA = Path(__file__).parent / "data" / "week.json"
CODE = ("httpx-0.28.1.tar.gz", "click-8.1.8.tar.gz")
ALONE, BESIDE = "alone", "beside-code"
MODES: tuple[SearchMode, ...] = ("precise", "deep")
DEPTHS = (1, 5)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, the numbers of the memories that answer it, and those of the first hits (-1 for a piece of code)."""

    question: str
    right: frozenset[int]
    found: Sequence[int]

    def is_answered(self, depth: int) -> bool:
        return not self.right.isdisjoint(self.found[:depth])


def main() -> None:
    options = _options()
    week = json.loads(DATA.read_text(encoding="utf-8"))
    results: dict[tuple[str, SearchMode], list[Asked]] = {}
    with tempfile.TemporaryDirectory(prefix="memsweep-week-") as scratch:
        for where in (ALONE, BESIDE) if options.releases else (ALONE,):
            with open_memory(where, home=Path(scratch) / "home") as memory:
                number_of = {memory.remember(text).memory_id: number for number, text in enumerate(week["memories"])}
                if where == BESIDE:
                    for release in CODE:
                        memory.code.index(unpacked(options.releases / release, Path(scratch) / release))
                for mode in MODES:
                    results[where, mode] = list(_asked(memory, week["questions"], number_of, mode))
    _show(results, wrong=options.wrong)
    figures = [
        at_least(f"{mode}, {BESIDE}, first {depth}", count(asked, depth), count(results[ALONE, mode], depth))
        for (where, mode), asked in results.items()
        if where == BESIDE
        for depth in DEPTHS
    ]
    show_figures(figures)
    scores = {f"{where}, {mode}": {k: count(asked, k) for k in DEPTHS} for (where, mode), asked in results.items()}
    write_json(options.json, "week", figures, scores=scores)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--releases", type=Path, metavar="FOLDER", help="where the sdists of httpx and click are")
    parser.add_argument("--wrong", action="store_true", help="list the questions that no hit answers first")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    return parser.parse_args()


def _asked(
    memory: Memory, questions: Sequence[Mapping[str, Any]], number_of: Mapping[str, int], mode: SearchMode
) -> Iterator[Asked]:
    for each in questions:
        hits = memory.search(each["question"], limit=max(DEPTHS), mode=mode).hits
        found = [number_of.get(hit.passage.memory_id, -1) for hit in hits]
        yield Asked(each["question"], frozenset(each["right"]), found)


def count(asked: Sequence[Asked], depth: int) -> int:
    return sum(each.is_answered(depth) for each in asked)


def _show(results: Mapping[tuple[str, SearchMode], Sequence[Asked]], *, wrong: bool) -> None:
    header = ("", *(f"first {depth}" for depth in DEPTHS), "questions")
    rows = [
        (f"{where}, {mode}", *(str(count(asked, depth)) for depth in DEPTHS), str(len(asked)))
        for (where, mode), asked in results.items()
    ]
    print(table(header, rows), end="\n\n")
    for (where, mode), asked in results.items():
        for each in asked if wrong else ():
            if not each.is_answered(1):
                print(f"{where}, {mode}: {each.question} -> {list(each.found)}, right is {sorted(each.right)}")


if __name__ == "__main__":
    main()
