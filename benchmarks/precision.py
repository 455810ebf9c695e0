"""Does search return the right memories and nothing else? Precision, recall and right silence on cases of our own.

python benchmarks/precision.py [--held-out | --cases FILE] [--supersedes] [--mode precise|deep] [--wrong] [--json FILE]

A scene is a workspace of some 25 memories with questions; a question has the memories that answer it, often one,
sometimes several, sometimes none. A session adds, asks, corrects and asks again. A third of the scenes and sessions is
held out, in a file of its own: it is scored with `--held-out` and never read while anything is tuned. Folds are whole
scenes, so that what is fitted on some of them can be checked on the others.

Precision of a question is the share of right memories among those returned; where nothing is right it is 1 for an empty
answer and 0 otherwise, and where something is right an empty answer has 0. With `--supersedes` a correction names what
it replaces, where the library can be told; without it memories are only added.
"""

from __future__ import annotations

import argparse
import inspect
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common import Figure, at_least, show_figures, table, write_json
from memsweep import Memory, open_memory

DATA = Path(__file__).parent / "data"
OPEN_CASES, HELD_OUT_CASES = DATA / "precision.json", DATA / "precision_held_out.json"
LIMIT = 10
FOLDS = 5
SESSION = "session"
KINDS = ("direct", "scoped", "alias", "superseded", "several", "near_miss", "far", SESSION)
MODES = ("precise", "deep")
PRECISION, RECALL, SILENCE = 0.70, 0.90, 0.85


@dataclass(frozen=True, slots=True)
class Outcome:
    """One question, what is right and what was returned: ids of the cases, or of memsweep where no case has it."""

    where: str
    fold: int
    kind: str
    question: str
    right: frozenset[str]
    returned: tuple[str, ...]

    @property
    def hits(self) -> int:
        return len(self.right.intersection(self.returned))

    @property
    def precision(self) -> float:
        if not self.returned:
            return float(not self.right)
        return self.hits / len(self.returned)

    @property
    def recall(self) -> float:
        return self.hits / len(self.right)

    @property
    def is_right(self) -> bool:
        return self.right == set(self.returned)


@dataclass(frozen=True, slots=True)
class Way:
    """How the library is called: the mode of a search ("" if it has none) and whether corrections are named."""

    mode: str
    supersedes: bool

    def ask(self, memory: Memory, question: str) -> tuple[str, ...]:
        options: dict[str, Any] = {"mode": self.mode} if self.mode else {}
        hits = memory.search(question, limit=LIMIT, **options).hits
        return tuple(dict.fromkeys(hit.passage.memory_id for hit in hits))

    def add(self, memory: Memory, entry: Mapping[str, str], known: dict[str, str]) -> None:
        """Remember one entry; `known` maps the ids of memsweep to those of the cases."""
        replaced = [own for own, given in known.items() if given == entry.get("supersedes")]
        options: dict[str, Any] = {"supersedes": replaced} if replaced and self.supersedes else {}
        known[memory.remember(entry["text"], **options).memory_id] = entry["id"]


def main() -> None:
    options = _options()
    cases = json.loads(options.cases.read_text(encoding="utf-8"))
    modes = [options.mode] if options.mode else list(MODES) if takes(Memory.search, "mode") else [""]
    results = {}
    for mode in modes:
        started = time.perf_counter()
        with tempfile.TemporaryDirectory(prefix="memsweep-precision-") as home:
            outcomes = list(answered(cases, Way(mode, options.supersedes), Path(home)))
        results[mode or "search()"] = outcomes
        _show(mode or "search()", outcomes, time.perf_counter() - started)
        if options.wrong:
            _show_wrong(outcomes)
    figures = [figure for name, outcomes in results.items() for figure in _figures(name, outcomes)]
    show_figures(figures)
    scores = {name: {kind: _numbers(group) for kind, group in groups(got)} for name, got in results.items()}
    write_json(options.json, "precision", figures, cases=options.cases.name, scores=scores)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--held-out", action="store_true", help="score the third that nothing is tuned on")
    which.add_argument("--cases", type=Path, metavar="FILE", default=OPEN_CASES, help="score other cases of this form")
    parser.add_argument("--supersedes", action="store_true", help="a correction names what it replaces")
    parser.add_argument("--mode", choices=MODES, help="only this mode of search")
    parser.add_argument("--wrong", action="store_true", help="list the cases that are not fully right")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    options = parser.parse_args()
    if options.held_out:
        options.cases = HELD_OUT_CASES
        if options.wrong:
            parser.error("held-out cases are scored, not shown: leave out --wrong.")
    if options.supersedes and not takes(Memory.remember, "supersedes"):
        parser.error("this library's remember() has no `supersedes`: leave out --supersedes.")
    if options.mode and not takes(Memory.search, "mode"):
        parser.error("this library's search() has no `mode`: leave out --mode.")
    return options


