"""Names found by rule: precision and recall on labelled sentences, and what finding them adds to an add.

python benchmarks/names.py [--held-out] [--wrong] [--json FILE]

What counts as a name: people (without titles), organisations, places, products, works, and what programmers name:
identifiers, files, paths, hosts, tickets, addresses. An article or a possessive 's is no part of it. No names are
days, months, languages and nationalities, everyday abbreviations (PDF, ASAP), and what stands in a fenced block.
A name is found if exactly it is found, letter case included; a part of it or more than it is wrong.

Three readings of a sentence: `suggested` is all that the rule names, `sure` what one sentence alone proves, and
`entities` what is in the graph of a new workspace that remembers only this sentence. A third of the sentences is held
out, in a file of its own, and never read while the rule is tuned; `--held-out` scores it, too.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from common import DEFAULT_DATA, Figure, at_least, conversations_from, show_figures, table, write_json
from memsweep import Memory
from memsweep.app import App, make_app
from memsweep.memory.names import find_names
from memsweep.settings import load_settings

DATA = Path(__file__).parent / "data"
PARTS = {"open": DATA / "names.json", "held out": DATA / "names_held_out.json"}
PRECISION, RECALL = 0.85, 0.80
TURNS = 200
Reading = Callable[[str], set[str]]


@dataclass(frozen=True, slots=True)
class Outcome:
    """One sentence, the names that it has and those that were found."""

    sentence: str
    right: frozenset[str]
    found: frozenset[str]


def main() -> None:
    options = _options()
    with tempfile.TemporaryDirectory(prefix="memsweep-names-") as home:
        app = make_app(load_settings(overrides={"MEMSWEEP_HOME": home}))
        results = {
            (part, name): [_read(entry, reading) for entry in json.loads(path.read_text(encoding="utf-8"))]
            for part, path in PARTS.items()
            if part == "open" or options.held_out
            for name, reading in readings(app).items()
        }
        costs = list(cost(options.data, app.memory("cost")))
        app.close()
    _show(results)
    if options.wrong:
        _show_wrong(results["open", "sure"])
    figures = [*_figures(results), *costs]
    show_figures(figures)
    scores = {f"{part}, {name}": scored(outcomes) for (part, name), outcomes in results.items()}
    write_json(options.json, "names", figures, scores=scores)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, default=DEFAULT_DATA, help="folder with locomo.jsonl.gz (%(default)s)")
    parser.add_argument("--held-out", action="store_true", help="score the third that nothing is tuned on, too")
    parser.add_argument("--wrong", action="store_true", help="list the sentences read wrongly, held-out ones excepted")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    return parser.parse_args()


def readings(app: App) -> dict[str, Reading]:
    def entities(sentence: str) -> set[str]:
        memory = app.memory(f"sentence-{uuid4().hex}")
        memory.remember(sentence)
        return {entity.name for entity in memory.graph.entities(limit=50)[0]}

    return {
        "suggested": lambda sentence: {name.name for name in find_names([sentence])},
        "sure": lambda sentence: {name.name for name in find_names([sentence]) if name.evidence > 0},
        "entities": entities,
    }


def _read(entry: dict[str, object], reading: Reading) -> Outcome:
    sentence, names = entry["sentence"], entry["names"]
    assert isinstance(sentence, str)
    assert isinstance(names, list)
    return Outcome(sentence, frozenset(names), frozenset(reading(sentence)))


def scored(outcomes: Sequence[Outcome]) -> dict[str, float]:
    """Over all names of all sentences, not the mean of sentences."""
    right, found = (
        sum(len(names) for names in each) for each in zip(*((o.right, o.found) for o in outcomes), strict=True)
    )
    hits = sum(len(each.right & each.found) for each in outcomes)
    without = [each for each in outcomes if not each.right]
    return {
        "sentences": len(outcomes),
        "names": right,
        "found": found,
        "precision": hits / found if found else 0.0,
        "recall": hits / right,
        "right silence": sum(not each.found for each in without) / len(without),
        "fully right": sum(each.right == each.found for each in outcomes),
    }


def cost(data: Path, memory: Memory) -> Iterator[Figure]:
    """Chat turns, added in turns with names found by rule and with names given as none; medians."""
    conversations, _ = conversations_from(data)
    texts = list(dict.fromkeys(turn.text for turn in conversations[0].turns))[: 2 * TURNS]
    alone = [_milliseconds(lambda text=text: find_names([text])) for text in texts]  # type: ignore[misc]
    _add(memory, "the first memory makes the workspace", ruled=True)
    pairs = list(zip(texts[::2], texts[1::2], strict=False))
    timed = [(_add(memory, one, ruled=True), _add(memory, other, ruled=False)) for one, other in pairs]
    ruled, bare = (statistics.median(times) for times in zip(*timed, strict=True))
    yield Figure("finding the names of a chat turn", statistics.median(alone), "ms")
    yield Figure("an add of a chat turn, names by rule", ruled, "ms")
    yield Figure("the same without names", bare, "ms")


def _add(memory: Memory, text: str, *, ruled: bool) -> float:
    return _milliseconds(lambda: memory.remember(text, entities=None if ruled else []))


def _milliseconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


def _show(results: dict[tuple[str, str], list[Outcome]]) -> None:
    rows = []
    for (part, name), outcomes in results.items():
        cells = [f"{value:.3f}" if isinstance(value, float) else str(value) for value in scored(outcomes).values()]
        rows.append((f"{name}, {part}", *cells))
    header = ("", "sentences", "names", "found", "precision", "recall", "right silence", "fully right")
    print(table(header, rows), end="\n\n")


def _show_wrong(outcomes: Iterable[Outcome]) -> None:
    for each in outcomes:
        if each.right != each.found:
            missed, extra = (", ".join(sorted(names)) for names in (each.right - each.found, each.found - each.right))
            print(f"{each.sentence!r}\n    missed: {missed or '-'}\n    wrong: {extra or '-'}")
    print()


def _figures(results: dict[tuple[str, str], list[Outcome]]) -> Iterator[Figure]:
    for (part, name), outcomes in results.items():
        if name != "sure":
            continue
        yield at_least(f"{part}: precision", scored(outcomes)["precision"], PRECISION)
        yield at_least(f"{part}: recall", scored(outcomes)["recall"], RECALL)


if __name__ == "__main__":
    main()