def takes(operation: Callable[..., Any], parameter: str) -> bool:
    return parameter in inspect.signature(operation).parameters


def answered(cases: Mapping[str, Any], way: Way, home: Path) -> Iterator[Outcome]:
    """Every question of every scene and session, asked through the library."""
    for number, scene in enumerate(cases["scenes"]):
        steps = [{"add": entry} for entry in scene["memories"]] + scene["questions"]
        yield from _played(scene["id"], number % FOLDS, steps, way, home)
    for number, session in enumerate(cases["sessions"]):
        yield from _played(session["id"], number % FOLDS, session["steps"], way, home)


def _played(name: str, fold: int, steps: Sequence[Mapping[str, Any]], way: Way, home: Path) -> Iterator[Outcome]:
    known: dict[str, str] = {}
    with open_memory(name, home=home) as memory:
        for step in steps:
            if "add" in step:
                way.add(memory, step["add"], known)
            else:
                returned = tuple(known.get(found, found) for found in way.ask(memory, step["question"]))
                kind = step.get("kind", SESSION)
                yield Outcome(name, fold, kind, step["question"], frozenset(step["right"]), returned)


def groups(outcomes: Sequence[Outcome]) -> Iterator[tuple[str, list[Outcome]]]:
    """The outcomes by kind, then those with an answer, those without, and all."""
    for kind in KINDS:
        yield kind, [each for each in outcomes if each.kind == kind]
    yield "with an answer", [each for each in outcomes if each.right]
    yield "without one", [each for each in outcomes if not each.right]
    yield "all", list(outcomes)


def _numbers(outcomes: Sequence[Outcome]) -> dict[str, float | None]:
    """None where the group has no question of the sort."""
    answerable = [each for each in outcomes if each.right]
    silent = [float(not each.returned) for each in outcomes if not each.right]
    return {
        "questions": len(outcomes),
        "precision": _mean(each.precision for each in outcomes),
        "recall": _mean(each.recall for each in answerable),
        "right silence": _mean(silent),
        "fully right": sum(each.is_right for each in outcomes),
        "returned": _mean(float(len(each.returned)) for each in outcomes),
    }


def _mean(values: Iterable[float]) -> float | None:
    counted = list(values)
    return statistics.fmean(counted) if counted else None


def _row(name: str, outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    numbers = _numbers(outcomes).items()
    counts = ("questions", "fully right")
    return (
        name,
        *("-" if value is None else f"{value:.0f}" if key in counts else f"{value:.3f}" for key, value in numbers),
    )


def _show(name: str, outcomes: Sequence[Outcome], seconds: float) -> None:
    header = ("", "questions", "precision", "recall", "right silence", "fully right", "returned")
    by_fold = [(f"fold {fold + 1}", [each for each in outcomes if each.fold == fold]) for fold in range(FOLDS)]
    sessions = [each for each in outcomes if each.kind == SESSION]
    wrong = {each.where for each in sessions if not each.is_right}
    print(f"{name}, limit {LIMIT}, {seconds:.1f} s\n")
    print(table(header, [_row(kind, group) for kind, group in groups(outcomes)]), end="\n\n")
    print(table(header, [_row(fold, group) for fold, group in by_fold if group]), end="\n\n")
    print(f"sessions that were right from beginning to end: {len({each.where for each in sessions} - wrong)}\n")


def _show_wrong(outcomes: Iterable[Outcome]) -> None:
    rows = [
        (
            f"{each.where}: {each.question}",
            each.kind,
            " ".join(sorted(each.right)) or "-",
            " ".join(each.returned) or "-",
        )
        for each in outcomes
        if not each.is_right
    ]
    print(table(("not fully right", "kind", "right", "returned"), rows), end="\n\n")


def _figures(name: str, outcomes: Sequence[Outcome]) -> list[Figure]:
    """The aims are those of the default mode."""
    answerable = [each for each in outcomes if each.right]
    measured = {
        "precision": (_numbers(outcomes)["precision"], PRECISION),
        "precision, questions with an answer": (_numbers(answerable)["precision"], PRECISION),
        "recall": (_numbers(outcomes)["recall"], RECALL),
        "right silence": (_numbers(outcomes)["right silence"], SILENCE),
    }
    return [
        at_least(f"{name}: {what}", value or 0.0, aim) if name != "deep" else Figure(f"{name}: {what}", value or 0.0)
        for what, (value, aim) in measured.items()
    ]


if __name__ == "__main__":
    main()
